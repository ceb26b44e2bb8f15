//===- InputFiles.h - what makes an attention's arguments -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_RUN_INPUTFILES_H
#define FA_RUN_INPUTFILES_H

#include "Job.h"

namespace fa::run {

/// Reads the input `what` from `path` into `result`, which stays as it is
/// where there is no file. It is an error if none is `wanted`, or one of other
/// sizes or of another type.
llvm::Error readInput(llvm::StringRef what, llvm::StringRef path, bool wanted,
                      llvm::ArrayRef<int64_t> sizes, ElementType type,
                      std::optional<HostTensor> &result);

/// Refuses options that go with the forward beside `backward`, and the other
/// way round.
llvm::Error checkDirection(const AttentionProblem &problem,
                           const Options &options);

/// Sets what gradients are computed from, from files or random, and adds the
/// gradients and the arguments of a job that has its inputs.
llvm::Error prepareBackward(Job &job, const Options &options);

} // namespace fa::run

#endif // FA_RUN_INPUTFILES_H
