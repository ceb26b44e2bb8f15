//===- CompileSteps.h - what compiling for any target takes -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_TARGET_COMPILESTEPS_H
#define FA_LIB_TARGET_COMPILESTEPS_H

#include "fa/Target/Compile.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"

#include <chrono>

namespace fa {

/// Milliseconds since its construction.
class Stopwatch {
public:
  double elapsed() const {
    return std::chrono::duration<double, std::milli>(
               std::chrono::steady_clock::now() - start)
        .count();
  }

private:
  std::chrono::steady_clock::time_point start =
      std::chrono::steady_clock::now();
};

/// Collects errors and, as their explanation, remarks and notes.
class DiagnosticText {
public:
  /// Without `remarks` only what failed is kept.
  explicit DiagnosticText(mlir::MLIRContext *context, bool remarks = true)
      : handler(context, [this, remarks](mlir::Diagnostic &diagnostic) {
          if (!remarks &&
              diagnostic.getSeverity() == mlir::DiagnosticSeverity::Remark)
            return mlir::success();
          llvm::raw_string_ostream out(text);
          if (!text.empty())
            out << "\n";
          if (!mlir::isa<mlir::UnknownLoc>(diagnostic.getLocation()))
            out << diagnostic.getLocation() << ": ";
          out << diagnostic;
          return mlir::success();
        }) {}

  /// What was reported, and then `conclusion`.
  llvm::Error take(llvm::StringRef conclusion) {
    return llvm::createStringError(
        (llvm::Twine(text) + (text.empty() ? "" : "\n") + conclusion).str());
  }

private:
  std::string text;
  mlir::ScopedDiagnosticHandler handler;
};

/// Tells the caller that `phase` begins; a CancelledError if it wants no more.
llvm::Error beginPhase(const CompileOptions &options, llvm::StringRef phase);

/// Loads the dialects that the passes of `build` make: side by side they
/// cannot.
void loadDialects(mlir::MLIRContext *context,
                  llvm::function_ref<void(mlir::OpPassManager &)> build);

/// Calls `run` with each number below `count`, side by side on all cores,
/// though contexts here have no threads of their own. What fails is reported to
/// the context's handlers, in the order of the numbers.
llvm::LogicalResult
runSideBySide(mlir::MLIRContext *context, size_t count,
              llvm::function_ref<llvm::LogicalResult(size_t)> run);

/// Runs what `build` adds to a pass manager. The module is verified after each
/// pass or, if `verifyEach` is false, after the last.
llvm::LogicalResult
tryPasses(mlir::ModuleOp module,
          llvm::function_ref<void(mlir::OpPassManager &)> build,
          bool verifyEach = true);

/// The same without a verification: the caller's is yet to come.
llvm::LogicalResult
tryUnverified(mlir::ModuleOp module,
              llvm::function_ref<void(mlir::OpPassManager &)> build);

/// `tryPasses` with what was reported as the error's text; `failure` is its
/// end.
llvm::Error runPasses(mlir::ModuleOp module, llvm::StringRef failure,
                      llvm::function_ref<void(mlir::OpPassManager &)> build,
                      bool verifyEach = true);

/// Verifies the module and runs S0 to S3, unless it is at S3 already.
llvm::Error
lowerToKernels(mlir::ModuleOp module,
               llvm::function_ref<void(mlir::OpPassManager &)> build);

/// Whether `arch` is a CPU that there is code for.
llvm::Error checkHostArch(llvm::StringRef arch);

/// S0 to S3 for what `options.arch` names, a GPU or the host.
llvm::Error toKernelsForGpu(mlir::ModuleOp module,
                            const CompileOptions &options);
llvm::Error toKernelsForHost(mlir::ModuleOp module,
                             const CompileOptions &options);

/// Kernels of other entries than `entry` (empty: all), and functions that are
/// references, are not compiled.
llvm::Error keepEntry(mlir::ModuleOp module, llvm::StringRef entry);

/// The module's kernels, each in a module of its own, in their order. What else
/// there is, a constant table say, may be any kernel's: then all stay together,
/// as they do where they are not wanted `apart`.
std::vector<mlir::OwningOpRef<mlir::ModuleOp>>
splitKernels(mlir::ModuleOp module, bool apart = true);

/// What launches must know of the module's kernels.
llvm::Expected<std::vector<KernelInfo>> extractKernels(mlir::ModuleOp module);

/// Erases the module's kernels that are not among `wanted` (empty: all are),
/// and what is said of them in `kernels`. An error: none is left.
llvm::Error keepKernels(mlir::ModuleOp module,
                        llvm::ArrayRef<std::string> wanted,
                        std::vector<KernelInfo> &kernels);

/// The code generator for a target.
llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
createTargetMachine(llvm::StringRef triple, llvm::StringRef cpu,
                    llvm::StringRef features,
                    const llvm::TargetOptions &options);

/// The module as LLVM IR, optimised by the passes that `pipeline` names (as for
/// opt; pair-registers is slp-vectorizer for registers of 32 bits, share-bits
/// is ShareBits). `prepare` changes it before that. What the translation
/// reports goes to the context's handlers, as modules may be translated side by
/// side.
llvm::Expected<std::unique_ptr<llvm::Module>>
translate(mlir::ModuleOp module, llvm::LLVMContext &context,
          llvm::TargetMachine &machine,
          llvm::function_ref<void(llvm::Module &)> prepare,
          llvm::StringRef pipeline = "default<O2>");

/// Assembly or an object file.
llvm::Expected<std::string> generate(llvm::Module &module,
                                     llvm::TargetMachine &machine,
                                     llvm::CodeGenFileType form);

/// Textual forms.
std::string print(mlir::ModuleOp module);
std::string print(const llvm::Module &module);

} // namespace fa

#endif // FA_LIB_TARGET_COMPILESTEPS_H
