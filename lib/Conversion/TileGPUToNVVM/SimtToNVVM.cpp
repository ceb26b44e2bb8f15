//===- SimtToNVVM.cpp - convert-tgpu-simt-to-nvvm -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// wgmma.mma_async by inline assembly: the nvvm dialect has no form with a left
// operand in registers. Accumulators are tied from one instruction to the next,
// so that they stay where they are.
//
//===----------------------------------------------------------------------===//

#include "fa/Conversion/Passes.h"

#include "TileGPU/TileGPU.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fa;
using namespace fa::tgpu;

namespace fa {
#define GEN_PASS_DEF_CONVERTTILEGPUSIMTTONVVM
#include "fa/Conversion/Passes.h.inc"
} // namespace fa

/// Replaces `op` by one inline assembly with these operands.
static void replaceByAsm(Operation *op, ValueRange operands, StringRef text,
                         StringRef constraints) {
  ImplicitLocOpBuilder b(op->getLoc(), op);
  TypeRange results = op->getResultTypes();
  Type type;
  if (results.size() == 1)
    type = results.front();
  else if (!results.empty())
    type = LLVM::LLVMStructType::getLiteral(b.getContext(),
                                            SmallVector<Type>(results));
  auto assembly = LLVM::InlineAsmOp::create(
      b, type ? TypeRange(type) : TypeRange(), operands, text, constraints,
      /*has_side_effects=*/true, /*is_align_stack=*/false,
      LLVM::TailCallKind::None, LLVM::AsmDialectAttr(), ArrayAttr());
  if (results.size() == 1)
    op->getResult(0).replaceAllUsesWith(assembly.getRes());
  else
    for (auto [n, result] : llvm::enumerate(op->getResults()))
      result.replaceAllUsesWith(
          LLVM::ExtractValueOp::create(b, assembly.getRes(), int64_t(n)));
  op->erase();
}

/// "{$first, .., $first+count-1}"
static std::string registerList(size_t first, size_t count) {
  std::string text = "{";
  for (size_t n = first; n < first + count; ++n)
    text += (n == first ? "$" : ", $") + std::to_string(n);
  return text + "}";
}

/// `count` times `text`, each followed by a comma.
static std::string repeated(StringRef text, size_t count) {
  std::string all;
  for (size_t n = 0; n < count; ++n)
    all += text.str() + ",";
  return all;
}

//===----------------------------------------------------------------------===//
// Products of a warpgroup
//===----------------------------------------------------------------------===//

static StringRef nameOf(Type element) {
  return llvm::TypeSwitch<Type, StringRef>(element)
      .Case([](Float16Type) { return "f16"; })
      .Case([](BFloat16Type) { return "bf16"; })
      .Case([](Float8E4M3FNType) { return "e4m3"; })
      .Case([](Float8E5M2Type) { return "e5m2"; });
}

static std::string shapeOf(SimtWgmmaOp op) {
  return ("m64n" + Twine(op.getN()) + "k" + Twine(op.getK()) + ".f32." +
          nameOf(op.getElement()) + "." + nameOf(op.getElementOfB()))
      .str();
}

/// The product that adds to the result of `op`, which nothing else uses, with
/// no effects between them; null if there is none.
static SimtWgmmaOp nextOf(SimtWgmmaOp op) {
  auto isUsedOnce = [](Value value) { return value.hasOneUse(); };
  if (!llvm::all_of(op.getResults(), isUsedOnce))
    return {};
  auto next = dyn_cast<SimtWgmmaOp>(*op->user_begin());
  if (!next || next->getBlock() != op->getBlock() ||
      !llvm::equal(next.getAcc(), op.getResults()))
    return {};
  for (Operation *between = op->getNextNode(); between != next;
       between = between->getNextNode())
    if (!isMemoryEffectFree(between))
      return {};
  return next;
}

/// Whether no product comes before `op` in its chain.
static bool isFirst(SimtWgmmaOp op) {
  if (op.getAcc().empty())
    return true;
  auto before = op.getAcc().front().getDefiningOp<SimtWgmmaOp>();
  return !before || nextOf(before) != op;
}

namespace {

/// One assembly for products onto the same accumulators, which are most of the
/// operands and named once for all of them. Descriptors are computed in front
/// of their products, where ptxas needs them: of registers that keep them since
/// the first product it makes uniform ones with an instruction each.
class ProductChain {
public:
  explicit ProductChain(SimtWgmmaOp first) : chain({first}) {
    while (SimtWgmmaOp next = nextOf(chain.back()))
      chain.push_back(next);
  }

  void convert() {
    size_t count = chain.front().getNumResults();
    for (SimtWgmmaOp op : chain)
      append(op);
    // Later products still read their operands when the first one has written.
    std::string constraints =
        repeated(chain.size() == 1 ? "=f" : "=&f", count) + inputs;
    ValueRange accumulators = chain.front().getAcc();
    for (size_t n = 0; n < accumulators.size(); ++n)
      constraints += std::to_string(n) + ",";
    constraints.pop_back();
    llvm::append_range(operands, accumulators);
    if (hasSums)
      text = "{\n.reg .b64 a, b;\n" + text + "\n}";
    replaceByAsm(chain.back(), operands, text, constraints);
    for (SimtWgmmaOp op : llvm::reverse(llvm::ArrayRef(chain).drop_back()))
      op->erase();
  }

private:
  /// "$n", a new operand.
  std::string add(Value value, StringRef constraint) {
    operands.push_back(value);
    inputs += constraint.str() + ",";
    return "$" +
           std::to_string(chain.front().getNumResults() + operands.size() - 1);
  }

  /// "$n", the same for all products of `descriptor`.
  std::string nameOf(Value descriptor) {
    std::string &name = names[descriptor];
    if (name.empty())
      name = add(descriptor, "l");
    return name;
  }

  /// What names a descriptor, computed in `temporary` if it has to be.
  std::string descriptor(Value value, StringRef temporary) {
    APInt units;
    auto sum = value.getDefiningOp<LLVM::AddOp>();
    if (!sum || !matchPattern(sum.getRhs(), m_ConstantInt(&units)))
      return nameOf(value);
    hasSums = true;
    text += ("add.s64 " + temporary + ", " + nameOf(sum.getLhs()) + ", " +
             Twine(units.getSExtValue()) + ";\n")
                .str();
    return temporary.str();
  }

  void append(SimtWgmmaOp op) {
    text += text.empty() ? "" : "\n";
    std::string a;
    if (op.isFromRegisters()) {
      for (Value word : op.getA())
        a += (a.empty() ? "{" : ", ") + add(word, "r");
      a += "}";
    } else {
      a = descriptor(op.getA().front(), "a");
    }
    std::string b = descriptor(op.getB(), "b");
    text += "wgmma.mma_async.sync.aligned." + shapeOf(op) + " " +
            registerList(0, op.getNumResults()) + ", " + a + ", " + b;
    text += op.getAcc().empty() ? ", 0" : ", 1";
    text += ", 1, 1";
    // Operands of 8 bits are never transposed.
    if (tile::isStorageFloat(op.getElement())) {
      text += ";";
      return;
    }
    if (!op.isFromRegisters())
      text += op.getTransposeA() ? ", 1" : ", 0";
    text += op.getTransposeB() ? ", 1;" : ", 0;";
  }

  SmallVector<SimtWgmmaOp> chain;
  SmallVector<Value> operands;
  llvm::DenseMap<Value, std::string> names; ///< of descriptors
  std::string text, inputs;                 ///< inputs: their constraints
  bool hasSums = false;
};

} // namespace

static void convert(SimtWgmmaWaitOp op) {
  size_t count = op.getValues().size();
  std::string constraints = repeated("=f", count);
  for (size_t n = 0; n < count; ++n)
    constraints += std::to_string(n) + ",";
  constraints.pop_back();
  std::string text =
      "wgmma.wait_group.sync.aligned " + std::to_string(op.getPending()) + ";";
  replaceByAsm(op, op.getValues(), text, constraints);
}

//===----------------------------------------------------------------------===//
// Barriers
//===----------------------------------------------------------------------===//

/// A loop around the instruction, which waits a while by itself. One asm keeps
/// ptxas from seeing a loop of ours.
static void convert(SimtWaitPhaseOp op) {
  replaceByAsm(op, op->getOperands(),
               "{\n.reg .pred done;\nAGAIN:\n"
               "mbarrier.try_wait.parity.shared::cta.b64 done, [$0], $1;\n"
               "@done bra DONE;\nbra AGAIN;\nDONE:\n}",
               "r,r");
}

/// The thread of lane r maps the barrier to the block of rank r, if there are
/// several. In scope of a cluster ptxas would wait for all that the thread has
/// written (MEMBAR.ALL.GPU), but what comes before are reads.
static void convert(SimtArriveOp op) {
  StringRef before, lane = "$1", constraints = "r,r";
  if (op.getAfter()) {
    // The third coordinate of a block in a linear grid is 0, which ptxas does
    // not know: the lane's number stays what it is, and depends on the value.
    before = ".reg .b32 none;\nmov.u32 none, %ctaid.z;\n"
             "and.b32 none, none, $2;\nor.b32 none, none, $1;\n";
    lane = "none";
    constraints = "r,r,r";
  }
  std::string begin = ("{\n.reg .pred first;\n" + before).str();
  if (op.getRanks() == 1)
    return replaceByAsm(
        op, op->getOperands(),
        (begin + "setp.eq.u32 first, " + lane +
         ", 0;\n@first mbarrier.arrive.shared::cta.b64 _, [$0];\n}")
            .str(),
        constraints);
  replaceByAsm(op, op->getOperands(),
               (begin + ".reg .b32 remote;\nsetp.lt.u32 first, " + lane + ", " +
                Twine(op.getRanks()) +
                ";\n@first mapa.shared::cluster.u32 remote, $0, " + lane +
                ";\n@first mbarrier.arrive.shared::cluster.b64 _, "
                "[remote];\n}")
                   .str(),
               constraints);
}

/// Upstream makes asm of it. The intrinsic is convergent, so that no pass of
/// LLVM makes two of one.
static void convert(NVVM::BarrierArriveOp op) {
  OpBuilder b(op);
  LLVM::CallIntrinsicOp::create(
      b, op.getLoc(),
      b.getStringAttr("llvm.nvvm.barrier.cta.arrive.aligned.count"),
      op->getOperands());
  op->erase();
}

/// A store of a box by one thread, without a branch: the intrinsic has no
/// predicate.
static void convert(NVVM::CpAsyncBulkTensorSharedCTAToGlobalOp op) {
  size_t rank = op.getCoordinates().size();
  if (!op.getPredicate())
    return;
  SmallVector<Value> operands = {op.getTmaDescriptor(), op.getSrcMem(),
                                 op.getPredicate()};
  llvm::append_range(operands, op.getCoordinates());
  replaceByAsm(op, operands,
               "@$2 cp.async.bulk.tensor." + std::to_string(rank) +
                   "d.global.shared::cta.bulk_group [$0, " +
                   registerList(3, rank) + "], [$1];",
               "l,r,b," + repeated("r", rank) + "~{memory}");
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

/// LLVM's intrinsic touches no memory, so that loads could move before it.
static void convert(NVVM::GriddepcontrolOp op) {
  if (op.getKind() == NVVM::GridDepActionKind::wait)
    replaceByAsm(op, {}, "griddepcontrol.wait;", "~{memory}");
}

/// No card looks.
static void convert(SimtAssertOp op) { op.erase(); }

namespace {

struct ConvertTileGPUSimtToNVVM final
    : fa::impl::ConvertTileGPUSimtToNVVMBase<ConvertTileGPUSimtToNVVM> {
  void runOnOperation() override {
    SmallVector<SimtWgmmaOp> firsts;
    getOperation()->walk([&](SimtWgmmaOp op) {
      if (isFirst(op))
        firsts.push_back(op);
    });
    llvm::for_each(firsts, [](SimtWgmmaOp op) { ProductChain(op).convert(); });
    getOperation()->walk([](Operation *op) {
      llvm::TypeSwitch<Operation *>(op)
          .Case<SimtAssertOp, SimtWgmmaWaitOp, SimtWaitPhaseOp, SimtArriveOp,
                NVVM::BarrierArriveOp, NVVM::GriddepcontrolOp,
                NVVM::CpAsyncBulkTensorSharedCTAToGlobalOp>(
              [](auto op) { convert(op); });
    });
  }
};

} // namespace
