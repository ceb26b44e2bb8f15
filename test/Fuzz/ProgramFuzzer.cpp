//===- ProgramFuzzer.cpp - programs as text -------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "UpstreamReaders.h"

#include "fa/Target/Compile.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"

using namespace mlir;

/// Parsers and verifiers of our dialects, by way of MLIR's reader; what was
/// accepted is printed, and that parses again. What ends the process in MLIR's
/// own readers is left out.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  DialectRegistry registry;
  fa::registerDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  ScopedDiagnosticHandler quiet(&context,
                                [](Diagnostic &) { return success(); });
  // MLIR's lexer reads on until it finds a 0, which a string has at its end.
  std::string text(reinterpret_cast<const char *>(data), size);
  if (endsUpstreamReaders(text))
    return 0;
  auto module = parseSourceString<ModuleOp>(text, &context);
  if (!module)
    return 0;
  std::string printed;
  llvm::raw_string_ostream out(printed);
  module->print(out);
  if (!parseSourceString<ModuleOp>(printed, &context))
    llvm::report_fatal_error("what was printed does not parse");
  return 0;
}
