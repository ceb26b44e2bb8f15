//===- FakeRanges.h - profilers that note their ranges ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two libraries of one form: a tool that NVTX injects, and roctx. FlashTile
// opens them by their paths; tests link them to read what was noted.
//
//===----------------------------------------------------------------------===//

#ifndef FA_TEST_FAKERANGES_H
#define FA_TEST_FAKERANGES_H

#include <string>
#include <vector>

/// What a profiler was told.
struct FakeRanges {
  std::vector<std::string> names; ///< of the ranges that began, in order
  int depth = 0;                  ///< of those that did not end
  int attached = 0;               ///< how often NVTX asked the tool to
};

extern "C" {
FakeRanges *fakeNvtx();
FakeRanges *fakeRoctx();
}

#endif // FA_TEST_FAKERANGES_H
