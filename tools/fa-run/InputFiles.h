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

/// Reads the pages of K and V and the table that names them, from files: all
/// three or none. Sets the sizes of the problem that they have and that were
/// not given, and leaves `files` as it is where there are none.
llvm::Error readPagedKeys(const Options &options, AttentionSpec &spec,
                          AttentionInputs &files);

/// Checks that `inputs` of a problem with pages say where each key lies: that
/// no length is beyond the table, and that its entries name pages.
llvm::Error checkPagedKeys(const AttentionInputs &inputs);

/// The type of a file's elements, of a key or a value if `isKey`: it must be
/// the one that was given, if any.
llvm::Error agreeOnType(AttentionSpec &spec, llvm::StringRef file, bool isKey,
                        ElementType found);

/// A size that a file has: it must be the one that was given, if any.
llvm::Error agree(AttentionSpec &spec, llvm::StringRef file,
                  llvm::StringRef key, int64_t &size, int64_t found);

/// Refuses options that go with the forward beside `backward`, and the other
/// way round.
llvm::Error checkDirection(const AttentionProblem &problem,
                           const Options &options);

/// Sets what gradients are computed from, from files or random, and adds the
/// gradients and the arguments of a job that has its inputs.
llvm::Error prepareBackward(Job &job, const Options &options);

/// "2x4x100x64" as sizes.
bool parseSizes(llvm::StringRef text, llvm::SmallVectorImpl<int64_t> &sizes);

/// A scalar argument, and a tensor: a file, or sizes of random numbers.
llvm::Expected<LaunchArgument> readScalar(llvm::StringRef text,
                                          const ArgumentInfo &info);
llvm::Expected<HostTensor> readTensor(llvm::StringRef text,
                                      const ArgumentInfo &info, uint64_t seed);

/// The arguments of a kernel that Triton printed: an --in for each, and --grid.
llvm::Error prepareTritonArguments(Job &job, const Options &options,
                                   const KernelInfo &kernel);

/// Sets `job.raised`, if its kernel is attention and that is wanted.
llvm::Error raiseTritonProgram(Job &job, const Options &options);

/// Reads the arguments of a kernel that is raised, and takes the attention in
/// its place if the launch meets its conditions.
llvm::Error chooseRaised(Job &job, const Options &options);

/// Takes the kernel as it is written again, where its attention could not be
/// compiled for the `error`, which is told. False, and the error stays: it does
/// not run as attention, or shall not run otherwise.
bool giveUpRaised(Job &job, const Options &options, llvm::Error &error);

} // namespace fa::run

#endif // FA_RUN_INPUTFILES_H
