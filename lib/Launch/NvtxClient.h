//===- NvtxClient.h - the side of NVTX that has ranges to give --*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Written from the binary interface that the headers of NVTX 3 describe
// (nvtxTypes.h, "Types for callback subscription"; nvtxInit.h, load sequence):
// a tool's InitializeInjectionNvtx2 is given a function that gives tables. In
// the table of callbacks is one more function, which gives for each module of
// NVTX an array of places; the tool writes its functions where it wants calls.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_LAUNCH_NVTXCLIENT_H
#define FA_LIB_LAUNCH_NVTXCLIENT_H

#include <cstdint>

namespace fa::nvtx {

using Function = void (*)();
using GetExportTable = const void *(*)(uint32_t id);
/// InitializeInjectionNvtx2: not 0 where the tool attached.
using Initialize = int (*)(GetExportTable);

/// What the tool wrote; null where it did not.
struct Functions {
  Function rangePush = nullptr; ///< nvtxRangePushA
  Function rangePop = nullptr;  ///< nvtxRangePop
};

/// Asks a tool to attach; one that did is not asked again.
Functions attach(Initialize initialize);

} // namespace fa::nvtx

#endif // FA_LIB_LAUNCH_NVTXCLIENT_H
