//===- SimtLowering.cpp - the walk, elementwise operations, control flow --===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SimtLowering.h"

#include "../KernelAbi/KernelAbi.h"
#include "fa/Conversion/TileGPUToNVVM.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace fa;
using namespace fa::tgpu;

static bool isTile(Value value) {
  return isa<RankedTensorType>(value.getType());
}

static RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
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
  if (failed(lowerBlock(kernel.getBody().front()))) {
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
  SmallVector<Value> extents, ids;
  for (unsigned axis = 0; axis < 3; ++axis)
    extents.push_back(reader.nextExtent());
  for (auto [argument, type] :
       llvm::zip(kernel.getArguments(), kernel.getArgumentTypes()))
    mapping.map(argument, reader.nextArgument(type));
  // 31 bits number all programs; a division of 64 takes a hundred instructions.
  Value rest = NVVM::BlockIdXOp::create(b, b.getI32Type());
  auto asIndex = [&](Value value) -> Value {
    return arith::IndexCastUIOp::create(b, b.getIndexType(), value);
  };
  for (unsigned axis = 0; axis < 2; ++axis) {
    Value extent =
        arith::IndexCastUIOp::create(b, b.getI32Type(), extents[axis]);
    ids.push_back(asIndex(arith::RemUIOp::create(b, rest, extent)));
    rest = arith::DivUIOp::create(b, rest, extent);
  }
  ids.push_back(asIndex(rest));
  kernel.walk([&](Operation *op) {
    if (auto id = dyn_cast<tile::ProgramIdOp>(op))
      mapping.map(id.getResult(), ids[id.getAxis()]);
    if (auto num = dyn_cast<tile::NumProgramsOp>(op))
      mapping.map(num.getResult(), extents[num.getAxis()]);
  });
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
  if (isa<ProgramIdOp, NumProgramsOp, ConsumerIdOp, ChannelOp, tile::ReturnOp,
          scf::YieldOp>(op))
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

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

LogicalResult SimtLowering::lowerConstant(Operation *op) {
  auto splat =
      dyn_cast<SplatElementsAttr>(cast<arith::ConstantOp>(op).getValue());
  if (!splat)
    return op->emitOpError("expects one value for all elements on a GPU");
  Value scalar = arith::ConstantOp::create(
      b, cast<TypedAttr>(splat.getSplatValue<Attribute>()));
  Value tile = op->getResult(0);
  setElements(tile, SmallVector<Value>(layoutOf(tile).numRegisters(), scalar));
  return success();
}

/// `op` on one element each.
Value SimtLowering::cloneOnElements(Operation *op, ValueRange operands) {
  if (isa<math::ExpOp>(op) && operands[0].getType().isF32()) {
    constexpr float log2e = 1.44269504f;
    Value factor = arith::ConstantOp::create(b, b.getF32FloatAttr(log2e));
    return exp2(arith::MulFOp::create(b, operands[0], factor));
  }
  if (isa<math::Exp2Op>(op) && operands[0].getType().isF32())
    return exp2(operands[0]);
  OperationState state(op->getLoc(), op->getName(), operands,
                       {getElementTypeOrSelf(op->getResult(0))},
                       op->getAttrs());
  return b.create(state)->getResult(0);
}

LogicalResult SimtLowering::lowerElementwise(Operation *op) {
  if (op->getNumResults() != 1)
    return op->emitOpError("expects one result on tiles");
  if (lowerToPairs(op) || lowerRescale(op))
    return success();
  SmallVector<Value> elements;
  int64_t count = layoutOf(op->getResult(0)).numRegisters();
  SmallVector<SmallVector<Value>> operands;
  for (Value operand : op->getOperands())
    operands.push_back(isTile(operand)
                           ? SmallVector<Value>(elementsOf(operand))
                           : SmallVector<Value>(count, mapped(operand)));
  for (int64_t n = 0; n < count; ++n) {
    SmallVector<Value> at;
    for (ArrayRef<Value> operand : operands)
      at.push_back(operand[n]);
    elements.push_back(cloneOnElements(op, at));
  }
  setElements(op->getResult(0), elements);
  return success();
}

/// f32 to pairs of 16 bits, in one instruction each.
bool SimtLowering::lowerToPairs(Operation *op) {
  auto truncate = dyn_cast<arith::TruncFOp>(op);
  if (!truncate || !getElementTypeOrSelf(truncate.getIn()).isF32())
    return false;
  Type narrow = getElementTypeOrSelf(truncate.getType());
  TileLayout layout = layoutOf(truncate.getResult());
  if (contiguousRegisters(layout.base, layout.rank() - 1) < 2 ||
      (!narrow.isF16() && !narrow.isBF16()))
    return false;
  StringRef name =
      narrow.isF16() ? "llvm.nvvm.ff2f16x2.rn" : "llvm.nvvm.ff2bf16x2.rn";
  SmallVector<Value> elements(elementsOf(truncate.getIn())), packed;
  Type pair = VectorType::get({2}, narrow);
  for (size_t n = 0; n < elements.size(); n += 2) {
    // The first operand becomes the upper half.
    Value converted =
        LLVM::CallIntrinsicOp::create(b, pair, b.getStringAttr(name),
                                      ValueRange{elements[n + 1], elements[n]})
            .getResult(0);
    packed.push_back(LLVM::BitcastOp::create(b, b.getI32Type(), converted));
  }
  setPacked(truncate.getResult(), packed);
  return true;
}

/// What a tile is multiplied with in each row, if that is the factor by which
/// an online softmax rescales what came before.
static Value rescaleFactor(Value value) {
  auto broadcast = value.getDefiningOp<tile::BroadcastOp>();
  auto expand = broadcast
                    ? broadcast.getInput().getDefiningOp<tile::ExpandDimsOp>()
                    : tile::ExpandDimsOp();
  auto softmax = expand
                     ? expand.getInput().getDefiningOp<tile::OnlineSoftmaxOp>()
                     : tile::OnlineSoftmaxOp();
  return softmax && softmax.getAlpha() == expand.getInput() ? softmax.getAlpha()
                                                            : Value();
}

/// Most tiles of keys leave every maximum of a warp's rows as it was: all
/// factors are 1, and the accumulator stays as it is.
bool SimtLowering::lowerRescale(Operation *op) {
  // A branch costs the overlap of dots more than it saves where registers are
  // plenty (measured on an H100: two consumers -3 %, three +7 %).
  if (warpgroup && countThreads(kernel) < 512)
    return false;
  auto scale = dyn_cast<arith::MulFOp>(op);
  Value alpha = scale ? rescaleFactor(scale.getRhs()) : Value();
  if (!alpha)
    return false;
  Value one = arith::ConstantOp::create(b, b.getF32FloatAttr(1)), changed;
  for (Value factor : SmallVector<Value>(elementsOf(alpha))) {
    Value differs =
        arith::CmpFOp::create(b, arith::CmpFPredicate::UNE, factor, one);
    changed =
        changed ? Value(arith::OrIOp::create(b, changed, differs)) : differs;
  }
  Value any = NVVM::VoteSyncOp::create(b, b.getI1Type(), i32(-1), changed,
                                       NVVM::VoteSyncKind::any);
  SmallVector<Value> old(elementsOf(scale.getLhs())),
      factors(elementsOf(scale.getRhs()));
  auto branch = scf::IfOp::create(
      b, any,
      [&](OpBuilder &, Location) {
        SmallVector<Value> scaled;
        for (auto [value, factor] : llvm::zip(old, factors))
          scaled.push_back(arith::MulFOp::create(b, value, factor));
        scf::YieldOp::create(b, scaled);
      },
      [&](OpBuilder &, Location) { scf::YieldOp::create(b, old); });
  setElements(scale.getResult(), SmallVector<Value>(branch.getResults()));
  return true;
}

void SimtLowering::lowerIota(tile::IotaOp op) {
  TileLayout layout = layoutOf(op.getResult());
  Type element = op.getType().getElementType();
  SmallVector<Value> elements;
  for (int64_t reg = 0; reg < layout.numRegisters(); ++reg) {
    Value at = coordinate(layout, reg, op.getDim());
    elements.push_back(isa<IndexType>(element)
                           ? at
                           : Value(arith::IndexCastOp::create(b, element, at)));
  }
  setElements(op.getResult(), elements);
}

LogicalResult SimtLowering::lowerBroadcast(tile::BroadcastOp op) {
  TileLayout layout = layoutOf(op.getResult());
  if (!isTile(op.getInput())) {
    setElements(op.getResult(), SmallVector<Value>(layout.numRegisters(),
                                                   mapped(op.getInput())));
    return success();
  }
  TileLayout source = layoutOf(op.getInput());
  SmallVector<int64_t> dims;
  for (unsigned dim = 0; dim < layout.rank(); ++dim)
    dims.push_back(source.size(dim) == 1 ? -1 : int64_t(dim));
  if (!inSameThreads(source, layout, dims))
    return op.emitOpError("expects its rows and columns in the threads that "
                          "have the result's");
  std::map<Coord, unsigned> table = registerTable(source);
  SmallVector<Value> from(elementsOf(op.getInput())), elements;
  for (int64_t reg = 0; reg < layout.numRegisters(); ++reg) {
    Coord at = coordOf(layout, reg);
    for (unsigned dim = 0; dim < layout.rank(); ++dim)
      if (source.size(dim) == 1)
        at[dim] = 0;
    auto it = table.find(at);
    if (it == table.end())
      return op.emitOpError("expects its rows and columns in the threads that "
                            "have the result's");
    elements.push_back(from[it->second]);
  }
  setElements(op.getResult(), elements);
  return success();
}

LogicalResult SimtLowering::lowerConvert(ConvertOp op) {
  TileLayout from = layoutOf(op.getInput()), to = layoutOf(op.getResult());
  auto plan = planConversion(from.base, to.base);
  if (!plan || plan->kind > ConversionPlan::Registers ||
      from.repeat != to.repeat)
    return op.emitOpError("expects a conversion inside each thread");
  if (plan->kind == ConversionPlan::Identity) {
    tiles[op.getResult()] = tiles[op.getInput()];
    return success();
  }
  SmallVector<Value> source(elementsOf(op.getInput())), elements;
  int64_t base = to.base.count(Axis::Register);
  for (int64_t reg = 0; reg < to.numRegisters(); ++reg) {
    Place place = plan->sourceOf(Place::registers(reg % base, 0, 0));
    elements.push_back(source[reg / base * base + place[Axis::Register]]);
  }
  setElements(op.getResult(), elements);
  return success();
}

//===----------------------------------------------------------------------===//
// Registers
//===----------------------------------------------------------------------===//

void SimtLowering::setElements(Value tile, SmallVector<Value> elements) {
  tiles[tile] = {std::move(elements), {}};
}

void SimtLowering::setPacked(Value tile, SmallVector<Value> packed) {
  tiles[tile] = {{}, std::move(packed)};
}

ArrayRef<Value> SimtLowering::elementsOf(Value tile) {
  Registers &registers = tiles[tile];
  if (registers.elements.empty()) {
    Type pair = VectorType::get({2}, typeOf(tile).getElementType());
    SmallVector<Value> elements;
    for (Value word : registers.packed) {
      Value both = LLVM::BitcastOp::create(b, pair, word);
      for (int64_t n : {0, 1})
        elements.push_back(LLVM::ExtractElementOp::create(b, both, i32(n)));
    }
    // Where these are computed need not dominate a later use.
    scratchElements = elements;
    return scratchElements;
  }
  return registers.elements;
}

ArrayRef<Value> SimtLowering::packedOf(Value tile) {
  Registers &registers = tiles[tile];
  if (!registers.packed.empty())
    return registers.packed;
  Type pair = VectorType::get({2}, typeOf(tile).getElementType());
  scratchPacked.clear();
  for (size_t n = 0; n < registers.elements.size(); n += 2) {
    Value both = LLVM::PoisonOp::create(b, pair);
    for (int64_t half : {0, 1})
      both = LLVM::InsertElementOp::create(
          b, both, registers.elements[n + half], i32(half));
    scratchPacked.push_back(LLVM::BitcastOp::create(b, b.getI32Type(), both));
  }
  return scratchPacked;
}

std::map<Coord, unsigned>
SimtLowering::registerTable(const TileLayout &layout) {
  std::map<Coord, unsigned> table;
  for (int64_t reg = 0; reg < layout.numRegisters(); ++reg)
    table.try_emplace(coordOf(layout, reg), reg);
  return table;
}

//===----------------------------------------------------------------------===//
// Threads
//===----------------------------------------------------------------------===//

bool SimtLowering::inSameThreads(const TileLayout &source,
                                 const TileLayout &result,
                                 ArrayRef<int64_t> dims) {
  for (Axis axis : {Axis::Lane, Axis::Warp}) {
    if (source.base.bits(axis) != result.base.bits(axis))
      return false;
    for (unsigned bit = 0; bit < result.base.bits(axis); ++bit)
      for (auto [dim, from] : llvm::enumerate(dims))
        if (from >= 0 && source.base.basis(axis, bit)[from] !=
                             result.base.basis(axis, bit)[dim])
          return false;
  }
  return true;
}

Value SimtLowering::threadLinear(ArrayRef<uint32_t> bases) {
  Value &known = linears[bases.vec()];
  if (known)
    return known;
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointAfter(entryEnd);
  Value sum;
  // Runs of bits that step on by powers of two are one mask and one shift.
  for (size_t bit = 0; bit < bases.size();) {
    if (!bases[bit]) {
      ++bit;
      continue;
    }
    size_t end = bit + 1;
    while (end < bases.size() && bases[end] == bases[end - 1] * 2)
      ++end;
    Value bits = arith::ShRUIOp::create(b, thread, i32(bit));
    bits = arith::AndIOp::create(b, bits, i32((1u << (end - bit)) - 1));
    Value term = arith::MulIOp::create(b, bits, i32(bases[bit]));
    sum = sum ? Value(arith::XOrIOp::create(b, sum, term)) : term;
    bit = end;
  }
  known = sum ? sum : i32(0);
  entryEnd = known.getDefiningOp();
  return known;
}

Value SimtLowering::threadCoord(const TileLayout &layout, unsigned dim) {
  SmallVector<uint32_t> bases;
  for (Axis axis : {Axis::Lane, Axis::Warp})
    for (unsigned bit = 0; bit < layout.base.bits(axis); ++bit)
      bases.push_back(layout.base.basis(axis, bit)[dim]);
  return arith::IndexCastUIOp::create(b, b.getIndexType(), threadLinear(bases));
}

Value SimtLowering::coordinate(const TileLayout &layout, unsigned reg,
                               unsigned dim) {
  int32_t own = coordOf(layout, reg)[dim];
  uint32_t threads = 0;
  for (Axis axis : {Axis::Lane, Axis::Warp})
    for (unsigned bit = 0; bit < layout.base.bits(axis); ++bit)
      threads |= layout.base.basis(axis, bit)[dim];
  Value at = threadCoord(layout, dim);
  if (own & threads)
    return arith::XOrIOp::create(b, at, index(own));
  return own ? Value(arith::AddIOp::create(b, at, index(own))) : at;
}

Value SimtLowering::isFirstCopy(const TileLayout &layout) {
  uint32_t copies =
      copyBits(layout.base, Axis::Lane) | copyBits(layout.base, Axis::Warp)
                                              << layout.base.bits(Axis::Lane);
  if (!copies)
    return {};
  Value bits = arith::AndIOp::create(b, thread, i32(copies));
  return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, bits, i32(0));
}

//===----------------------------------------------------------------------===//
// Small helpers
//===----------------------------------------------------------------------===//

Value SimtLowering::index(int64_t value) {
  return arith::ConstantIndexOp::create(b, value);
}

Value SimtLowering::i32(int64_t value) {
  return arith::ConstantOp::create(b, b.getI32IntegerAttr(int32_t(value)));
}

Type SimtLowering::sharedPointer() {
  return LLVM::LLVMPointerType::get(b.getContext(), /*addressSpace=*/3);
}
