//===- LoweringRegistry.h - an operation's lowering by its type -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How operations of a kernel become what a target runs.
//
// A context is what lowerings share: the kernel, the builder, what stands for
// each value, and the few instructions that a target has in a way of its own.
// SimtContext, for one thread of a kernel at S7, is any GPU's; NvidiaContext
// and AmdContext derive from it and add what theirs have. HostContext, for a
// program at S3, is the host's.
//
// A lowering is a function of a context and an operation, which builds what the
// operation is on the target and says in the context what stands for its
// results: void, or an error at the operation where it may be none. It stands
// in the file of its kind, such as LowerGlobal.cpp, whose last function
// registers it.
//
// Each target has a registry, filled when a kernel's lowering begins: first
// with what is general (addSimtLowerings, addHostLowerings), then with its own.
// Lowerings are overridden by registering others for the same operations: those
// of a vendor, which call the general ones where they have nothing better, or
// those of a form that suits a kernel, such as one of few rows on the host
// (RowForm.cpp). What has none is an error.
//
// A form of elementwise operations (addForm) is a shorter way for some of those
// on tiles, tried before they are computed element by element, what was added
// last first.
//
// A new operation takes a function in the file of its kind and one line at the
// end of that file; a new file takes its line in the target's list, too.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_LOWERINGREGISTRY_H
#define FA_LIB_CONVERSION_LOWERINGREGISTRY_H

#include "mlir/IR/Operation.h"

#include "llvm/ADT/DenseMap.h"

#include <functional>

namespace fa {

/// The lowerings of one target, bound to the context that they take.
class LoweringRegistry {
public:
  using Lowering = std::function<mlir::LogicalResult(mlir::Operation *)>;
  using Form = std::function<bool(mlir::Operation *)>;

  /// Lowers operations of type `OpT` by `lower`, whatever did before. `ResultT`
  /// is LogicalResult or void.
  template <typename ContextT, typename OpT, typename ResultT>
  void add(ContextT &context, ResultT (*lower)(ContextT &, OpT)) {
    lowerings[mlir::TypeID::get<OpT>()] = [&context,
                                           lower](mlir::Operation *op) {
      if constexpr (std::is_void_v<ResultT>) {
        lower(context, mlir::cast<OpT>(op));
        return mlir::success();
      } else {
        return lower(context, mlir::cast<OpT>(op));
      }
    };
  }

  /// Operations that need nothing: they are mapped when the function begins, or
  /// belong to the operation that uses them.
  template <typename... OpTs> void skip() {
    ((lowerings[mlir::TypeID::get<OpTs>()] =
          [](mlir::Operation *) { return mlir::success(); }),
     ...);
  }

  /// `lower` returns whether it has lowered the operation, whose operands or
  /// results are tiles.
  template <typename ContextT, typename OpT>
  void addForm(ContextT &context, bool (*lower)(ContextT &, OpT)) {
    forms[mlir::TypeID::get<OpT>()].push_back(
        [&context, lower](mlir::Operation *op) {
          return lower(context, mlir::cast<OpT>(op));
        });
  }

  /// Null: `op` has no lowering here.
  const Lowering *find(mlir::Operation *op) const {
    auto it = lowerings.find(op->getName().getTypeID());
    return it == lowerings.end() ? nullptr : &it->second;
  }

  /// Whether a form has lowered `op`.
  bool lowerByForm(mlir::Operation *op) const {
    auto it = forms.find(op->getName().getTypeID());
    return it != forms.end() &&
           llvm::any_of(llvm::reverse(it->second),
                        [&](const Form &lower) { return lower(op); });
  }

private:
  llvm::DenseMap<mlir::TypeID, Lowering> lowerings;
  llvm::DenseMap<mlir::TypeID, llvm::SmallVector<Form, 2>> forms;
};

} // namespace fa

#endif // FA_LIB_CONVERSION_LOWERINGREGISTRY_H
