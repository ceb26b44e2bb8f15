//===- FakeRoctx.cpp - AMD's library of ranges ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FakeRanges.h"

static FakeRanges noted;

extern "C" {

FakeRanges *fakeRoctx() { return &noted; }

int roctxRangePushA(const char *name) {
  noted.names.emplace_back(name);
  return noted.depth++;
}

int roctxRangePop() { return --noted.depth; }
}
