//===- OutputPipeTest.cpp - what a linker writes, without a file ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OutputPipe.h"

#include "gtest/gtest.h"

#include <csignal>
#include <fstream>
#include <sys/wait.h>

/// More than a pipe holds, in a process whose child, forked meanwhile as Python
/// forks its workers, has the pipe's ends open, too.
TEST(OutputPipe, DoesNotWaitForChildren) {
  fa::OutputPipe pipe;
  ASSERT_FALSE(pipe.open());
  pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::sleep(60);
    ::_exit(0);
  }
  std::string text(1 << 20, 'x');
  std::ofstream(pipe.name()) << text;
  EXPECT_EQ(pipe.take(), text);
  EXPECT_EQ(::waitpid(child, nullptr, WNOHANG), 0) << "the child has ended";
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

/// What is written last comes together with the word that all was.
TEST(OutputPipe, TakesTheLastBytes) {
  for (int round = 0; round < 100; ++round) {
    fa::OutputPipe pipe;
    ASSERT_FALSE(pipe.open());
    std::ofstream(pipe.name()) << round;
    ASSERT_EQ(pipe.take(), std::to_string(round));
  }
}

TEST(OutputPipe, TakesNothing) {
  fa::OutputPipe pipe;
  EXPECT_EQ(pipe.take(), "");
  ASSERT_FALSE(pipe.open());
  EXPECT_EQ(pipe.take(), "");
}
