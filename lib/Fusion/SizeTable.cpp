//===- SizeTable.cpp - sizes that are known, and agree --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SizeTable.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace fa;
using namespace fa::tile;

int64_t SizeTable::rankOf(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type ? type.getRank() : 0;
}

void SizeTable::add(SizeRuleKind kind, TensorSize x, TensorSize y) {
  auto rule = SizeRuleAttr::get(context, kind, x.argument, x.dim, y.argument,
                                y.dim, /*factor=*/1);
  if (!llvm::is_contained(rules, rule))
    rules.push_back(rule);
}

bool SizeTable::unite(Value x, int64_t d, Value y, int64_t e) {
  bool knowsX = sizes.contains({x, d}), knowsY = sizes.contains({y, e});
  if (!knowsX && !knowsY)
    return false;
  if (!knowsX)
    sizes[{x, d}] = sizes.lookup({y, e});
  else if (!knowsY)
    sizes[{y, e}] = sizes.lookup({x, d});
  else if (!sizes.lookup({x, d}).hasName() && sizes.lookup({x, d}).isKnown())
    return adopt(x, d, sizes.lookup({y, e}));
  else
    return require(sizes.lookup({x, d}), sizes.lookup({y, e}));
  return true;
}

bool SizeTable::adopt(Value x, int64_t d, TensorSize y) {
  TensorSize known = sizes.lookup({x, d});
  if (y.isKnown() && y.number == known.number)
    sizes[{x, d}] = y;
  return require(known, y);
}

bool SizeTable::require(TensorSize x, TensorSize y) {
  if (x.isKnown() && y.isKnown())
    return x.number == y.number;
  if (!x.hasName() || !y.hasName() || x.isProduct() != y.isProduct())
    return false; // a size that must be a number, or a product
  if (x.isProduct() && !require(x.factorSize(), y.factorSize()))
    return false;
  if (x.argument != y.argument || x.dim != y.dim)
    add(SizeRuleKind::Equal, x, y);
  return true;
}

bool SizeTable::uniteAll(Value x, Value y) {
  for (int64_t d = 0; d < rankOf(x); ++d)
    if (!unite(x, d, y, d))
      return false;
  return true;
}

bool SizeTable::dropDim(Value rows, Value full, int64_t dim) {
  bool good = true;
  for (int64_t d = 0; d < rankOf(rows); ++d)
    good &= unite(rows, d, full, d < dim ? d : d + 1);
  return good;
}

bool SizeTable::shares(Value x, Value y, int64_t d) {
  if (!sizes.contains({x, d}) || !sizes.contains({y, d}))
    return false;
  TensorSize many = sizes.lookup({x, d}), few = sizes.lookup({y, d});
  if (few.number == 1 || (many.isKnown() && few.isKnown()))
    return true; // two numbers are the verifier's business
  if (!many.hasName() || !few.hasName())
    return false;
  if (many.argument != few.argument || many.dim != few.dim)
    add(SizeRuleKind::Multiple, many, few);
  return true;
}

bool SizeTable::setDynamic(Value result, ValueRange values) {
  auto type = cast<RankedTensorType>(result.getType());
  auto next = values.begin();
  for (int64_t d = 0; d < type.getRank(); ++d) {
    if (!type.isDynamicDim(d))
      continue;
    Value size = *next++;
    APInt number;
    auto dim = size.getDefiningOp<tensor::DimOp>();
    if (matchPattern(size, m_ConstantInt(&number)))
      sizes[{result, d}] = TensorSize::of(number.getSExtValue());
    else if (dim && dim.getConstantIndex() &&
             sizes.contains({dim.getSource(), *dim.getConstantIndex()}))
      sizes[{result, d}] =
          sizes.lookup({dim.getSource(), *dim.getConstantIndex()});
    else
      return false;
  }
  return true;
}

void SizeTable::addTo(ArgumentSizes &named) const {
  for (auto [place, size] : sizes)
    if (size.hasName() && !size.isProduct())
      named[place] = {size.argument, size.dim};
}
