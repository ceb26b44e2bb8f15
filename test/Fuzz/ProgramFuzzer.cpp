//===- ProgramFuzzer.cpp - programs as text -------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Target/Compile.h"

#include "mlir/Bytecode/BytecodeReader.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/MemoryBufferRef.h"
#include "llvm/Support/Regex.h"

using namespace mlir;

/// Parsers and verifiers of our dialects, by way of MLIR's reader; what was
/// accepted is printed, and that parses again. What ends the process in MLIR's
/// own readers (test/Fuzz/upstream) is left out: bytecode, arrays of index,
/// also by an alias, and results of large numbers, for all before which it
/// takes memory.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  DialectRegistry registry;
  fa::registerDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  ScopedDiagnosticHandler quiet(&context,
                                [](Diagnostic &) { return success(); });
  // MLIR's lexer reads on until it finds a 0, which a string has at its end.
  std::string text(reinterpret_cast<const char *>(data), size);
  static const llvm::Regex arrayOfIndex(
      "array[[:space:]]*<[[:space:]]*(index|!)");
  static const llvm::Regex largeNumber("#[0-9]{7}");
  if (isBytecode(llvm::MemoryBufferRef(text, "input")) ||
      arrayOfIndex.match(text) || largeNumber.match(text))
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
