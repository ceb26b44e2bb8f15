//===- NvidiaLowering.cpp - the function, exchanges -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NvidiaLowering.h"

#include "../KernelAbi/KernelAbi.h"
#include "fa/Conversion/TileGPUToNVVM.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace fa;
using namespace fa::tgpu;

NvidiaLowering::NvidiaLowering(tile::KernelOp kernel, bool convertsNarrow)
    : SimtLowering(kernel), convertsNarrow(convertsNarrow) {
  sharedName = sharedSymbol;
}

//===----------------------------------------------------------------------===//
// The function
//===----------------------------------------------------------------------===//

int64_t NvidiaLowering::clusterBlocks() const {
  auto blocks =
      kernel->getAttrOfType<IntegerAttr>(TileGPUDialect::clusterAttrName);
  return blocks ? blocks.getInt() : 1;
}

/// One parameter, the words of the arguments by value, then the tensor maps.
void NvidiaLowering::declareFunction() {
  MLIRContext *context = b.getContext();
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
  if (clusterBlocks() > 1)
    function->setAttr(NVVM::NVVMDialect::getClusterDimAttrName(),
                      b.getDenseI32ArrayAttr({int32_t(clusterBlocks()), 1, 1}));
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
  function.addEntryBlock(b);
}

/// Of the `warps` warps that this one is one of among the block's, and leaves
/// the thread its number among theirs. The same for all threads of a warp, as
/// branches need it and ptxas is to know.
Value NvidiaLowering::takeWarpNumber() {
  Value number =
      arith::ShRUIOp::create(b, thread, i32(llvm::Log2_64(32 * warps)));
  number = NVVM::ShflOp::create(b, b.getI32Type(), i32(-1), number, i32(0),
                                i32(31), NVVM::ShflKind::idx, UnitAttr());
  thread = arith::AndIOp::create(b, thread, i32(32 * warps - 1));
  return number;
}

/// With roles, the registers of a block are what one block on a processor has:
/// ptxas heeds the exchange of registers only if the function says so.
void NvidiaLowering::numberThreads() {
  int32_t threads = countThreads(kernel);
  thread = threadInBlock = NVVM::ThreadIdXOp::create(b, b.getI32Type());
  if (threads == 32 * warps)
    return;
  if (programsOfBlock(kernel) > 1) {
    warpNumber = takeWarpNumber();
    return;
  }
  if (kernel.getParts() > 1)
    return divideIntoParts();
  function->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(),
                    b.getI32IntegerAttr(1));
  function->setAttr(
      NVVM::NVVMDialect::getMaxnregAttrName(),
      b.getI32IntegerAttr(std::min(65536 / threads / 8 * 8, 248)));
  warpgroup = takeWarpNumber();
  kernel.walk([&](ConsumerIdOp id) {
    Value number = arith::SubIOp::create(b, warpgroup, i32(1));
    mapping.map(
        id.getResult(),
        arith::IndexCastOp::create(b, b.getIndexType(), number).getResult());
  });
}

Value NvidiaLowering::blockNumber() {
  return NVVM::BlockIdXOp::create(b, b.getI32Type());
}

LogicalResult NvidiaLowering::lowerTargetOp(Operation *op) {
  auto always = [](auto) { return success(); };
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](CopyOp op) { return always((lowerCopy(op), 0)); })
      .Case([&](RolesOp op) { return lowerRoles(op); })
      .Case([&](TurnsOp op) { return lowerTurns(op); })
      .Case([&](ProgramInOp op) { return lowerProgramIn(op); })
      .Case([&](AnewOp op) { return always((lowerAnew(op), 0)); })
      .Case([&](AcquireOp op) { return always((lowerAcquire(op), 0)); })
      .Case([&](FetchOp op) { return always((lowerFetch(op), 0)); })
      .Case([&](DeliverOp op) { return always((lowerDeliver(op), 0)); })
      .Case([&](PutOp op) { return always((lowerPut(op), 0)); })
      .Case([&](SendOp op) { return always((lowerSend(op), 0)); })
      .Case([&](OrderWaitOp op) { return always((lowerOrderWait(op), 0)); })
      .Case([&](OrderArriveOp op) { return always((lowerOrderArrive(op), 0)); })
      .Case([&](AwaitOp op) { return always((lowerAwait(op), 0)); })
      .Case([&](ReceiveOp op) { return always((lowerReceive(op), 0)); })
      .Case([&](ReleaseOp op) { return always((lowerRelease(op), 0)); })
      .Case([&](ExchangeOp op) { return always((lowerExchange(op), 0)); })
      .Case([&](DotStartOp op) { return always((lowerDotStart(op), 0)); })
      .Case([&](DotWaitOp op) {
        lowerDotWait(op);
        return checkRamp(op);
      })
      .Case([&](CommitOp) {
        return always((NVVM::CpAsyncCommitGroupOp::create(b), 0));
      })
      .Case([&](WaitOp op) {
        return always(
            (NVVM::CpAsyncWaitGroupOp::create(b, op.getPending()), 0));
      })
      .Case([&](MergePartsOp op) { return lowerMergeParts(op); })
      .Case([&](BarrierOp) { return always((lowerBarrier(), 0)); })
      .Case([&](BeginNextOp) {
        return always((NVVM::GriddepcontrolOp::create(
                           b, NVVM::GridDepActionKind::launch_dependents),
                       0));
      })
      .Case([&](AwaitKernelOp) {
        return always(
            (NVVM::GriddepcontrolOp::create(b, NVVM::GridDepActionKind::wait),
             0));
      })
      .Default([&](Operation *op) { return SimtLowering::lowerTargetOp(op); });
}

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

/// Of the threads that run the same: a part is a warp.
void NvidiaLowering::lowerBarrier() {
  if (part)
    NVVM::SyncWarpOp::create(b, i32(-1));
  else
    NVVM::Barrier0Op::create(b);
}

/// ex2.approx.ftz: 2 ulp, and what attention is made of.
Value NvidiaLowering::exp2(Value x) { return LLVM::Exp2Op::create(b, x); }

Value NvidiaLowering::log2(Value x) {
  return LLVM::CallIntrinsicOp::create(
             b, b.getF32Type(), b.getStringAttr("llvm.nvvm.lg2.approx.ftz.f"),
             x)
      .getResult(0);
}

/// From each lane its own: what ptxas would read again instead of keeping it is
/// the special register.
Value NvidiaLowering::readThread() {
  Value number = shuffleXor(threadInBlock, 0);
  return warpgroup || part
             ? Value(arith::AndIOp::create(b, number, i32(32 * warps - 1)))
             : number;
}

Value NvidiaLowering::shuffleXor(Value value, uint32_t mask) {
  return NVVM::ShflOp::create(b, value.getType(), i32(-1), value, i32(mask),
                              i32(31), NVVM::ShflKind::bfly, UnitAttr());
}

Value NvidiaLowering::anyLane(Value condition) {
  return NVVM::VoteSyncOp::create(b, b.getI1Type(), i32(-1), condition,
                                  NVVM::VoteSyncKind::any);
}

Value NvidiaLowering::hide(Value number) {
  bool isWide = number.getType().isInteger(64);
  auto hidden = LLVM::InlineAsmOp::create(
      b, number.getType(), number, "", isWide ? "=l,0" : "=r,0",
      /*has_side_effects=*/true, /*is_align_stack=*/false,
      LLVM::TailCallKind::None, LLVM::AsmDialectAttr(), ArrayAttr());
  return hidden.getRes();
}

/// Pairs of bf16, whose bits are the upper ones of f32: ptxas would convert
/// them in the unit that computes exponents.
bool NvidiaLowering::widenPairs(arith::ExtFOp op) {
  Registers &registers = tiles[op.getIn()];
  if (registers.packed.empty() || !getElementTypeOrSelf(op.getIn()).isBF16() ||
      !getElementTypeOrSelf(op.getType()).isF32())
    return false;
  SmallVector<Value> elements;
  for (Value pair : SmallVector<Value>(registers.packed))
    for (Value bits : {Value(arith::ShLIOp::create(b, pair, i32(16))),
                       Value(arith::AndIOp::create(b, pair, i32(0xffff0000)))})
      elements.push_back(LLVM::BitcastOp::create(b, b.getF32Type(), bits));
  setElements(op.getResult(), elements);
  return true;
}

/// f32 to pairs of 16 bits, in one instruction each.
bool NvidiaLowering::convertPairs(Operation *op) {
  // A dot that reads widens what it reads.
  if (auto read = isa<arith::ExtFOp>(op)
                      ? op->getOperand(0).getDefiningOp<ReadOp>()
                      : ReadOp();
      read && isReadByDot(read))
    return true;
  if (auto extend = dyn_cast<arith::ExtFOp>(op))
    return widenPairs(extend);
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

/// What LLVM knows to be a multiplication would flush denormals, as those of
/// f32 do.
Value NvidiaLowering::scaleHalves(Value halves) {
  constexpr int64_t both256 = 0x5c005c00;
  Value bits = LLVM::BitcastOp::create(b, b.getI32Type(), halves);
  auto product = LLVM::InlineAsmOp::create(
      b, b.getI32Type(), ValueRange{bits, i32(both256)},
      "mul.rn.f16x2 $0, $1, $2;", "=r,r,r",
      /*has_side_effects=*/false, /*is_align_stack=*/false,
      LLVM::TailCallKind::None, LLVM::AsmDialectAttr(), ArrayAttr());
  return LLVM::BitcastOp::create(b, halves.getType(), product.getRes());
}

Value NvidiaLowering::toBfloats(Value halves) {
  SmallVector<Value> wide;
  for (int32_t n : {1, 0}) // the first operand becomes the upper half
    wide.push_back(arith::ExtFOp::create(
        b, b.getF32Type(),
        Value(LLVM::ExtractElementOp::create(b, halves, i32(n)))));
  Value pair = LLVM::CallIntrinsicOp::create(
                   b, VectorType::get({2}, b.getBF16Type()),
                   b.getStringAttr("llvm.nvvm.ff2bf16x2.rn"), wide)
                   .getResult(0);
  return LLVM::BitcastOp::create(b, b.getI32Type(), pair);
}

std::array<Value, 2> NvidiaLowering::widenWord(Value word, bool isAcross,
                                               Type element) {
  // What a conversion takes are neighbours, what computes on bits has them two
  // bytes apart.
  if (isAcross == convertsNarrow) {
    Value bytes =
        LLVM::BitcastOp::create(b, VectorType::get({4}, b.getI8Type()), word);
    bytes = LLVM::ShuffleVectorOp::create(b, bytes, bytes,
                                          ArrayRef<int32_t>{0, 2, 1, 3});
    word = LLVM::BitcastOp::create(b, b.getI32Type(), bytes);
  }
  std::array<Value, 2> words;
  Value pair =
      LLVM::BitcastOp::create(b, VectorType::get({2}, b.getI16Type()), word);
  for (int32_t n : {0, 1}) {
    Value halves;
    if (convertsNarrow) {
      Value codes = LLVM::ExtractElementOp::create(b, pair, i32(n));
      halves = LLVM::CallIntrinsicOp::create(
                   b, VectorType::get({2}, b.getF16Type()),
                   b.getStringAttr("llvm.nvvm.e4m3x2.to.f16x2.rn"), codes)
                   .getResult(0);
    } else {
      Value codes = n ? Value(arith::ShRUIOp::create(b, word, i32(8))) : word;
      halves = widenCodes(arith::AndIOp::create(b, codes, i32(0x00ff00ff)));
    }
    words[n] = asWord(halves, element);
  }
  return words;
}
