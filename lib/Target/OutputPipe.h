//===- OutputPipe.h - what a linker writes, without a file ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_TARGET_OUTPUTPIPE_H
#define FA_LIB_TARGET_OUTPUTPIPE_H

#include "llvm/Support/Error.h"

#include <thread>

namespace fa {

/// A pipe with a name. LLVM writes a file of its linkers by way of a temporary
/// one, for which it puts signal handlers into the process; what is no file it
/// writes at once.
class OutputPipe {
public:
  OutputPipe() = default;
  ~OutputPipe();
  OutputPipe(const OutputPipe &) = delete;
  OutputPipe &operator=(const OutputPipe &) = delete;

  llvm::Error open();
  /// What it is called in this process.
  std::string name() const { return "/dev/fd/" + std::to_string(writeEnd); }
  /// All that was written; the writer has closed it.
  std::string take();

private:
  int readEnd = -1, writeEnd = -1;
  int written = -1; ///< an event: all was written
  std::string text;
  std::thread reader; ///< takes what comes: a pipe holds little
};

} // namespace fa

#endif // FA_LIB_TARGET_OUTPUTPIPE_H
