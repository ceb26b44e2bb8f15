//===- Programs.h - programs as text, for tests of the interpreter -*- C++
//-*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_TEST_UNIT_INTERPRETER_PROGRAMS_H
#define FA_TEST_UNIT_INTERPRETER_PROGRAMS_H

#include "fa/Interpreter/Interpreter.h"

#include <functional>

/// What function @f of `text` returns, or the error.
llvm::Expected<std::vector<fa::HostTensor>>
runProgram(const std::string &text,
           llvm::ArrayRef<fa::InterpreterValue> arguments,
           fa::Precision precision = fa::Precision::Float64);

/// The elements of the only result of @f.
std::vector<double> resultOf(const std::string &text,
                             llvm::ArrayRef<fa::InterpreterValue> arguments,
                             fa::Precision precision = fa::Precision::Float64);

/// The message of the error that @f ends with.
std::string errorOf(const std::string &text,
                    llvm::ArrayRef<fa::InterpreterValue> arguments);

/// A tensor of f64 whose element number n is f(n).
fa::HostTensor makeTensor(llvm::ArrayRef<int64_t> sizes,
                          const std::function<double(int64_t)> &f);

/// A linalg.generic in @f, whose body is given %a, an f32 of %x, and %o, one of
/// the result, which begins as %y. `before` are operations in front of it.
std::string makeGeneric(const std::string &typeX, const std::string &typeY,
                        const std::string &maps, const std::string &iterators,
                        const std::string &body,
                        const std::string &before = "");

/// Numbers that f32 holds, of both signs, far enough apart in size for the
/// order of a sum to show.
double sample(int64_t n);
fa::HostTensor makeSample(llvm::ArrayRef<int64_t> sizes);

/// Expects the same bits, but that any NaN is as good as another.
void expectSame(llvm::ArrayRef<double> found, llvm::ArrayRef<double> expected);

#endif // FA_TEST_UNIT_INTERPRETER_PROGRAMS_H
