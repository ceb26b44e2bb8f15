//===- LaunchTexts.cpp - numbers as expressions and formulas --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LaunchNumbers.h"

using namespace mlir;
using namespace fa;
using namespace fa::raise;

AffineExpr LaunchNumbers::toAffine(const Number &number, unsigned numArguments,
                                   MLIRContext *context) const {
  AffineExpr sum = getAffineConstantExpr(0, context);
  for (const auto &[monomial, coefficient] : number.terms()) {
    AffineExpr product = getAffineConstantExpr(coefficient, context);
    for (unsigned n : monomial) {
      const Variable &v = variables[n];
      AffineExpr factor;
      if (v.kind == Variable::Scalar) {
        factor = getAffineSymbolExpr(v.number, context);
      } else if (v.kind == Variable::Open) {
        factor = getAffineDimExpr(v.number, context);
      } else if (v.kind == Variable::Grid) {
        factor = getAffineSymbolExpr(numArguments + v.number, context);
      } else if (v.kind == Variable::Quotient ||
                 v.kind == Variable::Remainder) {
        AffineExpr x = toAffine(v.operands[0], numArguments, context);
        AffineExpr y = toAffine(v.operands[1], numArguments, context);
        if (x && y)
          factor = v.kind == Variable::Quotient ? x.floorDiv(y) : x % y;
      }
      if (!factor)
        return {};
      product = product * factor;
    }
    sum = sum + product;
  }
  return sum;
}

std::string LaunchNumbers::print(const Number &number) const {
  if (number.isZero())
    return "0";
  std::string text;
  for (const auto &[monomial, coefficient] : number.terms()) {
    int64_t c = coefficient;
    text += text.empty() ? (c < 0 ? "-" : "") : (c < 0 ? " - " : " + ");
    c = c < 0 ? -c : c;
    bool isFirst = true;
    if (c != 1 || monomial.empty()) {
      text += std::to_string(c);
      isFirst = false;
    }
    for (unsigned n : monomial) {
      const Variable &v = variables[n];
      text += isFirst ? "" : " * ";
      isFirst = false;
      auto pair = [&](StringRef sign) {
        return "(" + print(v.operands[0]) + sign.str() + print(v.operands[1]) +
               ")";
      };
      switch (v.kind) {
      case Variable::Program:
        text += "program(" + std::to_string(v.number) + ")";
        break;
      case Variable::Grid:
        text += "grid(" + std::to_string(v.number) + ")";
        break;
      case Variable::Scalar:
        text += "argument " + std::to_string(v.number);
        break;
      case Variable::Counter:
        text += "the loop's counter";
        break;
      case Variable::Place:
        text += v.number == kQueryNumber  ? "query"
                : v.number == kKeyNumber  ? "key"
                : v.number == kPageNumber ? "page"
                : v.number == kSlotNumber ? "slot"
                                          : "place " + std::to_string(v.number);
        break;
      case Variable::Quotient:
        text += pair(" / ");
        break;
      case Variable::Remainder:
        text += pair(" % ");
        break;
      case Variable::Least:
        text += "min" + pair(", ");
        break;
      case Variable::Greatest:
        text += "max" + pair(", ");
        break;
      case Variable::Element:
        text += "argument " + std::to_string(v.number) + "[" +
                print(v.operands[0]) + "]";
        break;
      case Variable::Open:
        text += "as many as there is memory for";
        break;
      case Variable::Unknown:
        text += "a number that is not known";
        break;
      }
    }
  }
  return text;
}
