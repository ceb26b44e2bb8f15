//===- VerifyStage.cpp - simt-verify-stage --------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Conversion/Passes.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Support/DebugStringHelper.h"

using namespace mlir;
using namespace fa;

namespace fa {
#define GEN_PASS_DEF_SIMTVERIFYSTAGE
#include "fa/Conversion/Passes.h.inc"
} // namespace fa

/// A block has at most so many threads, whoever made the card.
static constexpr int64_t kMostThreads = 1024;

/// The extents of the grid, which come before the arguments.
static constexpr unsigned kExtentWords = 3;

//===----------------------------------------------------------------------===//
// S8
//===----------------------------------------------------------------------===//

static bool isTileType(Type type) {
  return isa<TensorType>(type) || type.getDialect().getNamespace() == "tgpu";
}

/// Names of dialects, not their classes: of hosts there is no tgpu.
static std::string checkSimt(Operation *op) {
  StringRef dialect = op->getName().getDialectNamespace();
  bool isSimt = op->getName().getStringRef().starts_with("tgpu.simt.");
  if (dialect == "tile" || (dialect == "tgpu" && !isSimt))
    return "expected what one thread does, found an operation on tiles";
  auto check = [](TypeRange types) -> std::string {
    auto tile = llvm::find_if(types, isTileType);
    return tile == types.end()
               ? ""
               : "expected scalars and vectors of one thread, found " +
                     debugString(*tile);
  };
  std::string problem = check(op->getResultTypes());
  for (Region &region : op->getRegions())
    for (Block &block : region)
      if (problem.empty())
        problem = check(block.getArgumentTypes());
  return problem;
}

//===----------------------------------------------------------------------===//
// S9
//===----------------------------------------------------------------------===//

/// What is wrong with the number of threads that `kernel` says.
static std::string checkThreads(LLVM::LLVMFuncOp kernel, StringRef attribute) {
  auto sizes = kernel->getAttrOfType<DenseI32ArrayAttr>(attribute);
  if (!sizes)
    return "expected the threads of a block as '" + attribute.str() + "'";
  int64_t threads = 1;
  for (int32_t size : sizes.asArrayRef())
    threads *= size;
  if (threads < 1 || threads > kMostThreads)
    return "expected 1 to " + std::to_string(kMostThreads) +
           " threads of a block, found " + std::to_string(threads);
  return "";
}

/// What is wrong with the first argument of `kernel`, which is to point to all
/// words of the launch.
static std::string checkWords(LLVM::LLVMFuncOp kernel, StringRef attribute) {
  TypeAttr found;
  if (kernel.getNumArguments())
    found = kernel.getArgAttrOfType<TypeAttr>(0, attribute);
  auto words =
      found ? dyn_cast<LLVM::LLVMArrayType>(found.getValue()) : nullptr;
  if (!words || !words.getElementType().isInteger(64) ||
      words.getNumElements() < kExtentWords)
    return "expected a first argument with '" + attribute.str() + "' of " +
           std::to_string(kExtentWords) + " words of 64 bits or more, found " +
           (found ? debugString(found.getValue()) : std::string("none"));
  return "";
}

/// What is wrong with a function of the host that runs a program: its place on
/// three axes, the words and scratch memory.
static std::string checkHostKernel(LLVM::LLVMFuncOp kernel,
                                   IntegerAttr scratch) {
  if (scratch.getInt() < 0)
    return "expected bytes of scratch memory, found " +
           std::to_string(scratch.getInt());
  ArrayRef<Type> types = kernel.getFunctionType().getParams();
  bool fits = types.size() == kExtentWords + 2 &&
              llvm::all_of(types.take_front(kExtentWords),
                           [](Type type) { return type.isInteger(64); }) &&
              llvm::all_of(types.drop_front(kExtentWords),
                           llvm::IsaPred<LLVM::LLVMPointerType>);
  return fits ? ""
              : "expected three i64 and two pointers, found " +
                    debugString(kernel.getFunctionType());
}

static std::string checkFunction(LLVM::LLVMFuncOp function) {
  if (function.isExternal() || SymbolTable::getSymbolVisibility(function) !=
                                   SymbolTable::Visibility::Public)
    return "";
  if (auto scratch = function->getAttrOfType<IntegerAttr>("fa.scratch_bytes"))
    return checkHostKernel(function, scratch);
  bool isNvidia = function->hasAttr("nvvm.kernel");
  if (!isNvidia && !function->hasAttr("rocdl.kernel"))
    return "expected a kernel, found none of 'nvvm.kernel', 'rocdl.kernel' and "
           "'fa.scratch_bytes'";
  std::string problem = checkThreads(
      function, isNvidia ? "nvvm.reqntid" : "rocdl.reqd_work_group_size");
  return problem.empty()
             ? checkWords(function, isNvidia ? "llvm.byval" : "llvm.byref")
             : problem;
}

static std::string checkLaunch(Operation *op) {
  StringRef dialect = op->getName().getDialectNamespace();
  if (!isa<ModuleOp>(op) &&
      !llvm::is_contained({"llvm", "nvvm", "rocdl"}, dialect))
    return "expected the LLVM dialect and a vendor's alone";
  auto function = dyn_cast<LLVM::LLVMFuncOp>(op);
  return function ? checkFunction(function) : "";
}

namespace {

struct SimtVerifyStage final : fa::impl::SimtVerifyStageBase<SimtVerifyStage> {
  using SimtVerifyStageBase::SimtVerifyStageBase;

  void runOnOperation() override {
    bool isSimt = stage == ThreadStage::S8;
    bool good = true;
    getOperation().walk([&](Operation *op) {
      std::string problem = isSimt ? checkSimt(op) : checkLaunch(op);
      if (problem.empty())
        return;
      good = false;
      // The operation itself, with its regions, may be a whole kernel.
      emitError(op->getLoc())
          << "'" << op->getName() << "' op not at "
          << (isSimt ? "stage S8 (simt)" : "stage S9 (launch)") << ": "
          << problem;
    });
    if (!good)
      signalPassFailure();
  }
};

} // namespace
