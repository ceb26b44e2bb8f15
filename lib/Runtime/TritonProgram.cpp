//===- TritonProgram.cpp - what Triton printed as a program ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Runtime/TritonProgram.h"

#include "Triton/Triton.h"
#include "fa/Conversion/Passes.h"

#include "mlir/Pass/PassManager.h"

using namespace llvm;
using namespace fa;

bool fa::isTritonProgram(mlir::ModuleOp module) {
  return !module.getOps<triton::FuncOp>().empty();
}

tile::KernelOp fa::findTritonKernel(mlir::ModuleOp module, StringRef entry) {
  tile::KernelOp found;
  for (auto kernel : module.getOps<tile::KernelOp>()) {
    if (!entry.empty() && kernel.getSymName() != entry)
      continue;
    if (found)
      return nullptr;
    found = kernel;
  }
  return found;
}

std::optional<RaisedAttention> fa::raiseTritonKernel(tile::KernelOp kernel,
                                                     std::string &why) {
  NotRaised reason{kernel.getLoc(), {}};
  std::optional<RaisedAttention> raised = raiseAttention(kernel, reason);
  if (!raised)
    why = placeOf(reason.where) + ": not raised: @" +
          kernel.getSymName().str() + ": " + reason.why;
  return raised;
}

std::string fa::placeOf(mlir::Location loc) {
  std::string text;
  raw_string_ostream out(text);
  if (auto line = triton::sourceLineOf(loc))
    out << line.getFilename().getValue() << ':' << line.getLine() << ':'
        << line.getColumn();
  else
    out << loc;
  return text;
}

Error fa::lowerTritonProgram(mlir::ModuleOp module) {
  std::string problem;
  mlir::ScopedDiagnosticHandler handler(
      module.getContext(), [&](mlir::Diagnostic &diagnostic) {
        if (problem.empty())
          problem = placeOf(diagnostic.getLocation()) + ": " + diagnostic.str();
        return mlir::success();
      });
  mlir::PassManager pm(module.getContext());
  buildTritonPipeline(pm);
  if (succeeded(pm.run(module)))
    return Error::success();
  return createStringError(problem.empty() ? "the program cannot be lowered"
                                           : problem);
}
