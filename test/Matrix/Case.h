//===- Case.h - one problem of the matrix, as a line ---------- -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_TEST_MATRIX_CASE_H
#define FA_TEST_MATRIX_CASE_H

#include "fa/Numerics/AttentionProblem.h"

#include <random>

namespace fa::matrix {

/// A problem and how it lies in memory; the words are in fa-matrix.cpp.
struct Case {
  std::string line;
  AttentionProblem problem;
  bool gaps = false, shifted = false, poison = false, far = false;
  int64_t repeat = 0, splits = 0;
  double logits = 1, values = 1, apart = 0;
  std::optional<double> fill;
};

/// Expands the alternatives {a|b|c} of `line`, all combined.
void expand(llvm::StringRef line, std::vector<std::string> &lines);

/// The expanded lines of a file but for comments.
llvm::Error readLines(llvm::StringRef file, std::vector<std::string> &lines);

/// A line without alternatives.
llvm::Expected<Case> parseCase(llvm::StringRef line);

/// `p` without what one program serves any value of: sizes, scale, layout.
AttentionProblem withoutSizes(AttentionProblem p);

/// What tells the program of `c` from others.
std::string programName(const Case &c);

/// A random problem as a line.
std::string randomLine(std::mt19937 &random);

} // namespace fa::matrix

#endif // FA_TEST_MATRIX_CASE_H
