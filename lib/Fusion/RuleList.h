//===- RuleList.h - what a kernel relies on ---------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_FUSION_RULELIST_H
#define FA_LIB_FUSION_RULELIST_H

#include "ArgumentView.h"

#include "Tile/Tile.h"

namespace fa {

/// What a kernel takes for granted of its arguments' sizes.
class RuleList {
public:
  explicit RuleList(mlir::MLIRContext *context) : context(context) {}

  llvm::SmallVector<mlir::Attribute> rules;

  void add(tile::SizeRuleKind kind, int64_t argument, int64_t dim,
           int64_t other, int64_t otherDim, int64_t factor = 1) {
    auto rule = tile::SizeRuleAttr::get(context, kind, argument, dim, other,
                                        otherDim, factor);
    if (!llvm::is_contained(rules, rule))
      rules.push_back(rule);
  }

  void addEqual(const ArgumentView &x, unsigned argument, unsigned dim,
                const ArgumentView &y, unsigned other, unsigned otherDim) {
    bool countsX = x.offsets && dim == 0, countsY = y.offsets && otherDim == 0;
    if (countsX && countsY)
      addSameOffsets(*x.offsets, 0, *y.offsets);
    else if (countsX)
      addOneMore(*x.offsets, 0, y, other, otherDim);
    else if (countsY)
      addOneMore(*y.offsets, 0, x, argument, dim);
    else
      addEqual(x.dims[dim], argument, y.dims[otherDim], other);
  }

  /// Dimension `dim` of `argument` has one element more than dimension
  /// `otherDim` of `y`, which has a size of its own.
  void addOneMore(unsigned argument, unsigned dim, const ArgumentView &y,
                  unsigned other, unsigned otherDim) {
    if (y.offsets && otherDim == 0)
      return addSameOffsets(argument, dim, *y.offsets);
    assert(y.hasOwnSize(otherDim) && "checked by matchFunction");
    add(tile::SizeRuleKind::OneMore, argument, dim, other,
        y.dims[otherDim].parts[0]);
  }

  /// Heads of `x` are a multiple of those of `y`: all but the last part agree.
  void addMultiple(const ArgumentView &x, unsigned argument,
                   const ArgumentView &y, unsigned other) {
    ViewDim heads = x.dims[1], kvHeads = y.dims[1];
    if (heads.parts.size() == kvHeads.parts.size() && !heads.parts.empty() &&
        heads.divisor == kvHeads.divisor) {
      add(tile::SizeRuleKind::Multiple, argument, heads.parts.back(), other,
          kvHeads.parts.back());
      heads.parts.pop_back();
      kvHeads.parts.pop_back();
    }
    addEqual(heads, argument, kvHeads, other);
  }

  void addLayout(const ArgumentView &view, unsigned argument) {
    for (CollapsedDims dims : view.collapsed)
      add(tile::SizeRuleKind::Packed, argument, dims.outer, argument,
          dims.inner);
    for (auto [dim, factor] : view.divisible)
      add(tile::SizeRuleKind::Divisible, argument, dim, argument, dim, factor);
  }

private:
  /// There are as many as `offsets` in dimension `dim` of `argument`.
  void addSameOffsets(unsigned argument, unsigned dim, unsigned offsets) {
    if (argument != offsets)
      add(tile::SizeRuleKind::Equal, argument, dim, offsets, 0);
  }

  /// Part by part; a product that is divided has one part.
  void addEqual(const ViewDim &x, int64_t argument, const ViewDim &y,
                int64_t other) {
    if (y.divisor > x.divisor)
      return addEqual(y, other, x, argument);
    for (auto [part, otherPart] : llvm::zip(x.parts, y.parts))
      if (argument != other || part != otherPart)
        add(tile::SizeRuleKind::Equal, argument, part, other, otherPart,
            x.divisor / y.divisor);
  }

  mlir::MLIRContext *context;
};

} // namespace fa

#endif // FA_LIB_FUSION_RULELIST_H
