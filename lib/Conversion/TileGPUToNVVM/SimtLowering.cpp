//===- SimtLowering.cpp - the function, the walk, control flow
//-------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SimtLowering.h"

#include "../KernelAbi/KernelAbi.h"
#include "fa/Conversion/TileGPUToNVVM.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace fa;
using namespace fa::tgpu;

static bool isTile(Value value) {
  return isa<RankedTensorType>(value.getType());
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

/// One parameter, the words of the arguments by value; a linear grid.
void SimtLowering::createFunction() {
  MLIRContext *context = b.getContext();
  b.setInsertionPoint(kernel);
  Type pointer = LLVM::LLVMPointerType::get(context);
  auto words = LLVM::LLVMArrayType::get(b.getI64Type(),
                                        countWords(kernel.getArgumentTypes()));
  size_t maps = collectTensorMaps(kernel).size();
  function = LLVM::LLVMFuncOp::create(
      b, kernel.getSymName(),
      LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context),
                                  SmallVector<Type>(1 + maps, pointer)));
  function->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(),
                    b.getUnitAttr());
  int32_t threads = countThreads(kernel);
  function->setAttr(NVVM::NVVMDialect::getReqntidAttrName(),
                    b.getDenseI32ArrayAttr({threads}));
  // A denormal costs exp2 twice its instructions.
  function.setDenormalFpMathF32("preserve-sign,preserve-sign");
  auto passByValue = [&](unsigned argument, Type type) {
    function.setArgAttr(argument, LLVM::LLVMDialect::getByValAttrName(),
                        TypeAttr::get(type));
    function.setArgAttr(argument, NVVM::NVVMDialect::getGridConstantAttrName(),
                        b.getUnitAttr());
  };
  passByValue(0, words);
  for (unsigned map = 1; map <= maps; ++map) {
    passByValue(map, LLVM::LLVMArrayType::get(b.getI64Type(), 16));
    function.setArgAttr(map, LLVM::LLVMDialect::getAlignAttrName(),
                        b.getI64IntegerAttr(64));
  }
  Block *entry = function.addEntryBlock(b);
  b.setInsertionPointToStart(entry);
  numberThreads(threads);
  entryEnd = thread.getDefiningOp();
  WordReader reader(b, entry->getArgument(0));
  for (unsigned axis = 0; axis < 3; ++axis)
    extents.push_back(reader.nextExtent());
  for (auto [argument, type] :
       llvm::zip(kernel.getArguments(), kernel.getArgumentTypes()))
    mapping.map(argument, reader.nextArgument(type));
}

int32_t fa::countThreads(tile::KernelOp kernel) {
  auto number = [&](StringRef name) {
    auto attribute = kernel->getAttrOfType<IntegerAttr>(name);
    return attribute ? attribute.getInt() : 0;
  };
  int64_t consumers = number(TileGPUDialect::consumersAttrName);
  return 32 * number(TileGPUDialect::warpsAttrName) *
         (consumers ? consumers + 1 : 1);
}

/// With roles, the registers of a block are what one block on a processor has:
/// ptxas heeds the exchange of registers only if the function says so.
void SimtLowering::numberThreads(int32_t threads) {
  thread = threadInBlock = NVVM::ThreadIdXOp::create(b, b.getI32Type());
  if (threads == 32 * warps)
    return;
  function->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(),
                    b.getI32IntegerAttr(1));
  function->setAttr(
      NVVM::NVVMDialect::getMaxnregAttrName(),
      b.getI32IntegerAttr(std::min(65536 / threads / 8 * 8, 248)));
  // The same for all threads of a warp, as branches between roles need it.
  Value group =
      arith::ShRUIOp::create(b, thread, i32(llvm::Log2_64(32 * warps)));
  warpgroup = NVVM::ShflOp::create(b, b.getI32Type(), i32(-1), group, i32(0),
                                   i32(31), NVVM::ShflKind::idx, UnitAttr());
  thread = arith::AndIOp::create(b, thread, i32(32 * warps - 1));
  kernel.walk([&](ConsumerIdOp id) {
    Value number = arith::SubIOp::create(b, warpgroup, i32(1));
    mapping.map(
        id.getResult(),
        arith::IndexCastOp::create(b, b.getIndexType(), number).getResult());
  });
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
  if (isa<ProgramIdOp, NumProgramsOp, ConsumerIdOp, ChannelOp, PassedOp,
          tile::ReturnOp, scf::YieldOp>(op))
    return success(); // mapped at the start; yields belong to their parent
  auto always = [](auto) { return success(); };
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](scf::ForOp op) { return lowerFor(op); })
      .Case([&](scf::IfOp op) { return lowerIf(op); })
      .Case([&](DotOp op) { return lowerDot(op); })
      .Case([&](OnlineSoftmaxOp op) { return lowerOnlineSoftmax(op); })
      .Case([&](OnlineFinalizeOp op) { return lowerOnlineFinalize(op); })
      .Case([&](ReduceOp op) { return lowerReduce(op); })
      .Case([&](BroadcastOp op) { return lowerBroadcast(op); })
      .Case([&](LoadOp op) { return lowerLoad(op); })
      .Case([&](StoreOp op) { return lowerStore(op); })
      .Case([&](GatherOp op) { return lowerGather(op); })
      .Case([&](ConvertOp op) { return lowerConvert(op); })
      .Case<ExpandDimsOp, TransposeOp>([&](auto op) {
        setElements(op.getResult(),
                    SmallVector<Value>(elementsOf(op.getInput())));
        return success();
      })
      .Case([&](IotaOp op) { return always((lowerIota(op), 0)); })
      .Case([&](AllocOp) { return success(); })
      .Case([&](CopyOp op) { return always((lowerCopy(op), 0)); })
      .Case([&](ReadOp op) { return always((lowerRead(op), 0)); })
      .Case([&](WriteOp op) { return always((lowerWrite(op), 0)); })
      .Case([&](RolesOp op) { return lowerRoles(op); })
      .Case([&](AcquireOp op) { return always((lowerAcquire(op), 0)); })
      .Case([&](FetchOp op) { return always((lowerFetch(op), 0)); })
      .Case([&](AwaitOp op) { return always((lowerAwait(op), 0)); })
      .Case([&](ReleaseOp op) { return always((lowerRelease(op), 0)); })
      .Case([&](DotStartOp op) { return always((lowerDotStart(op), 0)); })
      .Case([&](DotWaitOp op) { return always((lowerDotWait(op), 0)); })
      .Case([&](CommitOp) {
        NVVM::CpAsyncCommitGroupOp::create(b);
        return success();
      })
      .Case([&](WaitOp op) {
        NVVM::CpAsyncWaitGroupOp::create(b, op.getPending());
        return success();
      })
      .Case([&](BarrierOp) {
        NVVM::Barrier0Op::create(b);
        return success();
      })
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
    if (failed(lowerBlock(from.front())))
      return failure();
    scf::YieldOp::create(b,
                         flatten(from.front().getTerminator()->getOperands()));
  }
  ValueRange results = lowered.getResults();
  for (Value result : branch.getResults())
    takeFrom(results, result);
  return success();
}
