//===- Compile.h - a program to an artifact ---------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_TARGET_COMPILE_H
#define FA_TARGET_COMPILE_H

#include "fa/Fusion/Passes.h"
#include "fa/Plan/Constraints.h"
#include "fa/Target/Artifact.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/Error.h"

#include <functional>

namespace fa {

struct CompileOptions {
  /// "host", a CPU that LLVM knows, or an architecture of NVIDIA (sm_80, ...)
  /// or AMD (gfx942, ...).
  std::string arch = "host";
  PlanConstraints asked; ///< of the plans of kernels
  /// The digest of the entry of a tuning table that chose `asked`; "": none
  /// did.
  std::string tuning;
  /// Dies of the AMD card, each with a cache of its own; 0: as many as the
  /// largest card of `arch` has. With another number all computes the same.
  int64_t dies = 0;
  /// The assembler for NVIDIA: a path, "" for the first `ptxas` on PATH, "none"
  /// to leave PTX to the driver.
  std::string ptxas;
  /// Compile what `arch` runs for the emulator on this machine.
  bool emulate = false;
  /// The CPU that runs the emulator's code, as `arch` names one: "host" or a
  /// CPU that LLVM knows, of which this machine has all features.
  std::string hostCpu = "host";
  /// A fault to plant in a GPU program, to see it found (`tgpu-mutate`); "":
  /// none.
  std::string mutate;
  FusionOptions fusion;
  /// Lines "@KERNEL plan<...>": schedules of kernels of a GPU that are not
  /// chosen but given; "": none.
  std::string plans;
  /// Symbols of the kernels to be compiled, of those that `planKernels` gives;
  /// empty: all.
  std::vector<std::string> kernels;
  /// Called as a phase begins ("fusion", "lowering", "optimization",
  /// "assembly") and now and then while the assembler runs; false cancels the
  /// compilation, whose error is then a CancelledError. Empty: runs through.
  std::function<bool(llvm::StringRef phase)> progress;
};

/// A compilation that its caller did not want any more.
class CancelledError : public llvm::ErrorInfo<CancelledError> {
public:
  static char ID;
  void log(llvm::raw_ostream &out) const override;
  std::error_code convertToErrorCode() const override;
};

/// Forms in which a program can be looked at on its way.
enum class Emit {
  Tile,
  Kernel,
  Plan,
  TileGPU,
  LLVM,
  Asm,
  Object,
  PTX,
  Cubin,
  Hsaco
};

/// Registers every dialect that a program or its compilation uses, and the
/// translations to LLVM IR.
void registerDialects(mlir::DialectRegistry &registry);

/// `compilePlanned` for the host, whose kernels are at S3 then.
llvm::Expected<Artifact> compileForHost(mlir::ModuleOp module,
                                        std::vector<KernelInfo> kernels,
                                        const CompileOptions &options);

/// `emitPlanned` for the host.
llvm::Expected<std::string> emitForHost(mlir::ModuleOp module,
                                        std::vector<KernelInfo> kernels,
                                        const CompileOptions &options,
                                        Emit form);

/// The same for an NVIDIA architecture, from S7. The artifact has PTX and,
/// where there is an assembler, a cubin.
llvm::Expected<Artifact> compileForNvidia(mlir::ModuleOp module,
                                          std::vector<KernelInfo> kernels,
                                          const CompileOptions &options);
llvm::Expected<std::string> emitForNvidia(mlir::ModuleOp module,
                                          std::vector<KernelInfo> kernels,
                                          const CompileOptions &options,
                                          Emit form);

/// The same for an AMD architecture. The artifact has a code object.
llvm::Expected<Artifact> compileForAmd(mlir::ModuleOp module,
                                       std::vector<KernelInfo> kernels,
                                       const CompileOptions &options);
llvm::Expected<std::string> emitForAmd(mlir::ModuleOp module,
                                       std::vector<KernelInfo> kernels,
                                       const CompileOptions &options,
                                       Emit form);

/// `planKernels` for a GPU, and for the host.
llvm::Expected<std::vector<KernelInfo>>
planForGpu(mlir::ModuleOp module, llvm::StringRef entry,
           const CompileOptions &options);
llvm::Expected<std::vector<KernelInfo>>
planForHost(mlir::ModuleOp module, llvm::StringRef entry,
            const CompileOptions &options);

/// `compilePlanned` for the emulator.
llvm::Expected<Artifact> compileForEmulator(mlir::ModuleOp module,
                                            std::vector<KernelInfo> kernels,
                                            const CompileOptions &options);

/// The last step of that alone: `module` is at S8; fills the code, for
/// `hostCpu` as in CompileOptions, and its sites.
llvm::Error lowerForEmulator(mlir::ModuleOp module, llvm::StringRef hostCpu,
                             Artifact &artifact);

/// Whether `arch` is spelt as an NVIDIA architecture ("sm_...").
bool isNvidiaArch(llvm::StringRef arch);

/// Whether `arch` is spelt as an AMD architecture ("gfx...").
bool isAmdArch(llvm::StringRef arch);

/// Compiles the kernels of `entry` for what `options.arch` names. `module` is
/// at S0 or S3 and is transformed in place. What the passes report is the
/// error's text.
llvm::Expected<Artifact> compile(mlir::ModuleOp module, llvm::StringRef entry,
                                 const CompileOptions &options);
/// The same as far as `form`, which is the result: text, or the bytes of a
/// file. Tile and Kernel show all kernels, other forms those that
/// `options.kernels` names.
llvm::Expected<std::string> emit(mlir::ModuleOp module, llvm::StringRef entry,
                                 const CompileOptions &options, Emit form);

/// What launches must know of the kernels that `compile` with the same options
/// would give, found out without generating code; `options.kernels` is not
/// looked at. What the host's lowering and the assembler say is missing.
/// `module` is left on its way, for `compilePlanned`.
llvm::Expected<std::vector<KernelInfo>>
planKernels(mlir::ModuleOp module, llvm::StringRef entry,
            const CompileOptions &options);

/// What `planKernels` gave and left of a program.
struct PlannedProgram {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::vector<KernelInfo> kernels;
};

/// The rest of `compile`: code for those of `kernels` that `options.kernels`
/// names. `module` is as `planKernels` left it with the same options but
/// `kernels`.
llvm::Expected<Artifact> compilePlanned(mlir::ModuleOp module,
                                        std::vector<KernelInfo> kernels,
                                        const CompileOptions &options);

/// The rest of `emit`, likewise: `form` is none of Tile and Kernel.
llvm::Expected<std::string> emitPlanned(mlir::ModuleOp module,
                                        std::vector<KernelInfo> kernels,
                                        const CompileOptions &options,
                                        Emit form);

/// What makes code of an architecture's instructions with these options: the
/// version of ptxas, which is run for that, "driver" where there is none, or
/// LLVM's.
llvm::Expected<std::string> assemblerVersion(const CompileOptions &options);

/// The version of LLVM in this program.
llvm::StringRef llvmVersion();

} // namespace fa

#endif // FA_TARGET_COMPILE_H
