//===- Job.h - one program with its inputs and outputs ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_RUN_JOB_H
#define FA_RUN_JOB_H

#include "Execute.h"
#include "Options.h"

#include "fa/Conversion/RaiseAttention.h"
#include "fa/Fusion/Passes.h"
#include "fa/Interpreter/Interpreter.h"
#include "fa/Numerics/ErrorRule.h"
#include "fa/Numerics/ReferenceBackward.h"
#include "fa/Runtime/CompileCached.h"
#include "fa/Runtime/HostPlan.h"
#include "fa/Runtime/Tuning.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <functional>

namespace fa::run {

/// The function of a file whose gradients are run, as it was.
struct ForwardFunction {
  mlir::OwningOpRef<mlir::ModuleOp> module; ///< asks for no gradients
  std::string name;
  size_t numArguments = 0, numResults = 0;
  std::vector<HostTensor> results; ///< in float64; empty until one is needed
  std::vector<HostTensor> given;   ///< those of --in; empty: none is
};

/// What is run: the module, its arguments, and where its outputs are.
struct Job {
  std::string program;                     ///< for reports
  std::optional<AttentionProblem> problem; ///< of an attention
  AttentionInputs inputs;                  ///< of an attention
  std::optional<BackwardInputs> backward;  ///< of its gradients
  bool hasForwardFiles = false; ///< they have the results of the forward
  /// Of what is neither an attention nor a file: compares the outputs with the
  /// reference. Empty: it is one of these.
  std::function<llvm::Expected<std::vector<OutputCheck>>(const Job &)> checker;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  /// Of a file that is checked: the module as it was, its reference function
  /// and that function's arguments.
  mlir::OwningOpRef<mlir::ModuleOp> original;
  std::string reference;
  std::vector<InterpreterValue> referenceArguments;
  /// The same at S1, where gradients of an attention are found in it; null:
  /// none are.
  mlir::OwningOpRef<mlir::ModuleOp> fused;
  std::optional<ForwardFunction> forward; ///< of a file's gradients
  bool isTriton = false;                  ///< its grid is an argument (--grid)
  /// Of one of Triton's kernels: the attention that it is, if it is one.
  std::optional<RaisedAttention> raised;
  /// Of one that runs as attention: what it is as it is written.
  struct AsWritten {
    mlir::OwningOpRef<mlir::ModuleOp> module;
    std::vector<LaunchArgument> arguments;
    std::string program;
  };
  std::optional<AsWritten> asWritten;
  std::string entry;
  std::vector<LaunchArgument> arguments;
  std::vector<HostTensor> tensors; ///< keeps the arguments' memory
  std::vector<std::pair<std::string, HostTensor>> outputs;
  std::string tuned; ///< the plans that a tuning table chose; "": none
};

/// Builds the job of an attention problem: sizes from the inputs where they are
/// given, random values for the rest, outputs full of NaN.
llvm::Expected<Job> prepareAttention(mlir::MLIRContext &context,
                                     const Options &options);

/// Builds the job of a merge: random parts, or those of `--in`.
llvm::Expected<Job> prepareMerge(mlir::MLIRContext &context,
                                 const Options &options);

/// Builds the job of an append, with random inputs.
llvm::Expected<Job> prepareAppend(mlir::MLIRContext &context,
                                  const Options &options);

/// Adds an output full of NaN, so that what is not written is seen. `bshd`: of
/// [.., h, s, d] `sizes`, in memory [.., s, h, d].
llvm::Error addOutput(Job &job, llvm::StringRef name, ElementType type,
                      llvm::ArrayRef<int64_t> sizes, bool bshd);

/// Builds the job of a file: `--in` in argument order. The artifact says what
/// the arguments are, so it comes in two steps.
llvm::Expected<Job> loadFile(mlir::MLIRContext &context,
                             const Options &options);
llvm::Error prepareFileArguments(Job &job, const Options &options,
                                 const KernelInfo &kernel);

/// The function that says what the program of a file computes: itself at S0,
/// else what `reference` of its kernel names; empty if there is none.
std::string findReference(mlir::ModuleOp module, llvm::StringRef entry);

/// Sets `job.forward` if the program of a file asks for gradients.
void findGradientFile(Job &job);

/// The results of `job.forward`, whose arguments are the first ones of the job,
/// in float64.
llvm::Expected<llvm::ArrayRef<HostTensor>> forwardResults(Job &job);

/// Result `number` of them, rounded to `type`.
llvm::Expected<HostTensor> forwardResult(Job &job, size_t number,
                                         ElementType type);

/// Makes functions of `module` that ask for gradients what the interpreter
/// computes these by.
llvm::Error differentiateReference(mlir::ModuleOp module);

/// Sets `job.fused` by the compiler's passes with `options`.
void findFusedGradients(Job &job, const FusionOptions &options);

/// Compares the outputs of a file's program with its reference, evaluated op by
/// op, and results of a forward that are given with what it computes.
llvm::Expected<std::vector<OutputCheck>> checkFile(Job &job);

/// What the outputs of an attention are compared with: results, or gradients
/// and, if they were given, the results that these are of.
struct AttentionReference {
  AttentionResult exact, unfused;
  Gradients exactGradients, unfusedGradients;
};
llvm::Expected<AttentionReference> evaluateReference(const Job &job);
std::vector<OutputCheck> compare(const Job &job,
                                 const AttentionReference &reference);

/// A cache that reports to the user.
DiskCache openCache(const Options &options);

/// Compiles the kernels that the job's arguments may run on `place`, with the
/// plans that `tuning` (null: none) has for an attention; those of a file are
/// made when its kernels are known, and it gets all.
llvm::Expected<CachedArtifact> compileForLaunch(DiskCache &cache,
                                                const RunTarget &place,
                                                Job &job, CompileOptions &how,
                                                const Tuning *tuning = nullptr);

/// The same with the table that the user names. What a card cannot run is left
/// to the host, with a note, if the place was not asked for by name.
llvm::Expected<CachedArtifact> compileFor(RunTarget &place, Job &job,
                                          const Options &options);

/// What a launch of the job's sizes takes on the largest card of `how.arch`:
/// sets `how.kernels`, and gives the program on its way.
llvm::Expected<PlannedProgram> planLaunch(Job &job, CompileOptions &how);

/// The job's kernels, which stay as they are, compiled to be shown or kept: all
/// or, with --launch, those of a launch.
llvm::Expected<Artifact> compileToShow(Job &job, const Options &options,
                                       CompileOptions how);

/// Finds the fastest plans for an attention and writes them into the tuning
/// table; the exit code.
int tune(Job &job, const Options &options);

/// Everything that a report says.
struct Report {
  const Options &options;
  const Job &job;
  const Execution &execution;
  std::vector<OutputCheck> checks;
};
void printReport(const Report &report, llvm::raw_ostream &out);
void printJson(const Report &report, llvm::raw_ostream &out);

} // namespace fa::run

#endif // FA_RUN_JOB_H
