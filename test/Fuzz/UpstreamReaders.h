//===- UpstreamReaders.h - what ends the process in MLIR's --------*- C++
//-*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_TEST_FUZZ_UPSTREAMREADERS_H
#define FA_TEST_FUZZ_UPSTREAMREADERS_H

#include "mlir/Bytecode/BytecodeReader.h"
#include "llvm/Support/MemoryBufferRef.h"
#include "llvm/Support/Regex.h"

/// Whether MLIR's own readers (22.1.8) may end the process at `text`: bytecode,
/// arrays of index (test/Fuzz/upstream), also by an alias, and results of large
/// numbers, for all before which memory is taken.
inline bool endsUpstreamReaders(llvm::StringRef text) {
  static const llvm::Regex arrayOfIndex(
      "array[[:space:]]*<[[:space:]]*(index|!)");
  static const llvm::Regex largeNumber("#[0-9]{7}");
  return mlir::isBytecode(llvm::MemoryBufferRef(text, "input")) ||
         arrayOfIndex.match(text) || largeNumber.match(text);
}

#endif
