//===- Tuning.h - a tuning table as a compiler uses it ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_RUNTIME_TUNING_H
#define FA_RUNTIME_TUNING_H

#include "fa/Runtime/ChooseKernels.h"
#include "fa/Runtime/TuningTable.h"

namespace fa {

/// A table as one compiler uses it.
class Tuning {
public:
  using Report = std::function<void(const std::string &)>;

  /// Reads the table for compilations with `options`. `report` is told, now,
  /// where all entries for the architecture are another assembler's, and later
  /// of entries that are not used.
  static llvm::Expected<Tuning>
  open(llvm::StringRef path, const CompileOptions &options, Report report);

  /// Sets what the table chooses for a launch; null: nothing, since it has no
  /// entry for it or something is asked of plans already.
  const TuningEntry *apply(const AttentionProblem &problem,
                           llvm::ArrayRef<LaunchArgument> launch,
                           CompileOptions &options) const;

  /// `chooseKernels` with what the table chooses for a launch of `problem`. An
  /// entry with plans that the program's kernels do not have (any more) is not
  /// used, which is reported: the rules choose.
  llvm::Expected<KernelsChosen> choose(const AttentionProblem &problem,
                                       DiskCache &cache, mlir::ModuleOp module,
                                       llvm::StringRef entry,
                                       const PlannedLaunch &launch,
                                       CompileOptions &options) const;

private:
  TuningTable table;
  TuningKey compiler; ///< without a problem
  std::string path;
  Report report;
};

} // namespace fa

#endif // FA_RUNTIME_TUNING_H
