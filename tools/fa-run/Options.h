//===- Options.h - what the user of fa-run asked for ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_RUN_OPTIONS_H
#define FA_RUN_OPTIONS_H

#include "fa/Numerics/AttentionProblem.h"
#include "fa/Runtime/RaisedLaunch.h"
#include "fa/Target/Compile.h"

#include <string>
#include <vector>

namespace fa::run {

/// Exit codes of fa-run.
enum ExitCode { Success = 0, CheckFailed = 1, BadInput = 2, DeviceFailed = 3 };

struct Options {
  std::string file, entry;              ///< a program, or
  std::optional<std::string> attention; ///< an attention SPEC, or
  std::optional<std::string> merge;     ///< a merge's, or
  std::optional<std::string> append;    ///< an append's
  std::string offsets, keyOffsets;      ///< of packed sequences
  std::string q, k, v, bias, slopes, lengths, documents, sink, rng, table;
  std::string qScale, kScale, vScale; ///< of what has 8 bits
  std::string draft;                  ///< words of a draft's mask
  std::vector<std::string> in, out;   ///< .npy files or sizes, in order
  std::string grid;                   ///< of a kernel that Triton printed
  Raise raise = Raise::Auto;          ///< whether it runs as attention
  std::string lse;
  std::string dout, dlse, forwardOut, forwardLse; ///< inputs of gradients
  std::string dq, dk, dv, dbias, dslopes, dsink,
      dscale;         ///< where they are written
  std::string target; ///< "": the best present
  unsigned threads = 0;
  uint64_t seed = 0;
  std::string emit, output;
  bool launch = false; ///< emit the kernels of one launch
  bool check = false, bench = false, listTargets = false, counters = false;
  std::optional<std::string> json; ///< "" is standard output
  CompileOptions compile;
  std::string cache; ///< folder; "": no cache
  bool tune = false;
  std::string tuning; ///< table to write or to read; "": none
};

/// Says what went wrong; gives `code`.
int fail(llvm::Error error, ExitCode code);

/// Parses the command line; what is wrong with it is an error.
llvm::Expected<Options> parseOptions(int argc, char **argv);

} // namespace fa::run

#endif // FA_RUN_OPTIONS_H
