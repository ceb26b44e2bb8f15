//===- ExpectFaults.h - that a program has a fault, or none -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_TEST_UNIT_EMULATOR_EXPECTFAULTS_H
#define FA_TEST_UNIT_EMULATOR_EXPECTFAULTS_H

#include "RunText.h"

#include <gtest/gtest.h>

namespace fa::test {

/// There is a fault of kind `kind`, and the report has `detail`.
inline void expectAmong(llvm::StringRef body, llvm::StringRef kind,
                        llvm::StringRef detail = "",
                        const RunSizes &sizes = {}) {
  std::string faults = runText(body, sizes).faults;
  EXPECT_NE(faults.find((": " + kind + ": ").str()), std::string::npos)
      << "expected " << kind.str() << ", found '" << faults << "'";
  EXPECT_NE(faults.find(detail.str()), std::string::npos) << faults;
}

/// There is no other fault.
inline void expectFault(llvm::StringRef body, llvm::StringRef kind,
                        llvm::StringRef detail = "",
                        const RunSizes &sizes = {}) {
  expectAmong(body, kind, detail, sizes);
  std::string faults = runText(body, sizes).faults;
  EXPECT_EQ(faults.find('\n'), std::string::npos) << faults;
}

inline void expectNone(llvm::StringRef body, const RunSizes &sizes = {}) {
  EXPECT_EQ(runText(body, sizes).faults, "");
}

} // namespace fa::test

#endif // FA_TEST_UNIT_EMULATOR_EXPECTFAULTS_H
