//===- TileGPUSimtOps.cpp - verifiers of what one thread does -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TileGPU/TileGPU.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace fa;
using namespace fa::tgpu;

/// PTX ISA 9.7.15.5.1, "Register Fragments and Shared Memory Matrix Layouts":
/// N is a multiple of 8 up to 256; of A in registers a thread has four words.
LogicalResult SimtWgmmaOp::verify() {
  bool isNarrow = tile::isStorageFloat(getElement());
  if (!getElement().isF16() && !getElement().isBF16() && !isNarrow)
    return emitOpError("expects factors of f16, bf16, e4m3 or e5m2, found ")
           << getElement();
  if (getElementOfB() != getElement() &&
      !(isNarrow && tile::isStorageFloat(getElementOfB())))
    return emitOpError("expects factors of one type or both of 8 bits, found ")
           << getElement() << " by " << getElementOfB();
  size_t count = getNumResults();
  if (count % 4 || count == 0 || count > 128)
    return emitOpError("expects 4, 8, .. or 128 results, found ") << count;
  TypeRange a = getA().getTypes();
  bool isDescriptor = a.size() == 1 && a.front().isInteger(64);
  bool isFragment = a.size() == 4 && llvm::all_of(a, [](Type type) {
                      return type.isInteger(32);
                    });
  if (!isDescriptor && !isFragment)
    return emitOpError("expects a as one i64 or four i32, found ") << a;
  if (isNarrow && (isFragment || getTransposeA() || getTransposeB()))
    return emitOpError("expects factors of 8 bits in memory, along the depth");
  if (getTransposeA() && isFragment)
    return emitOpError("expects a as a descriptor where it is transposed");
  if (!getAcc().empty() && getAcc().size() != count)
    return emitOpError("expects as many accumulators as results, found ")
           << getAcc().size() << " and " << count;
  return success();
}

void SimtWgmmaWaitOp::build(OpBuilder &b, OperationState &state,
                            int64_t pending, ValueRange values) {
  build(b, state, values.getTypes(), b.getI64IntegerAttr(pending), values);
}

LogicalResult SimtWgmmaWaitOp::verify() {
  if (getValues().getTypes() != getPassed().getTypes())
    return emitOpError("expects what passes through to keep its type");
  return success();
}
