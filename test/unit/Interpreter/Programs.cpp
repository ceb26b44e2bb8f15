//===- Programs.cpp - programs as text, for tests of the interpreter ------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Programs.h"

#include "fa/Target/Compile.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

#include <bit>
#include <cmath>

using namespace mlir;
using namespace fa;

llvm::Expected<std::vector<HostTensor>>
runProgram(const std::string &text, ArrayRef<InterpreterValue> arguments,
           Precision precision) {
  DialectRegistry registry;
  registerDialects(registry);
  MLIRContext context(registry);
  context.loadAllAvailableDialects();
  auto module = parseSourceString<ModuleOp>(text, &context);
  if (!module)
    return llvm::createStringError("expected a program, found " + text);
  return interpret(*module, "f", arguments, precision);
}

std::vector<double> resultOf(const std::string &text,
                             ArrayRef<InterpreterValue> arguments,
                             Precision precision) {
  auto results = runProgram(text, arguments, precision);
  if (results)
    return results->front().toDoubles();
  ADD_FAILURE() << toString(results.takeError()) << "\n" << text;
  return {};
}

std::string errorOf(const std::string &text,
                    ArrayRef<InterpreterValue> arguments) {
  auto results = runProgram(text, arguments);
  return results ? "no error" : toString(results.takeError());
}

HostTensor makeTensor(ArrayRef<int64_t> sizes,
                      const std::function<double(int64_t)> &f) {
  HostTensor tensor =
      llvm::cantFail(HostTensor::create(ElementType::F64, sizes));
  int64_t n = 0;
  tensor.forEach([&](char *p) { *reinterpret_cast<double *>(p) = f(n++); });
  return tensor;
}

std::string makeGeneric(const std::string &typeX, const std::string &typeY,
                        const std::string &maps, const std::string &iterators,
                        const std::string &body, const std::string &before) {
  return "func.func @f(%x: " + typeX + ", %y: " + typeY + ") -> " + typeY +
         " {\n" + before + "%g = linalg.generic {indexing_maps = [" + maps +
         "], iterator_types = [" + iterators + "]} ins(%x : " + typeX +
         ") outs(%y : " + typeY + ") {\n^bb0(%a: f32, %o: f32):\n" + body +
         "\n} -> " + typeY + "\nreturn %g : " + typeY + "\n}\n";
}

double sample(int64_t n) {
  double mantissa = static_cast<double>(n * 7919 % 2048 - 1000) / 1024;
  return std::ldexp(mantissa, static_cast<int>(n * 31 % 23));
}

HostTensor makeSample(ArrayRef<int64_t> sizes) {
  return makeTensor(sizes, sample);
}

void expectSame(ArrayRef<double> found, ArrayRef<double> expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t n = 0; n < found.size(); ++n) {
    if (std::isnan(found[n]) && std::isnan(expected[n]))
      continue;
    ASSERT_EQ(std::bit_cast<uint64_t>(found[n]),
              std::bit_cast<uint64_t>(expected[n]))
        << "element " << n << ": " << found[n] << ", expected " << expected[n];
  }
}
