//===- RunKernels.h - a program on the host and in emulators ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_TEST_UNIT_RUNTIME_RUNKERNELS_H
#define FA_TEST_UNIT_RUNTIME_RUNKERNELS_H

#include "fa/Numerics/ErrorRule.h"
#include "fa/Runtime/EmulatorPlan.h"
#include "fa/Runtime/HostPlan.h"
#include "fa/Target/Compile.h"

#include "gtest/gtest.h"

namespace fa::test {

inline constexpr const char *kArchs[] = {"host", "sm_80", "sm_90a", "gfx942"};

/// Compiles `build`'s program for `arch` and runs it, in the emulator if that
/// is a GPU's. "" or what went wrong.
inline std::string
runKernels(llvm::StringRef arch, llvm::StringRef entry,
           llvm::ArrayRef<LaunchArgument> arguments,
           llvm::function_ref<llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>>(
               mlir::MLIRContext &)>
               build) {
  mlir::DialectRegistry registry;
  registerDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  auto module = build(context);
  if (!module)
    return toString(module.takeError());
  CompileOptions options;
  options.arch = arch.str();
  options.emulate = arch != "host";
  auto artifact = compile(**module, entry, options);
  if (!artifact)
    return toString(artifact.takeError());
  auto device = std::make_shared<HostDevice>(2);
  if (arch == "host") {
    auto plan = HostPlan::load(std::move(*artifact), device);
    return plan ? toString((*plan)->launch(arguments))
                : toString(plan.takeError());
  }
  auto plan = EmulatorPlan::load(std::move(*artifact), device);
  if (!plan)
    return toString(plan.takeError());
  auto done = (*plan)->launch(arguments);
  return done ? "" : toString(done.takeError());
}

/// Why a check failed; "": none did.
inline std::string
failureOf(const llvm::Expected<std::vector<OutputCheck>> &checks) {
  for (const OutputCheck &check : *checks)
    if (!check.pass)
      return check.name + ": " + check.why;
  return "";
}

} // namespace fa::test

#endif // FA_TEST_UNIT_RUNTIME_RUNKERNELS_H
