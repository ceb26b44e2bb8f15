//===- BuildId.h - which build of a library is this? ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_RUNTIME_BUILDID_H
#define FA_RUNTIME_BUILDID_H

#include <string>

namespace fa {

/// The build id, hexadecimal, of the loaded library or program that has
/// `address` in it: the linker's hash of its content, the note NT_GNU_BUILD_ID
/// (ELF gABI, "Note Section"; GNU ld, --build-id). Empty if it has none.
std::string buildIdOf(const void *address);

/// The builds whose code decides what a compilation gives: this library, LLVM
/// and MLIR, with a space between. Empty if one of them cannot be told.
std::string compilerBuildId();

} // namespace fa

#endif // FA_RUNTIME_BUILDID_H
