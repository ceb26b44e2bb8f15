//===- LoweringRegistry.h - an operation's lowering by its type -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How a kernel at S7 becomes what one thread does.
//
// A context is what lowerings share: the kernel, the builder, what stands for
// each value, the thread's number, and the few instructions that every target
// has in a way of its own. SimtContext is any GPU's, NvidiaContext and
// AmdContext derive from it and add what theirs have.
//
// A lowering is a function of a context and an operation, which builds what the
// operation is for one thread and says in the context what stands for its
// results: void, or an error at the operation where it may be none. It stands
// in the file of its kind, LowerGlobal.cpp, whose last function registers it.
//
// Each target has a registry, filled when a kernel's lowering begins: first
// with what any GPU has (addSimtLowerings), then with its own. A target
// overrides a lowering by registering another one for the same operation; that
// calls the general one where it has nothing better. What has none is an error.
//
// A form is a shorter way for some elementwise operations on tiles, tried
// before they are computed element by element, what was added last first.
//
// A new operation takes a function in the file of its kind and one line at the
// end of that file; a new file takes its line in the target's list, too.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_TILEGPUTOSIMT_LOWERINGREGISTRY_H
#define FA_LIB_CONVERSION_TILEGPUTOSIMT_LOWERINGREGISTRY_H

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

#endif // FA_LIB_CONVERSION_TILEGPUTOSIMT_LOWERINGREGISTRY_H
