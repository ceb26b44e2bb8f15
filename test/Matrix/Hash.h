//===- Hash.h - digests of the code that cases run --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_TEST_MATRIX_HASH_H
#define FA_TEST_MATRIX_HASH_H

#include "Case.h"

#include "fa/Target/Compile.h"
#include "llvm/ADT/StringMap.h"

namespace fa::matrix {

/// Digests of kernels' code for an architecture; none of it runs. A kernel that
/// several cases take is compiled once.
class CodeHasher {
public:
  /// `arch` and `schedule` as in CompileOptions.
  CodeHasher(std::string arch, std::string schedule);

  /// "@SYMBOL plan<...>" of each kernel that a launch of `c` may run.
  llvm::Expected<std::vector<std::string>> plansOf(const Case &c);

  /// The kernels that a launch of `c` may run, on the largest card of the
  /// architecture or on one of as many multiprocessors as the emulator has, by
  /// symbol, and the SHA-256 of the code of each: of PTX, or of what an object
  /// or code object has but for the linker's version.
  using Hashes = std::vector<std::pair<std::string, std::string>>;
  llvm::Expected<Hashes> hash(const Case &c);

private:
  /// A program as planning left it, and the digests of its kernels so far.
  struct Program {
    PlannedProgram planned;
    llvm::StringMap<std::string> hashes;
  };

  llvm::Error plan(const AttentionProblem &p, int64_t splits, Program &program);
  llvm::Expected<std::vector<std::string>> findKernels(const Case &c,
                                                       Program &program);
  llvm::Expected<std::string>
  hashKernel(Program &program, llvm::StringRef symbol, int64_t splits);
  CompileOptions optionsFor(int64_t splits) const;

  std::string arch, schedule;
  mlir::MLIRContext context;
  llvm::StringMap<Program> programs;
};

} // namespace fa::matrix

#endif // FA_TEST_MATRIX_HASH_H
