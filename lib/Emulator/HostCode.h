//===- HostCode.h - emulated kernels as native code -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_EMULATOR_HOSTCODE_H
#define FA_LIB_EMULATOR_HOSTCODE_H

#include "Block.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"

#include <mutex>

namespace llvm::orc {
class LLJIT;
} // namespace llvm::orc

namespace fa::emu {

/// The kernels of a module of bitcode. A program has several variants, most of
/// which no launch asks for: each is compiled when it is looked up first.
class HostCode {
public:
  /// `features` are what code for `cpu` may use beside what LLVM knows of it.
  static llvm::Expected<std::unique_ptr<HostCode>>
  load(std::string bitcode, llvm::StringRef cpu, llvm::StringRef features);
  ~HostCode();

  llvm::Expected<KernelFunction> lookup(llvm::StringRef kernel);

private:
  explicit HostCode(std::string bitcode);
  llvm::Error compile(llvm::StringRef kernel);

  std::string bitcode;
  std::unique_ptr<llvm::orc::LLJIT> jit;
  std::mutex mutex;
  llvm::StringMap<KernelFunction> functions;
};

} // namespace fa::emu

#endif // FA_LIB_EMULATOR_HOSTCODE_H
