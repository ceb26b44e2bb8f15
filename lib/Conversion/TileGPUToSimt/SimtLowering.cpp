//===- SimtLowering.cpp - the function, the walk, control flow ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SimtLowering.h"

#include "../KernelAbi/KernelAbi.h"
#include "fa/Conversion/TileGPUToSimt.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fa;
using tile::isTile;
using namespace fa::tgpu;

static bool isTileWithoutLayout(Value value) {
  return isTile(value) &&
         !isa_and_present<LayoutAttr>(
             cast<RankedTensorType>(value.getType()).getEncoding());
}

LogicalResult fa::verifyPlaced(tile::KernelOp kernel) {
  for (StringRef name :
       {TileGPUDialect::sharedBytesAttrName, TileGPUDialect::warpsAttrName})
    if (!kernel->hasAttr(name))
      return emitError(kernel.getLoc())
             << "expected a kernel at stage S7, found one without '" << name
             << "'";
  return failure(kernel
                     .walk([](Operation *op) {
                       if (llvm::none_of(op->getResults(), isTileWithoutLayout))
                         return WalkResult::advance();
                       return WalkResult(
                           op->emitOpError("expected a kernel at stage S7, "
                                           "found a tile without a layout"));
                     })
                     .wasInterrupted());
}

SimtLowering::SimtLowering(tile::KernelOp kernel)
    : kernel(kernel), b(kernel.getLoc(), kernel.getContext()) {
  warps = kernel->getAttrOfType<IntegerAttr>(TileGPUDialect::warpsAttrName)
              .getInt();
}

LogicalResult SimtLowering::run() {
  if (!kernel.getBody().hasOneBlock())
    return kernel.emitOpError("expects a body of one block on a GPU, found ")
           << kernel.getBody().getBlocks().size();
  createFunction();
  if (failed(lowerBody())) {
    function.erase();
    return failure();
  }
  LLVM::ReturnOp::create(b, ValueRange{});
  return success();
}

//===----------------------------------------------------------------------===//
// The function
//===----------------------------------------------------------------------===//

void SimtLowering::createFunction() {
  b.setInsertionPoint(kernel);
  declareFunction();
  b.setInsertionPointToStart(&function.front());
  numberThreads();
  entryEnd = thread.getDefiningOp();
  WordReader reader(b, function.getArgument(0));
  for (unsigned axis = 0; axis < 3; ++axis)
    extents.push_back(reader.nextExtent());
  for (auto [argument, type] :
       llvm::zip(kernel.getArguments(), kernel.getArgumentTypes()))
    mapping.map(argument, reader.nextArgument(type));
}

void SimtLowering::mapPrograms(std::array<Value, 3> program) {
  SmallVector<Value> ids;
  for (Value id : program)
    ids.push_back(arith::IndexCastUIOp::create(b, b.getIndexType(), id));
  kernel.walk([&](Operation *op) {
    if (auto id = dyn_cast<tile::ProgramIdOp>(op))
      mapping.map(id.getResult(), ids[id.getAxis()]);
    if (auto num = dyn_cast<tile::NumProgramsOp>(op))
      mapping.map(num.getResult(), extents[num.getAxis()]);
  });
}

LogicalResult SimtLowering::lowerBody() {
  // 31 bits number all programs; a division of 64 takes a hundred instructions.
  auto [outer, id0] = divide(programNumber(), i32Of(extents[0]));
  auto [id2, id1] = divide(outer, i32Of(extents[1]));
  mapPrograms({id0, id1, id2});
  return lowerBlock(kernel.getBody().front());
}

int64_t fa::lanesOf(tile::KernelOp kernel) {
  auto lanes =
      kernel->getAttrOfType<IntegerAttr>(TileGPUDialect::lanesAttrName);
  return lanes ? lanes.getInt() : 32;
}

int64_t fa::programsOfBlock(tile::KernelOp kernel) {
  auto programs =
      kernel->getAttrOfType<IntegerAttr>(TileGPUDialect::programsAttrName);
  return programs ? programs.getInt() : 1;
}

int32_t fa::countThreads(tile::KernelOp kernel) {
  auto number = [&](StringRef name) {
    auto attribute = kernel->getAttrOfType<IntegerAttr>(name);
    return attribute ? attribute.getInt() : 0;
  };
  int64_t groups = 1;
  for (RolesOp roles : kernel.getBody().getOps<RolesOp>())
    groups = roles.countGroups();
  return lanesOf(kernel) * number(TileGPUDialect::warpsAttrName) * groups *
         kernel.getParts() * programsOfBlock(kernel);
}

//===----------------------------------------------------------------------===//
// The walk
//===----------------------------------------------------------------------===//

/// Whether the operation works on scalars and memrefs alone.
static bool isScalarOp(Operation *op) {
  return op->getNumRegions() == 0 && llvm::none_of(op->getOperands(), isTile) &&
         llvm::none_of(op->getResults(), isTile);
}

LogicalResult SimtLowering::lowerBlock(Block &block) {
  for (Operation &op : block) {
    b.setLoc(op.getLoc());
    if (failed(lowerOp(&op)))
      return failure();
  }
  return success();
}

LogicalResult SimtLowering::lowerOp(Operation *op) {
  using namespace tile;
  if (isa<ProgramIdOp, NumProgramsOp, PartIdOp, ConsumerIdOp, ChannelOp,
          PassedOp, tgpu::RampOp, tile::ReturnOp, scf::YieldOp>(op))
    return success(); // mapped at the start; yields belong to their parent,
                      // ramps to their dot
  auto always = [](auto) { return success(); };
  if (isa<CopyOp, CommitOp, WaitOp, BarrierOp, RolesOp, AcquireOp, FetchOp,
          DeliverOp, PutOp, SendOp, OrderWaitOp, OrderArriveOp, AwaitOp,
          ReceiveOp, ReleaseOp, ExchangeOp, DotStartOp, DotWaitOp, BeginNextOp,
          AwaitKernelOp, TurnsOp, ProgramInOp, AnewOp, tgpu::MergePartsOp>(op))
    return lowerTargetOp(op);
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](OwnRowsOp op) {
        mapping.map(op.getOffset(), index(0));
        mapping.map(op.getCount(), index(op.getRows()));
        return success();
      })
      .Case([&](scf::ForOp op) { return lowerFor(op); })
      .Case([&](scf::IfOp op) { return lowerIf(op); })
      .Case([&](DotOp op) { return lowerDot(op); })
      .Case([&](OnlineSoftmaxOp op) { return lowerOnlineSoftmax(op); })
      .Case([&](ExpectedSoftmaxOp op) { return lowerExpectedSoftmax(op); })
      .Case([&](OnlineFinalizeOp op) { return lowerOnlineFinalize(op); })
      .Case([&](OnlineMergeOp op) { return always((lowerOnlineMerge(op), 0)); })
      .Case([&](ReduceOp op) { return lowerReduce(op); })
      .Case([&](BroadcastOp op) { return lowerBroadcast(op); })
      .Case([&](LoadOp op) { return lowerLoad(op); })
      .Case([&](SequenceOfOp op) { return always((lowerSequenceOf(op), 0)); })
      .Case([&](PagedViewOp op) { return always((openPages(op), 0)); })
      .Case([&](SlotViewOp op) { return always((openSlotView(op), 0)); })
      .Case([&](StoreOp op) {
        // Behind the loops of a consumer.
        std::optional<ThreadAnew> anew;
        if (op->getParentOfType<RolesOp>())
          anew.emplace(*this);
        return lowerStore(op);
      })
      .Case([&](GatherOp op) { return lowerGather(op); })
      .Case([&](ConvertOp op) { return lowerConvert(op); })
      .Case([&](ExpandDimsOp op) -> LogicalResult {
        TileLayout from = layoutOf(op.getInput()),
                   to = layoutOf(op.getResult());
        auto dims = llvm::to_vector(llvm::seq<int64_t>(0, from.rank()));
        dims.insert(dims.begin() + op.getDim(), -1);
        bool stays = inSameThreads(from, to, dims) &&
                     from.numRegisters() == to.numRegisters();
        for (int64_t reg = 0; stays && reg < to.numRegisters(); ++reg) {
          Coord at = coordOf(to, reg);
          at.erase(at.begin() + op.getDim());
          stays = at == coordOf(from, reg);
        }
        if (!stays)
          return op.emitOpError("expects its elements in the threads and "
                                "registers that have the result's");
        setElements(op.getResult(),
                    SmallVector<Value>(elementsOf(op.getInput())));
        return success();
      })
      .Case([&](TransposeOp op) {
        setElements(op.getResult(),
                    SmallVector<Value>(elementsOf(op.getInput())));
        return success();
      })
      .Case([&](IotaOp op) { return always((lowerIota(op), 0)); })
      .Case([&](AllocOp) { return success(); })
      .Case([&](ReadOp op) { return always((lowerRead(op), 0)); })
      .Case([&](WriteOp op) { return always((lowerWrite(op), 0)); })
      .Default([&](Operation *op) -> LogicalResult {
        if (isScalarOp(op)) {
          b.clone(*op, mapping);
          return success();
        }
        if (isa<arith::ConstantOp>(op))
          return lowerConstant(op);
        if (OpTrait::hasElementwiseMappableTraits(op))
          return lowerElementwise(op);
        return op->emitOpError("has no lowering on tiles for a GPU");
      });
}

void SimtLowering::lowerSequenceOf(tile::SequenceOfOp op) {
  auto [sequence, first] = tile::SequenceOfOp::search(
      b, mapped(op.getSlot()), mapped(op.getOffsets()), op.getRows());
  mapping.map(op.getSequence(), sequence);
  mapping.map(op.getFirst(), first);
}

LogicalResult SimtLowering::lowerTargetOp(Operation *op) {
  return op->emitOpError("has no lowering for this GPU");
}

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

SmallVector<Value> SimtLowering::flatten(ValueRange values) {
  SmallVector<Value> flat;
  for (Value value : values) {
    if (isTile(value))
      llvm::append_range(flat, elementsOf(value));
    else
      flat.push_back(mapped(value));
  }
  return flat;
}

void SimtLowering::takeFrom(ValueRange &flat, Value value) {
  size_t count = isTile(value) ? layoutOf(value).numRegisters() : 1;
  if (isTile(value))
    setElements(value, SmallVector<Value>(flat.take_front(count)));
  else
    mapping.map(value, flat.front());
  flat = flat.drop_front(count);
}

LogicalResult SimtLowering::lowerFor(scf::ForOp loop) {
  if (findsExtremes(loop))
    return lowerExtremes(loop);
  auto lowered = scf::ForOp::create(
      b, mapped(loop.getLowerBound()), mapped(loop.getUpperBound()),
      mapped(loop.getStep()), flatten(loop.getInitArgs()));
  mapping.map(loop.getInductionVar(), lowered.getInductionVar());
  ValueRange carried = lowered.getRegionIterArgs();
  for (Value argument : loop.getRegionIterArgs())
    takeFrom(carried, argument);
  {
    OpBuilder::InsertionGuard guard(b);
    Block *body = lowered.getBody();
    if (!body->empty())
      body->back().erase();
    b.setInsertionPointToEnd(body);
    if (failed(lowerBlock(*loop.getBody())))
      return failure();
    scf::YieldOp::create(
        b, flatten(loop.getBody()->getTerminator()->getOperands()));
  }
  ValueRange results = lowered.getResults();
  for (Value result : loop.getResults())
    takeFrom(results, result);
  return success();
}

LogicalResult SimtLowering::lowerSeldom(Block &block) {
  ThreadAnew anew(*this);
  llvm::DenseMap<Value, Registers> before;
  LogicalResult result = success();
  std::function<void(Value)> compute = [&](Value tile) {
    Operation *op = tile.getDefiningOp();
    if (!op || block.findAncestorOpInBlock(*op) || !isTile(tile) ||
        isa<FloatType>(getElementTypeOrSelf(tile)) || op->getNumRegions() ||
        !isMemoryEffectFree(op) ||
        !before.try_emplace(tile, tiles[tile]).second)
      return;
    for (Value operand : op->getOperands())
      compute(operand);
    if (succeeded(result))
      result = lowerOp(op);
  };
  block.walk([&](Operation *op) {
    for (Value operand : op->getOperands())
      compute(operand);
  });
  if (succeeded(result))
    result = lowerBlock(block);
  for (auto &[tile, registers] : before)
    tiles[tile] = registers;
  return result;
}

LogicalResult SimtLowering::lowerIf(scf::IfOp branch) {
  SmallVector<Type> types;
  for (Type type : branch.getResultTypes()) {
    auto tile = dyn_cast<RankedTensorType>(type);
    types.append(tile ? layoutOf(type).numRegisters() : 1,
                 tile ? tile.getElementType() : type);
  }
  auto lowered = scf::IfOp::create(b, types, mapped(branch.getCondition()),
                                   !branch.getElseRegion().empty());
  for (auto [from, to] :
       llvm::zip(branch->getRegions(), lowered->getRegions())) {
    if (from.empty())
      continue;
    OpBuilder::InsertionGuard guard(b);
    Block *body = &to.front();
    if (!body->empty())
      body->back().erase();
    b.setInsertionPointToEnd(body);
    bool isSeldom = branch->hasAttr(TileGPUDialect::seldomAttrName) &&
                    &from == &branch.getThenRegion();
    if (failed(isSeldom ? lowerSeldom(from.front()) : lowerBlock(from.front())))
      return failure();
    scf::YieldOp::create(b,
                         flatten(from.front().getTerminator()->getOperands()));
  }
  ValueRange results = lowered.getResults();
  for (Value result : branch.getResults())
    takeFrom(results, result);
  return success();
}
