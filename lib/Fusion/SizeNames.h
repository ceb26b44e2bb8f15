//===- SizeNames.h - sizes of arguments as symbols --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_FUSION_SIZENAMES_H
#define FA_LIB_FUSION_SIZENAMES_H

#include "ArgumentView.h"

#include "mlir/IR/AffineMap.h"

namespace fa {

/// Affine expressions of argument sizes.
class SizeNames {
public:
  explicit SizeNames(mlir::MLIRContext *context) : context(context) {}

  /// The size of a dimension of an argument.
  mlir::AffineExpr symbol(int64_t argument, int64_t dim) {
    for (size_t n = 0; n < names.size(); n += 2)
      if (names[n] == argument && names[n + 1] == dim)
        return getAffineSymbolExpr(n / 2, context);
    names.append({argument, dim});
    return getAffineSymbolExpr(names.size() / 2 - 1, context);
  }

  mlir::AffineExpr size(const ArgumentView &view, unsigned argument,
                        unsigned dim) {
    if (view.offsets && dim == 0)
      return symbol(*view.offsets, 0) - 1;
    return view.size(dim, context,
                     [&](int64_t of) { return symbol(argument, of); });
  }

  mlir::AffineExpr constant(int64_t value) const {
    return mlir::getAffineConstantExpr(value, context);
  }

  /// Of the names so far.
  mlir::AffineMap map(llvm::ArrayRef<mlir::AffineExpr> results) const {
    return mlir::AffineMap::get(0, names.size() / 2, results, context);
  }

  llvm::SmallVector<int64_t> names; ///< argument and dimension of each symbol

private:
  mlir::MLIRContext *context;
};

} // namespace fa

#endif // FA_LIB_FUSION_SIZENAMES_H
