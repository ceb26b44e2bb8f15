//===- FindSource.cpp - what a value is computed from ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FindSource.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SmallVector.h"

using namespace mlir;

Value fa::findSource(Value value, llvm::function_ref<bool(Value)> wanted,
                     llvm::function_ref<bool(Operation *)> follows) {
  SmallVector<Value> work = {value};
  llvm::DenseSet<Value> seen;
  while (!work.empty()) {
    Value next = work.pop_back_val();
    if (!seen.insert(next).second)
      continue;
    if (wanted(next))
      return next;
    if (Operation *op = next.getDefiningOp(); op && follows(op))
      llvm::append_range(work, llvm::reverse(op->getOperands()));
  }
  return {};
}
