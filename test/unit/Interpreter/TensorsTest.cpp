//===- TensorsTest.cpp - whole tensors, in bodies and outside -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Programs.h"

#include "gtest/gtest.h"

using namespace fa;

static std::string makeExtract(const std::string &body) {
  return makeGeneric("tensor<?xf32>", "tensor<?xf32>",
                     "affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>",
                     R"("parallel")", body + "\nlinalg.yield %r : f32",
                     "%c2 = arith.constant 2 : index\n");
}

static const char *const kFarther =
    "%i = linalg.index 0 : index\n%j = arith.addi %i, %c2 : index\n"
    "%r = tensor.extract %x[%j] : tensor<?xf32>";

/// Elements of a whole tensor, at indices that differ and at one.
TEST(Tensors, Extract) {
  HostTensor x = makeSample({300});
  std::vector<double> backwards, same(300, sample(2));
  for (int64_t n = 0; n < 300; ++n)
    backwards.push_back(sample(299 - n));
  expectSame(resultOf(makeExtract("%i = linalg.index 0 : index\n"
                                  "%c0 = arith.constant 0 : index\n"
                                  "%c1 = arith.constant 1 : index\n"
                                  "%n = tensor.dim %x, %c0 : tensor<?xf32>\n"
                                  "%m = arith.subi %n, %c1 : index\n"
                                  "%j = arith.subi %m, %i : index\n"
                                  "%r = tensor.extract %x[%j] : tensor<?xf32>"),
                      {x, x}),
             backwards);
  expectSame(
      resultOf(makeExtract("%r = tensor.extract %x[%c2] : tensor<?xf32>"),
               {x, x}),
      same);
}

/// Whole tensors in other shapes, of more elements than a row.
TEST(Tensors, Shapes) {
  HostTensor x = makeSample({30, 40});
  auto check = [&](const std::string &op, auto at) {
    SCOPED_TRACE(op);
    std::vector<double> expected;
    for (int64_t i = 0; i < 40; ++i)
      for (int64_t j = 0; j < 30; ++j)
        expected.push_back(at(i, j));
    expectSame(resultOf("!x = tensor<30x40xf32>\n!r = tensor<40x30xf32>\n"
                        "func.func @f(%x: !x) -> !r {\n" +
                            op + "\nreturn %r : !r\n}\n",
                        {x}),
               expected);
  };
  check("%r = tile.transpose %x [1, 0] : !x -> !r",
        [](int64_t i, int64_t j) { return sample(j * 40 + i); });
  check("%t = tile.transpose %x [1, 0] : !x -> !r\n"
        "%s = tensor.extract_slice %t[0, 7] [40, 1] [1, 1]\n"
        "    : !r to tensor<40x1xf32>\n"
        "%r = tile.broadcast %s : tensor<40x1xf32> -> !r",
        [](int64_t i, int64_t) { return sample(7 * 40 + i); });
  check("%i = arith.constant 0 : index\n"
        "%e = tensor.extract %x[%i, %i] : !x\n"
        "%zero = arith.constant 0.0 : f32\n"
        "%c = arith.cmpf olt, %e, %zero : f32\n" // −1000 / 1024
        "%t = tile.transpose %x [1, 0] : !x -> !r\n"
        "%n = arith.negf %t : !r\n"
        "%r = arith.select %c, %t, %n : !r",
        [](int64_t i, int64_t j) { return sample(j * 40 + i); });
  check("%i = tile.iota dim 0 : tensor<40x30xindex>\n"
        "%n = arith.index_cast %i : tensor<40x30xindex> to tensor<40x30xi32>\n"
        "%r = arith.sitofp %n : tensor<40x30xi32> to !r",
        [](int64_t i, int64_t) { return double(i); });
}

/// An index outside is an error at its place, in the last part of a row too;
/// where there are no iterations there is none.
TEST(Tensors, ExtractOutside) {
  std::string found =
      errorOf(makeExtract(kFarther), {makeSample({300}), makeSample({300})});
  EXPECT_NE(found.find("expected an index from 0 to 299 in dimension 0, found "
                       "300"),
            std::string::npos)
      << found;
  EXPECT_TRUE(llvm::StringRef(found).starts_with("loc(")) << found;
  expectSame(
      resultOf(makeExtract(kFarther), {makeSample({0}), makeSample({0})}), {});
}

/// A nest inside of a body that reads only what is outside is evaluated.
static const char *const kNested =
    "%e = tensor.empty() : tensor<1xf32>\n"
    "%t = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], "
    "iterator_types = [\"parallel\"]} outs(%e : tensor<1xf32>) {\n"
    "^bb0(%u: f32):\n";

TEST(Tensors, NestedRegions) {
  std::string ending = "\n} -> tensor<1xf32>\n"
                       "%c0 = arith.constant 0 : index\n"
                       "%v = tensor.extract %t[%c0] : tensor<1xf32>\n"
                       "%r = arith.addf %a, %v : f32";
  HostTensor x = makeSample({300});
  std::vector<double> expected;
  for (int64_t n = 0; n < 300; ++n)
    expected.push_back(sample(n) + 3);
  expectSame(resultOf(makeExtract(std::string(kNested) +
                                  "%w = arith.constant 3.0 : f32\n"
                                  "linalg.yield %w : f32" +
                                  ending),
                      {x, x}),
             expected);
  std::string found = errorOf(
      makeExtract(std::string(kNested) + "linalg.yield %a : f32" + ending),
      {x, x});
  EXPECT_NE(found.find("'linalg.generic' is not evaluated by the reference"),
            std::string::npos)
      << found;
}
