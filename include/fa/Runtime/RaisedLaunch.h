//===- RaisedLaunch.h - launches of a kernel as its attention ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A launch gives a kernel of Triton's pointers, numbers and a grid; the
// attention that the kernel is takes tensors. Which tensor lies where in which
// pointer's memory, and which launches the proof holds for, follows from the
// launch's numbers alone.
//
//===----------------------------------------------------------------------===//

#ifndef FA_RUNTIME_RAISEDLAUNCH_H
#define FA_RUNTIME_RAISEDLAUNCH_H

#include "fa/Conversion/RaiseAttention.h"
#include "fa/Launch/LaunchArgument.h"

#include "llvm/Support/Error.h"

namespace fa {

/// Whether a kernel that Triton printed and that is attention runs as one:
/// where the launch allows it, never, or else it is an error.
enum class Raise { Auto, Off, Only };

/// What launches of a raised kernel pass to the attention in its place. Safe to
/// use from several threads.
class RaisedLaunch {
public:
  /// Of `kernel`, which is `raised`. Both may go; the context that they live in
  /// must stay. It is an error if an argument has a type that no buffer has.
  static llvm::Expected<RaisedLaunch> create(tile::KernelOp kernel,
                                             const RaisedAttention &raised);

  /// What the kernel is given: tensors of one dimension, numbers and the grid,
  /// as the three sizes of the last argument.
  const KernelInfo &kernel() const { return info; }

  /// The arguments of the attention, tensors in the memory of those that are
  /// `given`. An error says what the launch breaks: a condition of the proof,
  /// the type of an argument, memory that ends before what is read or written
  /// does, outputs that lie on each other or on what is read. Such a launch is
  /// the kernel's.
  llvm::Expected<std::vector<LaunchArgument>>
  bind(llvm::ArrayRef<LaunchArgument> given) const;

  /// The same before there is memory: a null address stands for memory of its
  /// own, as a driver's allocation gives it. Such a tensor of the result is at
  /// an address that nothing is read or written at.
  llvm::Expected<std::vector<LaunchArgument>>
  bindPlanned(llvm::ArrayRef<LaunchArgument> given) const;

private:
  KernelInfo info;
  std::vector<RaisedArgument> arguments;
  size_t numInputs = 0; ///< of `arguments`; what is written lies behind
  std::vector<LaunchCondition> conditions;
  std::vector<unsigned> positiveArguments;
};

} // namespace fa

#endif // FA_RUNTIME_RAISEDLAUNCH_H
