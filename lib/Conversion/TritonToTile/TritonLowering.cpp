//===- TritonLowering.cpp - the function, and the walk over it ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TritonLowering.h"

#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fa;

TritonLowering::TritonLowering(triton::FuncOp func)
    : func(func), b(func.getLoc(), func.getContext()) {}

InFlightDiagnostic TritonLowering::refuse(Operation *op, const Twine &why) {
  return op->emitOpError("in kernel @") << func.getSymName() << ": " << why;
}

//===----------------------------------------------------------------------===//
// The function
//===----------------------------------------------------------------------===//

/// Whether anything is read through, or written through, what comes of
/// `pointer`.
static std::pair<bool, bool> findUses(Value pointer) {
  bool read = false, written = false;
  SmallVector<Value> work = {pointer};
  llvm::DenseSet<Value> seen;
  while (!work.empty()) {
    Value value = work.pop_back_val();
    if (!seen.insert(value).second)
      continue;
    for (OpOperand &use : value.getUses()) {
      Operation *user = use.getOwner();
      bool stores = isa<triton::StoreOp, triton::DescriptorStoreOp>(user) &&
                    use.getOperandNumber() == 0;
      bool adds = isa<triton::AtomicRMWOp>(user) && use.getOperandNumber() == 0;
      written |= stores || adds;
      read |= isa<triton::LoadOp, triton::DescriptorLoadOp>(user) || adds;
      if (stores || adds || isa<triton::LoadOp, triton::DescriptorLoadOp>(user))
        continue;
      if (!forCarried(use, [&](Value next) { work.push_back(next); }))
        llvm::append_range(work, user->getResults());
    }
  }
  return {read, written};
}

/// The type of a pointer argument: all of its elements, one after the other.
static MemRefType memoryOf(triton::PointerType pointer) {
  return MemRefType::get({ShapedType::kDynamic}, pointer.getPointeeType());
}

/// Whether memory of such elements can be a kernel's argument.
static bool isElement(Type type) {
  return type.isF16() || type.isBF16() || type.isF32() || type.isInteger(32) ||
         type.isInteger(64);
}

LogicalResult TritonLowering::createKernel() {
  SmallVector<Type> types;
  SmallVector<Attribute> attributes;
  auto accessOf = [&](tile::Access access) {
    return NamedAttribute(b.getStringAttr(tile::KernelOp::accessAttrName),
                          tile::AccessAttr::get(b.getContext(), access));
  };
  for (BlockArgument argument : func.getArguments()) {
    Type type = argument.getType();
    if (auto pointer = dyn_cast<triton::PointerType>(type)) {
      if (!isElement(pointer.getPointeeType()))
        return emitError(argument.getLoc())
               << "kernel @" << func.getSymName() << ": argument "
               << argument.getArgNumber()
               << " points to elements that no kernel has: " << type;
      auto [read, written] = findUses(argument);
      types.push_back(memoryOf(pointer));
      attributes.push_back(
          b.getDictionaryAttr(accessOf(!written ? tile::Access::In
                                       : read   ? tile::Access::InOut
                                                : tile::Access::Out)));
      continue;
    }
    if (!type.isIntOrIndexOrFloat())
      return emitError(argument.getLoc())
             << "kernel @" << func.getSymName() << ": argument "
             << argument.getArgNumber() << " is what no kernel has: " << type;
    types.push_back(type);
    attributes.push_back(b.getDictionaryAttr({}));
  }
  // A launch says the grid: the sizes of one more argument, without data.
  constexpr int64_t any = ShapedType::kDynamic;
  auto number = static_cast<int64_t>(types.size());
  types.push_back(MemRefType::get(
      {any, any, any}, b.getF32Type(),
      StridedLayoutAttr::get(b.getContext(), 0,
                             ArrayRef<int64_t>{any, any, any})));
  attributes.push_back(b.getDictionaryAttr(accessOf(tile::Access::In)));
  kernel = tile::KernelOp::create(
      b, func.getSymName(), b.getFunctionType(types, {}),
      AffineMap::get(0, 3,
                     {b.getAffineSymbolExpr(0), b.getAffineSymbolExpr(1),
                      b.getAffineSymbolExpr(2)},
                     b.getContext()),
      ArrayRef<int64_t>{number, 0, number, 1, number, 2}, ArrayAttr(),
      StringAttr(), FlatSymbolRefAttr(), false, b.getArrayAttr(attributes),
      ArrayAttr());
  Block *body = b.createBlock(&kernel.getBody());
  for (Type type : types)
    body->addArgument(type, func.getLoc());
  for (auto [from, to] : llvm::zip(func.getArguments(), body->getArguments())) {
    if (isa<MemRefType>(to.getType()))
      addresses[from] = {to, {math.constant(0), {}}, {}};
    else
      values.map(from, to);
  }
  for (BlockArgument argument : func.getArguments())
    lowerDivisibility(argument);
  return success();
}

/// tt.divisibility: what Triton took a pointer or a number for a multiple of.
void TritonLowering::lowerDivisibility(BlockArgument argument) {
  unsigned number = argument.getArgNumber();
  auto promised = func.getArgAttrOfType<IntegerAttr>(number, "tt.divisibility");
  if (!promised || promised.getInt() <= 1)
    return;
  b.setLoc(argument.getLoc());
  Value given = kernel.getBody().getArgument(number);
  if (isa<MemRefType>(given.getType()))
    given = memref::ExtractAlignedPointerAsIndexOp::create(b, given);
  else if (!isa<IntegerType>(given.getType()))
    return;
  auto constant = [&](int64_t value) {
    return arith::ConstantOp::create(b,
                                     b.getIntegerAttr(given.getType(), value));
  };
  Value rest = arith::RemUIOp::create(b, given, constant(promised.getInt()));
  Value holds =
      arith::CmpIOp::create(b, arith::CmpIPredicate::eq, rest, constant(0));
  tile::AssertOp::create(b, holds,
                         "argument " + std::to_string(number) +
                             " is a multiple of " +
                             std::to_string(promised.getInt()),
                         /*promise=*/true);
}

LogicalResult TritonLowering::run() {
  if (!func.getResultTypes().empty())
    return refuse(func, "expected a function without results");
  b.setInsertionPoint(func);
  findReduced();
  findComputed();
  if (failed(createKernel()) || failed(lowerBody())) {
    if (kernel)
      kernel.erase();
    return failure();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// The walk
//===----------------------------------------------------------------------===//

/// Whether nothing but a return is in `block`.
static bool onlyReturns(Block *block) {
  return isa<triton::ReturnOp>(block->front());
}

/// Blocks in which a return comes early, one after the other.
LogicalResult TritonLowering::lowerBody() {
  Block *block = &func.getBody().front();
  while (true) {
    if (failed(lowerBlock(*block)))
      return failure();
    Operation *end = block->getTerminator();
    b.setLoc(end->getLoc());
    if (isa<triton::ReturnOp>(end))
      return success();
    Block *next = nullptr;
    if (auto jump = dyn_cast<cf::BranchOp>(end)) {
      next = jump.getDest();
    } else if (auto branch = dyn_cast<cf::CondBranchOp>(end)) {
      bool ends = onlyReturns(branch.getTrueDest());
      if (ends || onlyReturns(branch.getFalseDest())) {
        FailureOr<Value> condition = getScalar(end, branch.getCondition());
        if (failed(condition))
          return failure();
        narrowGuard(*condition, !ends);
        next = ends ? branch.getFalseDest() : branch.getTrueDest();
      }
    }
    if (!next || next->getNumArguments() || !next->getSinglePredecessor())
      return refuse(end, "no kernel has branches but an early return");
    block = next;
  }
}

LogicalResult TritonLowering::lowerBlock(Block &block) {
  for (Operation &op : block) {
    b.setLoc(op.getLoc());
    if (failed(lowerOp(&op)))
      return failure();
  }
  return success();
}

static std::optional<int64_t> axisOf(StringRef axis) {
  int64_t n = StringRef("xyz").find(axis);
  return axis.size() == 1 && n >= 0 ? std::optional(n) : std::nullopt;
}

LogicalResult TritonLowering::lowerOp(Operation *op) {
  using namespace triton;
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](triton::ReturnOp) {
        tile::ReturnOp::create(b);
        return success();
      })
      // Their loop, or the walk, sees to them.
      .Case<scf::YieldOp, scf::ConditionOp, cf::BranchOp, cf::CondBranchOp>(
          [&](auto) { return success(); })
      .Case([&](GetProgramIdOp op) {
        std::optional<int64_t> axis = axisOf(op.getAxis());
        if (!axis)
          return LogicalResult(refuse(op, "expected x, y or z"));
        return lowerProgram(op, tile::ProgramIdOp::create(b, *axis));
      })
      .Case([&](GetNumProgramsOp op) {
        std::optional<int64_t> axis = axisOf(op.getAxis());
        if (!axis)
          return LogicalResult(refuse(op, "expected x, y or z"));
        return lowerProgram(op, tile::NumProgramsOp::create(b, *axis));
      })
      .Case([&](MakeRangeOp op) {
        integers[op] = {math.constant(static_cast<int32_t>(op.getStart())),
                        {math.constant(1)}};
        return success();
      })
      .Case([&](LLVM::AssumeOp op) {
        return lowerAssert(op, op.getCond(), "tl.assume", /*promise=*/true);
      })
      .Case([&](triton::AssertOp op) {
        return lowerAssert(op, op.getCondition(), op.getMessage(),
                           /*promise=*/false);
      })
      .Case([&](arith::ConstantOp op) { return lowerConstant(op); })
      .Case([&](SplatOp op) { return lowerSplat(op); })
      .Case([&](ExpandDimsOp op) { return lowerExpandDims(op); })
      .Case([&](BroadcastOp op) { return lowerBroadcast(op); })
      .Case([&](ReshapeOp op) { return lowerReshape(op); })
      .Case([&](TransOp op) { return lowerTrans(op); })
      .Case([&](DotOp op) { return lowerDot(op); })
      .Case([&](triton::ReduceOp op) { return lowerReduce(op); })
      .Case([&](triton::ScanOp op) { return lowerScan(op); })
      .Case([&](HistogramOp op) { return lowerHistogram(op); })
      .Case([&](ClampFOp op) { return lowerClamp(op); })
      .Case([&](MulhiUIOp op) { return lowerMulhi(op); })
      .Case([&](AddPtrOp op) { return lowerAddPtr(op); })
      .Case([&](MakeTensorPtrOp op) { return lowerMakeTensorPtr(op); })
      .Case([&](AdvanceOp op) { return lowerAdvance(op); })
      .Case([&](MakeTensorDescOp op) { return lowerMakeDescriptor(op); })
      .Case([&](triton::LoadOp op) { return lowerLoad(op); })
      .Case([&](triton::StoreOp op) { return lowerStore(op); })
      .Case([&](triton::AtomicRMWOp op) { return lowerAtomic(op); })
      .Case([&](DescriptorLoadOp op) { return lowerDescriptorLoad(op); })
      .Case([&](DescriptorStoreOp op) { return lowerDescriptorStore(op); })
      .Case([&](scf::ForOp op) { return lowerFor(op); })
      .Case([&](scf::WhileOp op) { return lowerWhile(op); })
      .Case([&](scf::IfOp op) { return lowerIf(op); })
      .Case<PreciseSqrtOp, PreciseDivFOp, ApproxDivFOp, triton::BitcastOp,
            ExternElementwiseOp>(
          [&](Operation *op) { return lowerElementwise(op); })
      .Default([&](Operation *op) -> LogicalResult {
        if (isa<arith::ArithDialect, math::MathDialect>(op->getDialect()) &&
            op->getNumResults() == 1 && op->getNumRegions() == 0)
          return lowerElementwise(op);
        return refuse(op, "is read, and no kernel has it yet");
      });
}
