//===- TritonSyntax.cpp - what several operations are written with --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TritonSyntax.h"

#include "Triton/Triton.h"

#include "mlir/Interfaces/FunctionImplementation.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace fa::triton {

ParseResult parseWord(OpAsmParser &parser, StringAttr &word) {
  std::string text;
  if (parser.parseKeywordOrString(&text))
    return failure();
  word = parser.getBuilder().getStringAttr(text);
  return success();
}

void printWord(OpAsmPrinter &printer, Operation *, StringAttr word) {
  printer.printKeywordOrString(word.getValue());
}

ParseResult parseAxis(OpAsmParser &parser, StringAttr &axis) {
  StringRef word;
  if (parser.parseOptionalKeyword(&word, {"x", "y", "z"}))
    return parser.emitError(parser.getCurrentLocation(), "expected x, y or z");
  axis = parser.getBuilder().getStringAttr(word);
  return success();
}

void printAxis(OpAsmPrinter &printer, Operation *op, StringAttr axis) {
  printWord(printer, op, axis);
}

/// `, NAME = word`, or nothing.
static ParseResult parseNamedWord(OpAsmParser &parser, StringRef name,
                                  StringAttr &word) {
  if (parser.parseOptionalComma())
    return success();
  return failure(parser.parseKeyword(name) || parser.parseEqual() ||
                 parseWord(parser, word));
}

static void printNamedWord(OpAsmPrinter &printer, Operation *op, StringRef name,
                           StringAttr word) {
  if (!word)
    return;
  printer << ", " << name << " = ";
  printWord(printer, op, word);
}

ParseResult parseRounding(OpAsmParser &parser, StringAttr &rounding) {
  return parseNamedWord(parser, "rounding", rounding);
}

void printRounding(OpAsmPrinter &printer, Operation *op, StringAttr rounding) {
  printNamedWord(printer, op, "rounding", rounding);
}

ParseResult parseInputPrecision(OpAsmParser &parser, StringAttr &precision) {
  return parseNamedWord(parser, "inputPrecision", precision);
}

void printInputPrecision(OpAsmPrinter &printer, Operation *op,
                         StringAttr precision) {
  printNamedWord(printer, op, "inputPrecision", precision);
}

ParseResult parseCacheWords(OpAsmParser &parser, StringAttr &modifier,
                            StringAttr &policy) {
  StringRef word;
  while (succeeded(parser.parseOptionalKeyword(
      &word, {"cacheModifier", "evictionPolicy"}))) {
    StringAttr &value = word == "cacheModifier" ? modifier : policy;
    if (parser.parseEqual() || parseWord(parser, value))
      return failure();
  }
  return success();
}

void printCacheWords(OpAsmPrinter &printer, Operation *op, StringAttr modifier,
                     StringAttr policy) {
  auto print = [&](StringRef name, StringAttr word) {
    if (!word)
      return;
    printer << ' ' << name << " = ";
    printWord(printer, op, word);
  };
  print("cacheModifier", modifier);
  print("evictionPolicy", policy);
}

ParseResult parseTimeout(OpAsmParser &parser,
                         std::optional<OpAsmParser::UnresolvedOperand> &timeout,
                         Type &type) {
  if (parser.parseOptionalKeyword("timeout"))
    return success();
  type = parser.getBuilder().getI64Type();
  return parser.parseOperand(timeout.emplace());
}

void printTimeout(OpAsmPrinter &printer, Operation *, Value timeout, Type) {
  if (timeout)
    printer << " timeout " << timeout;
}

ParseResult parseSpaces(OpAsmParser &parser, StringAttr &spaces) {
  std::string all;
  do {
    StringAttr word;
    if (parseWord(parser, word))
      return failure();
    all += (all.empty() ? "" : "|") + word.getValue().str();
  } while (succeeded(parser.parseOptionalVerticalBar()));
  spaces = parser.getBuilder().getStringAttr(all);
  return success();
}

void printSpaces(OpAsmPrinter &printer, Operation *, StringAttr spaces) {
  llvm::interleave(
      llvm::split(spaces.getValue(), '|'), printer,
      [&](StringRef word) { printer.printKeywordOrString(word); }, "|");
}

//===----------------------------------------------------------------------===//
// FuncOp, DotScaledOp
//===----------------------------------------------------------------------===//

ParseResult FuncOp::parse(OpAsmParser &parser, OperationState &result) {
  auto buildType =
      [](Builder &builder, ArrayRef<Type> args, ArrayRef<Type> results,
         function_interface_impl::VariadicFlag, std::string &) -> Type {
    return builder.getFunctionType(args, results);
  };
  return function_interface_impl::parseFunctionOp(
      parser, result, /*allowVariadic=*/false,
      getFunctionTypeAttrName(result.name), buildType,
      getArgAttrsAttrName(result.name), getResAttrsAttrName(result.name));
}

void FuncOp::print(OpAsmPrinter &printer) {
  function_interface_impl::printFunctionOp(
      printer, *this, /*isVariadic=*/false, getFunctionTypeAttrName(),
      getArgAttrsAttrName(), getResAttrsAttrName());
}

/// An operand of a scaled dot, and whether it is called a scale.
using ScaledOperands = SmallVector<OpAsmParser::UnresolvedOperand>;

/// `%a scale %s, %b scale %t, %c`, or with commas for `scale`.
static ParseResult parseScaledOperands(OpAsmParser &parser,
                                       ScaledOperands &operands) {
  do {
    if (parser.parseOperand(operands.emplace_back()))
      return failure();
    if (succeeded(parser.parseOptionalKeyword("scale")) &&
        parser.parseOperand(operands.emplace_back()))
      return failure();
  } while (succeeded(parser.parseOptionalComma()));
  return success();
}

ParseResult DotScaledOp::parse(OpAsmParser &parser, OperationState &result) {
  ScaledOperands operands;
  StringAttr aWord, bWord;
  SmallVector<Type> aTypes, bTypes;
  Type resultType;
  SMLoc start = parser.getCurrentLocation();
  if (parseScaledOperands(parser, operands) || parser.parseKeyword("lhs") ||
      parser.parseEqual() || parseWord(parser, aWord) ||
      parser.parseKeyword("rhs") || parser.parseEqual() ||
      parseWord(parser, bWord) ||
      parser.parseOptionalAttrDict(result.attributes) ||
      parser.parseColonTypeList(aTypes) || parser.parseStar() ||
      parser.parseTypeList(bTypes) || parser.parseArrow() ||
      parser.parseType(resultType))
    return failure();
  if (aTypes.size() > 2 || bTypes.size() > 2 ||
      operands.size() != aTypes.size() + bTypes.size() + 1)
    return parser.emitError(start, "expected a type for each operand, found ")
           << aTypes.size() + bTypes.size() + 1 << " types and "
           << operands.size() << " operands";
  // In the order of the operation's arguments: a, b, c and then the scales.
  size_t b = aTypes.size(), c = b + bTypes.size();
  auto resolve = [&](size_t n, Type type) {
    return parser.resolveOperand(operands[n], type, result.operands);
  };
  if (resolve(0, aTypes[0]) || resolve(b, bTypes[0]) ||
      resolve(c, resultType) || (b > 1 && resolve(1, aTypes[1])) ||
      (c - b > 1 && resolve(b + 1, bTypes[1])))
    return failure();
  auto &properties = result.getOrAddProperties<Properties>();
  properties.a_elem_type = aWord;
  properties.b_elem_type = bWord;
  properties.operandSegmentSizes = {1, 1, 1, int(b > 1), int(c - b > 1)};
  result.addTypes(resultType);
  return success();
}

void DotScaledOp::print(OpAsmPrinter &printer) {
  auto operand = [&](Value value, Value scale) {
    printer << value;
    if (scale)
      printer << " scale " << scale;
    printer << ", ";
  };
  auto types = [&](Value value, Value scale) {
    printer << value.getType();
    if (scale)
      printer << ", " << scale.getType();
  };
  printer << ' ';
  operand(getA(), getAScale());
  operand(getB(), getBScale());
  printer << getC() << " lhs = ";
  printWord(printer, *this, getAElemTypeAttr());
  printer << " rhs = ";
  printWord(printer, *this, getBElemTypeAttr());
  printer.printOptionalAttrDict(
      (*this)->getAttrs(),
      {"operandSegmentSizes", "a_elem_type", "b_elem_type"});
  printer << " : ";
  types(getA(), getAScale());
  printer << " * ";
  types(getB(), getBScale());
  printer << " -> " << getResult().getType();
}

} // namespace fa::triton
