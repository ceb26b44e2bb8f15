//===- Faults.cpp - what a program may not do -----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Faults.h"

#include "llvm/Support/ErrorHandling.h"

using namespace fa::emu;

llvm::StringRef fa::emu::name(FaultKind kind) {
  switch (kind) {
  case FaultKind::OutOfBounds:
    return "out of bounds";
  case FaultKind::Misaligned:
    return "misaligned access";
  case FaultKind::UninitialisedRead:
    return "uninitialised read";
  case FaultKind::MissingWait:
    return "missing wait";
  case FaultKind::Race:
    return "race";
  case FaultKind::DivergentBarrier:
    return "divergent barrier";
  case FaultKind::DivergentWarp:
    return "divergent warp";
  case FaultKind::IllegalShuffle:
    return "illegal shuffle";
  case FaultKind::Deadlock:
    return "deadlock";
  case FaultKind::MissingFence:
    return "missing fence";
  case FaultKind::IllegalBarrier:
    return "illegal mbarrier";
  case FaultKind::OverArrival:
    return "over-arrival";
  case FaultKind::WrongBytes:
    return "wrong transaction bytes";
  case FaultKind::RegisterInFlight:
    return "register in flight";
  case FaultKind::IllegalRegisters:
    return "illegal setmaxnreg";
  case FaultKind::IllegalDescriptor:
    return "illegal descriptor";
  case FaultKind::IllegalOperand:
    return "illegal operand";
  case FaultKind::FailedAssertion:
    return "failed assertion";
  case FaultKind::BrokenPromise:
    return "broken promise";
  }
  llvm_unreachable("every kind has a name");
}

void FaultLog::add(FaultKind kind, std::string text) {
  if (has(kind))
    return;
  seen |= bit(kind);
  faults.push_back({kind, std::move(text)});
}

void FaultLog::clear() {
  seen = 0;
  faults.clear();
}
