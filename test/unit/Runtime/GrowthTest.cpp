//===- GrowthTest.cpp - plans that come and go ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   GrowthTests DIRECTORY CYCLES [LOST]
//
// Prepares and frees a plan again and again, from the cache in DIRECTORY, and
// fails if the process has grown by a mebibyte from the first tenth on. LOST
// bytes are lost on purpose each time, to see that that is found.
//
//===----------------------------------------------------------------------===//

#include "fa/fa.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <malloc.h>
#include <unistd.h>

/// Bytes that are in memory (proc(5), /proc/pid/statm).
static long residentBytes() {
  long total = 0, resident = 0;
  std::ifstream file("/proc/self/statm");
  if (!(file >> total >> resident))
    std::abort();
  return resident * sysconf(_SC_PAGESIZE);
}

int main(int argc, char **argv) {
  if (argc < 3)
    return 2;
  long cycles = std::strtol(argv[2], nullptr, 10), begin = 0;
  size_t lost = argc > 3 ? std::strtol(argv[3], nullptr, 10) : 0;
  faContextOptions options = fa::contextOptions("cpu");
  options.threads = 1;
  options.cacheDirectory = argv[1];
  fa::Context context(options);
  for (long n = 0; n < cycles; ++n) {
    if (n == cycles / 10) {
      malloc_trim(0);
      begin = residentBytes();
    }
    fa::Plan plan(context, fa::attention(FA_F32, 16));
    if (!plan) {
      std::fprintf(stderr, "%s\n", fa::lastError());
      return 2;
    }
    if (lost) {
      static void *volatile last; // or the compiler loses the loss
      last = std::malloc(lost);
      std::memset(last, 1, lost);
    }
  }
  malloc_trim(0);
  long grown = residentBytes() - begin;
  std::printf("grown by %ld bytes\n", grown);
  return grown >= 1 << 20;
}
