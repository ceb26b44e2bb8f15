//===- KernelLowering.cpp - the walk over a kernel, loops -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelLowering.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fa;
using tile::isTile;

KernelLowering::KernelLowering(tile::KernelOp kernel, const VectorShape &shape)
    : kernel(kernel), shape(shape), b(kernel.getLoc(), kernel.getContext()) {}

FailureOr<func::FuncOp> KernelLowering::run() {
  if (!kernel.getBody().hasOneBlock())
    return kernel.emitOpError("expects a body of one block on the host, found ")
           << kernel.getBody().getBlocks().size();
  // Nothing is checked here.
  kernel.walk([](tile::AssertOp op) { op.erase(); });
  HostArguments arguments;
  alongRows = suitsRowForm();
  tiles = hasTileDots();
  narrowExp = tiles && !hasTileDots(b.getF32Type());
  if (tiles) {
    shape.maxVectors = kTileVectors;
    shape.accumulators = kTileVectors * kTileVectors;
  }
  function = createHostFunction(kernel, b, arguments);
  mapping.map(kernel.getArguments(), arguments.arguments);
  scratch = arguments.scratch;
  kernel.walk([&](Operation *op) {
    if (auto id = dyn_cast<tile::ProgramIdOp>(op))
      mapping.map(id.getResult(), arguments.programIds[id.getAxis()]);
    if (auto num = dyn_cast<tile::NumProgramsOp>(op))
      mapping.map(num.getResult(), arguments.gridExtents[num.getAxis()]);
  });
  if (failed(lowerBlock(kernel.getBody().front()))) {
    function.erase();
    return failure();
  }
  b.setInsertionPointToEnd(&function.getBody().front());
  func::ReturnOp::create(b);
  function->setAttr("fa.scratch_bytes", b.getI64IntegerAttr(scratchBytes));
  return function;
}

//===----------------------------------------------------------------------===//
// The walk
//===----------------------------------------------------------------------===//

/// Whether the operation and everything in it works on scalars and memrefs.
static bool isScalarOp(Operation *op) {
  return !op->walk([](Operation *inner) {
              bool tiles = llvm::any_of(inner->getOperands(), isTile) ||
                           llvm::any_of(inner->getResults(), isTile);
              return tiles ? WalkResult::interrupt() : WalkResult::advance();
            }).wasInterrupted();
}

LogicalResult KernelLowering::lowerBlock(Block &block) {
  for (Operation &op : block) {
    b.setLoc(op.getLoc());
    if (failed(lowerOp(&op)))
      return failure();
  }
  return success();
}

LogicalResult KernelLowering::lowerOp(Operation *op) {
  using namespace tile;
  if (isa<ProgramIdOp, NumProgramsOp, tile::ReturnOp, scf::YieldOp>(op))
    return success(); // mapped at the start; yields belong to their loop
  if (auto loop = dyn_cast<scf::ForOp>(op); loop && !isScalarOp(op))
    return lowerFor(loop);
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case(
          [&](DotOp dot) { return isPending(dot) ? success() : lowerDot(dot); })
      .Case([&](OwnRowsOp op) {
        mapping.map(op.getOffset(), arith::ConstantIndexOp::create(b, 0));
        mapping.map(op.getCount(),
                    arith::ConstantIndexOp::create(b, op.getRows()));
        return success();
      })
      .Case([&](SequenceOfOp op) {
        auto [sequence, first] =
            SequenceOfOp::search(b, mapping.lookup(op.getSlot()),
                                 mapping.lookup(op.getOffsets()), op.getRows());
        mapping.map(op.getSequence(), sequence);
        mapping.map(op.getFirst(), first);
        return success();
      })
      .Case([&](OnlineSoftmaxOp op) { return lowerOnlineSoftmax(op); })
      .Case([&](OnlineFinalizeOp op) { return lowerOnlineFinalize(op); })
      .Case([&](OnlineMergeOp op) { return lowerOnlineMerge(op); })
      .Case([&](ReduceOp op) { return lowerReduce(op); })
      .Case([&](StoreOp op) { return lowerStore(op); })
      .Case([&](AtomicAddOp op) { return lowerAtomicAdd(op); })
      .Case([&](GatherOp op) { return lowerGather(op); })
      .Case([&](LoadOp op) { return lowerLoad(op); })
      .Case([&](memref::AllocaOp op) { // of stageRows
        mapping.map(op.getResult(), allocate(op.getType()));
        return success();
      })
      .Default([&](Operation *op) -> LogicalResult {
        if (isScalarOp(op)) {
          cloneScalarOp(op);
          return success();
        }
        if (!isLazy(op))
          return op->emitOpError("has no lowering on tiles for the host");
        if (!buffers.count(op->getResult(0)) &&
            !pairBuffers.count(op->getResult(0)) && isReadManyTimes(op)) {
          Buffer buffer = materialize(op->getResult(0), tileForm());
          buffers[op->getResult(0)] = buffer;
        }
        return success();
      });
}

/// Whether a lazy value is better computed once: an operand of a dot, whose
/// elements are read for each block, or a function that several read.
bool KernelLowering::isReadManyTimes(Operation *op) {
  Value value = op->getResult(0);
  if (isa<math::MathDialect>(op->getDialect()) && !value.hasOneUse())
    return true;
  return llvm::any_of(value.getUses(), [&](OpOperand &use) {
    auto dot = dyn_cast<tile::DotOp>(use.getOwner());
    if (!dot || use.get() == dot.getAcc())
      return false;
    return use.get() == dot.getA() || !isa<tile::TransposeOp>(op);
  });
}

void KernelLowering::cloneScalarOp(Operation *op) { b.clone(*op, mapping); }

LogicalResult KernelLowering::lowerFor(scf::ForOp loop) {
  SmallVector<Value> scalarInits;
  for (auto [init, arg, result] : llvm::zip(
           loop.getInitArgs(), loop.getRegionIterArgs(), loop.getResults())) {
    if (!isTile(init)) {
      scalarInits.push_back(mapped(init));
      continue;
    }
    auto it = buffers.find(init);
    bool adopt = it != buffers.end() && it->second.form == tileForm() &&
                 init.hasOneUse();
    Buffer buffer =
        adopt ? it->second
              : allocate(cast<RankedTensorType>(init.getType()), tileForm());
    if (!adopt)
      copyInto(init, buffer);
    buffers[arg] = carriedBuffers[arg] = buffers[result] = buffer;
  }
  int64_t bodyTop = scratchTop;
  auto lowered = scf::ForOp::create(b, mapped(loop.getLowerBound()),
                                    mapped(loop.getUpperBound()),
                                    mapped(loop.getStep()), scalarInits);
  if (scalarInits.empty())
    lowered->setAttr(kTileLoop, b.getUnitAttr());
  mapping.map(loop.getInductionVar(), lowered.getInductionVar());
  unsigned scalar = 0;
  for (auto [arg, result] :
       llvm::zip(loop.getRegionIterArgs(), loop.getResults()))
    if (!isTile(arg)) {
      mapping.map(arg, lowered.getRegionIterArg(scalar));
      mapping.map(result, lowered.getResult(scalar++));
    }
  OpBuilder::InsertionGuard guard(b);
  Block *body = lowered.getBody();
  if (!body->empty())
    body->back().erase();
  b.setInsertionPointToEnd(body);
  if (failed(lowerBlock(*loop.getBody())))
    return failure();

  // What was not written in place is copied once everything is computed, so
  // that one value's new state is not another one's old.
  SmallVector<Value> scalars;
  SmallVector<std::pair<Buffer, Buffer>> copies;
  auto yield = cast<scf::YieldOp>(loop.getBody()->getTerminator());
  for (auto [arg, value] :
       llvm::zip(loop.getRegionIterArgs(), yield.getOperands())) {
    if (!isTile(arg)) {
      scalars.push_back(mapped(value));
      continue;
    }
    Buffer from = materialize(value, tileForm());
    if (from.memref != buffers[arg].memref)
      copies.push_back({from, buffers[arg]});
  }
  for (auto [from, to] : copies)
    memref::CopyOp::create(b, from.memref, to.memref);
  if (!scalars.empty() || lowered.getNumResults() == 0)
    scf::YieldOp::create(b, scalars);
  scratchTop = bodyTop; // the body's buffers are free for what follows
  return success();
}

LogicalResult KernelLowering::lowerReduce(tile::ReduceOp op) {
  auto input = cast<RankedTensorType>(op.getInput().getType());
  if (input.getRank() != 2 || op.getDim() != 1)
    return op.emitOpError("has a lowering for the host along dimension 1 of a "
                          "tile of rank 2, found dimension ")
           << op.getDim() << " of " << input;
  Type element = computeType(input.getElementType());
  if (!isa<FloatType>(element))
    return op.emitOpError("has a lowering for the host on floats, found ")
           << input;
  Buffer source = materialize(op.getInput(), Form::Lanes);
  Buffer result = bufferForResult(op.getResult());
  auto combine = [&](Value x, Value y) -> Value {
    switch (op.getKind()) {
    case tile::ReduceKind::Add:
      return arith::AddFOp::create(b, x, y);
    case tile::ReduceKind::Max:
      return arith::MaximumFOp::create(b, x, y);
    case tile::ReduceKind::Min:
      return arith::MinimumFOp::create(b, x, y);
    }
    llvm_unreachable("every kind is handled");
  };
  forRowBlocks(input.getDimSize(0), [&](Value row, int64_t vectors) {
    SmallVector<Value> first;
    for (int64_t v = 0; v < vectors; ++v)
      first.push_back(readBuffer(
          source, {{addIndex(row, v * lanes()), true}, {constantIndex(0)}}));
    auto loop = scf::ForOp::create(
        b, constantIndex(1), constantIndex(input.getDimSize(1)),
        constantIndex(1), first,
        [&](OpBuilder &, Location, Value col, ValueRange carried) {
          SmallVector<Value> next;
          for (int64_t v = 0; v < vectors; ++v)
            next.push_back(
                combine(carried[v],
                        readBuffer(source, {{addIndex(row, v * lanes()), true},
                                            {col}})));
          scf::YieldOp::create(b, next);
        });
    for (int64_t v = 0; v < vectors; ++v)
      vector::StoreOp::create(b, loop.getResult(v), result.memref,
                              addIndex(row, v * lanes()));
  });
  buffers[op.getResult()] = result;
  return success();
}

//===----------------------------------------------------------------------===//
// Small helpers
//===----------------------------------------------------------------------===//

void KernelLowering::forRowBlocks(int64_t rows,
                                  llvm::function_ref<void(Value, int64_t)> body,
                                  Value end) {
  int64_t total = paddedRows(rows) / lanes();
  int64_t vectors = std::min(shape.maxVectors, total);
  int64_t blocks = total / vectors, rest = total % vectors;
  if (blocks == 1) {
    body(constantIndex(0), vectors);
  } else {
    Value all = constantIndex(blocks * vectors * lanes());
    auto loop =
        scf::ForOp::create(b, constantIndex(0),
                           end ? b.createOrFold<arith::MinSIOp>(all, end) : all,
                           constantIndex(vectors * lanes()));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    body(loop.getInductionVar(), vectors);
  }
  if (rest)
    body(constantIndex(blocks * vectors * lanes()), rest);
}

Value KernelLowering::constantIndex(int64_t value) {
  return arith::ConstantIndexOp::create(b, value);
}

Value KernelLowering::constantVector(double value) {
  VectorType type = vectorType(b.getF32Type());
  return arith::ConstantOp::create(
      b, DenseElementsAttr::get(type, b.getF32FloatAttr(value)));
}

Value KernelLowering::addIndex(Value base, int64_t offset) {
  if (offset == 0)
    return base;
  return arith::AddIOp::create(b, base, constantIndex(offset));
}

VectorType KernelLowering::vectorType(Type element) {
  return VectorType::get({lanes()}, element);
}

Type KernelLowering::computeType(Type element) {
  auto type = dyn_cast<FloatType>(element);
  return type && type.getWidth() < 32 ? Type(b.getF32Type()) : element;
}
