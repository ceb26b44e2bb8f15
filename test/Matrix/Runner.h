//===- Runner.h - compiles, launches and compares a case ------ -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_TEST_MATRIX_RUNNER_H
#define FA_TEST_MATRIX_RUNNER_H

#include "Case.h"

#include "fa/Runtime/GpuPlan.h"
#include "fa/Runtime/HostPlan.h"
#include "fa/Target/Compile.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"

namespace fa::matrix {

/// Where the problems run.
struct Target {
  std::shared_ptr<GpuDevice> card; ///< null: on this machine's CPU
  std::string arch = "host";
  std::string hostCpu = "host"; ///< see CompileOptions
  bool isEmulator = false;
  LaunchCosts costs = {};    ///< of the card that is emulated
  std::string schedule = {}; ///< see CompileOptions; empty: chosen
};

/// A target by its name: cpu, cuda, hip or emulator:ARCH. Code that runs on
/// this machine is for `hostCpu`.
llvm::Expected<Target> openTarget(llvm::StringRef name,
                                  llvm::StringRef hostCpu);

/// Runs cases on one target; keeps what it compiled.
class Runner {
public:
  /// `fault`: planted in every kernel; empty: none. `noConflicts`: a launch in
  /// the emulator whose lanes meet in a bank is wrong.
  Runner(llvm::StringRef fault, Target target, unsigned threads,
         bool noConflicts = false);

  /// What is wrong with the case's result; empty: nothing.
  llvm::Expected<std::string> run(const Case &c);

private:
  /// A loaded program.
  using Launch = std::function<llvm::Error(llvm::ArrayRef<LaunchArgument>)>;
  /// A program that was planned, and plans by the kernels that they have.
  struct Program {
    PlannedProgram planned;
    llvm::StringMap<Launch> plans;
  };

  /// One compilation serves all lengths, batches and heads that the same
  /// kernels may run.
  llvm::Expected<Launch> getPlan(AttentionProblem p, int64_t splits,
                                 llvm::ArrayRef<LaunchArgument> arguments);
  LaunchMachine machine() const;
  llvm::Expected<Launch> load(Artifact artifact, uint64_t seed);

  /// The program of `p` with the fault in it.
  llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>> build(AttentionProblem p);
  llvm::Expected<PlannedProgram> plan(const AttentionProblem &p,
                                      int64_t splits);
  CompileOptions optionsFor(int64_t splits) const;

  std::string fault;
  std::shared_ptr<HostDevice> device;
  mlir::MLIRContext context;
  Target target;
  bool noConflicts;
  llvm::StringMap<Program> programs;
};

} // namespace fa::matrix

#endif // FA_TEST_MATRIX_RUNNER_H
