//===- Faults.h - what a program may not do ---------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_EMULATOR_FAULTS_H
#define FA_LIB_EMULATOR_FAULTS_H

#include "llvm/ADT/StringRef.h"

#include <string>
#include <vector>

namespace fa::emu {

/// Kinds of faults; docs/emulator.md says what each is.
enum class FaultKind {
  OutOfBounds,
  Misaligned,
  UninitialisedRead,
  MissingWait,
  Race,
  DivergentBarrier,
  DivergentWarp,
  IllegalShuffle,
  Deadlock,
  MissingFence,
  IllegalBarrier,
  OverArrival,
  WrongBytes,
  RegisterInFlight,
  IllegalRegisters,
  IllegalDescriptor,
  IllegalOperand,
  FailedAssertion,
  BrokenPromise,
};

/// "out of bounds", ...
llvm::StringRef name(FaultKind kind);

struct Fault {
  FaultKind kind;
  std::string text;
};

/// The faults of one block: the first of each kind, in the order in which they
/// happened.
class FaultLog {
public:
  bool has(FaultKind kind) const { return seen & bit(kind); }
  void add(FaultKind kind, std::string text);
  bool empty() const { return faults.empty(); }
  const std::vector<Fault> &all() const { return faults; }
  void clear();

private:
  static unsigned bit(FaultKind kind) { return 1u << unsigned(kind); }
  unsigned seen = 0;
  std::vector<Fault> faults;
};

} // namespace fa::emu

#endif // FA_LIB_EMULATOR_FAULTS_H
