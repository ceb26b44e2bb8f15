//===- OptionsAside.h - LLVM's options, out of reach ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_TARGET_OPTIONSASIDE_H
#define FA_LIB_TARGET_OPTIONSASIDE_H

#include "llvm/Support/CommandLine.h"

namespace fa {

/// Takes the options of LLVM's command line out of their registry, as long as
/// it is there, for code that would set them all back to their defaults: they
/// are the host program's, with the values that it gave them, and some may be
/// of a library that is gone. None of them is touched. Options that are
/// registered meanwhile stay. A thread that parses a command line meanwhile
/// finds none: there is one registry in a process.
class OptionsAside {
public:
  OptionsAside();
  ~OptionsAside();
  OptionsAside(const OptionsAside &) = delete;
  OptionsAside &operator=(const OptionsAside &) = delete;

private:
  struct Options {
    llvm::cl::SubCommand *of = nullptr;
    decltype(llvm::cl::SubCommand::PositionalOpts) positional;
    decltype(llvm::cl::SubCommand::SinkOpts) sink;
    decltype(llvm::cl::SubCommand::OptionsMap) named;
    llvm::cl::Option *consumeAfter = nullptr;
  };
  llvm::SmallVector<Options> taken;
};

} // namespace fa

#endif // FA_LIB_TARGET_OPTIONSASIDE_H
