//===- Request.h - what plans are asked for ---------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_PLAN_REQUEST_H
#define FA_PLAN_REQUEST_H

#include "fa/Plan/Constraints.h"
#include "fa/Plan/Machine.h"

namespace fa {

/// A machine and what is asked of the plans for it.
struct PlanRequest {
  Machine machine;
  PlanConstraints asked;
};

/// What `constraints` ask of plans for `machine`, with so many bytes of shared
/// memory that a block may have (0: those of the machine). The error is that of
/// the first that is wrong.
llvm::Expected<PlanRequest> makeRequest(llvm::Expected<Machine> machine,
                                        llvm::StringRef constraints,
                                        int64_t sharedBytes);

/// Reads the options of a pass that plans: the name of a machine
/// (`findMachine`), and what `makeRequest` takes.
llvm::Expected<PlanRequest> parseRequest(llvm::StringRef machine,
                                         llvm::StringRef constraints,
                                         int64_t sharedBytes);

} // namespace fa

#endif // FA_PLAN_REQUEST_H
