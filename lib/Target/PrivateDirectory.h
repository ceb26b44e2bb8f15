//===- PrivateDirectory.h - files for assemblers and linkers ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_TARGET_PRIVATEDIRECTORY_H
#define FA_LIB_TARGET_PRIVATEDIRECTORY_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace fa {

/// A directory of our own that goes, with what is in it, when it is done with.
/// Unlike LLVM's temporary files it puts no signal handler into the host
/// program's process.
class PrivateDirectory {
public:
  static llvm::Expected<PrivateDirectory> create();
  PrivateDirectory(PrivateDirectory &&other) : path(std::move(other.path)) {
    other.path.clear();
  }
  ~PrivateDirectory();

  /// The path of a file in it.
  std::string file(llvm::StringRef name) const;

  /// Of the file `name`: writes `bytes` to it, and what it holds. An error says
  /// which file it was: there may be no room.
  llvm::Error write(llvm::StringRef name, llvm::StringRef bytes) const;
  llvm::Expected<std::string> read(llvm::StringRef name) const;

private:
  explicit PrivateDirectory(llvm::StringRef path) : path(path) {}
  std::string path;
};

} // namespace fa

#endif // FA_LIB_TARGET_PRIVATEDIRECTORY_H
