//===- PartitionScalars.cpp - numbers that partitions compute -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PartitionScalars.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace fa;
using namespace fa::tgpu;

Value fa::cloneScalar(OpBuilder &b, Value value, IRMapping &mapping,
                      Block *above) {
  if (Value known = mapping.lookupOrNull(value))
    return known;
  Operation *op = value.getDefiningOp();
  if (!op)
    return value;
  bool changes = op->getBlock() != above;
  for (Value operand : op->getOperands())
    changes |= cloneScalar(b, operand, mapping, above) != operand;
  if (!changes)
    return value;
  return b.clone(*op, mapping)
      ->getResult(cast<OpResult>(value).getResultNumber());
}

Value fa::ownStep(ImplicitLocOpBuilder &b, Value passed, Value id,
                  int64_t consumers) {
  Value before = arith::MulIOp::create(
      b, passed, arith::ConstantIndexOp::create(b, consumers));
  return arith::AddIOp::create(b, before, id);
}

Value fa::consumerIdOf(tile::KernelOp kernel) {
  return *kernel.getBody().front().getOps<ConsumerIdOp>().begin();
}
