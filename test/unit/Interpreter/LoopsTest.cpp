//===- LoopsTest.cpp - the loops of linalg --------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Programs.h"

#include "llvm/ADT/STLExtras.h"
#include "gtest/gtest.h"

#include <limits>

using namespace fa;

static const char *const kSum = "%s = arith.addf %o, %a : f32\n"
                                "linalg.yield %s : f32";
static const char *const kParallel = R"("parallel", "parallel")";

/// Elements are read at any loop's index, at none, and at numbers.
TEST(Loops, IndexingMaps) {
  struct {
    const char *type, *map;
    llvm::SmallVector<int64_t> sizes;
    int64_t (*at)(int64_t i, int64_t j);
  } cases[] = {
      {"tensor<19x37xf32>",
       "(d0, d1)",
       {19, 37},
       [](int64_t i, int64_t j) { return i * 37 + j; }},
      {"tensor<37x19xf32>",
       "(d1, d0)",
       {37, 19},
       [](int64_t i, int64_t j) { return j * 19 + i; }},
      {"tensor<37xf32>", "(d1)", {37}, [](int64_t i, int64_t j) { return j; }},
      {"tensor<19xf32>", "(d0)", {19}, [](int64_t i, int64_t) { return i; }},
      {"tensor<f32>", "()", {}, [](int64_t, int64_t) { return int64_t(0); }},
      {"tensor<3x37xf32>",
       "(2, d1)",
       {3, 37},
       [](int64_t i, int64_t j) { return 2 * 37 + j; }},
      {"tensor<19x2x37xf32>",
       "(d0, 1, d1)",
       {19, 2, 37},
       [](int64_t i, int64_t j) { return (i * 2 + 1) * 37 + j; }},
      {"tensor<19x19xf32>",
       "(d0, d0)",
       {19, 19},
       [](int64_t i, int64_t) { return i * 19 + i; }},
  };
  for (const auto &c : cases) {
    SCOPED_TRACE(c.map);
    std::string maps = "affine_map<(d0, d1) -> " + std::string(c.map) +
                       ">, affine_map<(d0, d1) -> (d1, d0)>";
    std::vector<double> expected;
    for (int64_t j = 0; j < 37; ++j)
      for (int64_t i = 0; i < 19; ++i)
        expected.push_back(sample(j * 19 + i) + sample(c.at(i, j)));
    expectSame(resultOf(makeGeneric(c.type, "tensor<37x19xf32>", maps,
                                    kParallel, kSum),
                        {makeSample(c.sizes), makeSample({37, 19})}),
               expected);
  }
}

/// The result is read and written at a number, too: the rest of it stays.
TEST(Loops, ResultAtANumber) {
  std::vector<double> expected;
  for (int64_t n = 0; n < 300 * 3; ++n)
    expected.push_back(sample(n) + (n % 3 == 1 ? sample(n / 3) : 0));
  expectSame(resultOf(makeGeneric("tensor<300xf32>", "tensor<300x3xf32>",
                                  "affine_map<(d0) -> (d0)>, "
                                  "affine_map<(d0) -> (d0, 1)>",
                                  R"("parallel")", kSum),
                      {makeSample({300}), makeSample({300, 3})}),
             expected);
}

/// Sums along any dimensions, in order, the last one innermost; of each size
/// that a row may have, and rounded after each addition.
TEST(Loops, ReductionsKeepTheirOrder) {
  for (int64_t rows : {1, 5, 256, 300})
    for (unsigned reduced = 0; reduced < 8; ++reduced)
      for (Precision precision : {Precision::Float64, Precision::Declared}) {
        SCOPED_TRACE(rows * 10 + reduced);
        int64_t sizes[] = {3, rows, 7};
        std::string iterators, map, type;
        llvm::SmallVector<int64_t> kept;
        for (int d = 0; d < 3; ++d) {
          bool isReduced = reduced >> d & 1;
          iterators += std::string(d ? ", " : "") +
                       (isReduced ? "\"reduction\"" : "\"parallel\"");
          if (isReduced)
            continue;
          map += (map.empty() ? "d" : ", d") + std::to_string(d);
          type += std::to_string(sizes[d]) + "x";
          kept.push_back(sizes[d]);
        }
        HostTensor start = makeSample(kept);
        std::vector<double> expected = start.toDoubles();
        for (int64_t n = 0; n < 3 * rows * 7; ++n) {
          int64_t index[] = {n / 7 / rows, n / 7 % rows, n % 7}, at = 0;
          for (int d = 0; d < 3; ++d)
            if (!(reduced >> d & 1))
              at = at * sizes[d] + index[d];
          expected[at] += sample(n);
          if (precision == Precision::Declared)
            expected[at] = static_cast<float>(expected[at]);
        }
        std::string input = "tensor<3x" + std::to_string(rows) + "x7xf32>";
        expectSame(
            resultOf(makeGeneric(input, "tensor<" + type + "f32>",
                                 "affine_map<(d0, d1, d2) -> (d0, d1, d2)>, "
                                 "affine_map<(d0, d1, d2) -> (" +
                                     map + ")>",
                                 iterators, kSum),
                     {makeSample(sizes), start}, precision),
            expected);
      }
}

/// Of no elements, and along a dimension of none: the result is what it was.
TEST(Loops, Empty) {
  std::string maps = "affine_map<(d0, d1) -> (d0, d1)>, "
                     "affine_map<(d0, d1) -> (d1)>";
  std::string program = makeGeneric("tensor<?x?xf32>", "tensor<?xf32>", maps,
                                    R"("reduction", "parallel")", kSum);
  expectSame(resultOf(program, {makeSample({0, 4}), makeSample({4})}),
             makeSample({4}).toDoubles());
  expectSame(resultOf(program, {makeSample({5, 0}), makeSample({0})}), {});
}

/// A product, its loops in every order: sums are in the order of k alone.
TEST(Loops, ProductsInAnyOrderOfLoops) {
  constexpr int64_t m = 17, n = 33, depth = 40;
  HostTensor a = makeSample({m, depth}), b = makeSample({depth, n}),
             c = makeSample({m, n});
  std::vector<double> expected = c.toDoubles();
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j)
      for (int64_t k = 0; k < depth; ++k)
        expected[i * n + j] += sample(i * depth + k) * sample(k * n + j);
  // Which loops i, j and k are.
  std::string loops[] = {"012", "021", "102", "120", "201", "210"};
  for (const std::string &order : loops) {
    SCOPED_TRACE(order);
    auto dim = [&](int which) { return std::string("d") + order[which]; };
    auto map = [](const std::string &x, const std::string &y) {
      return "affine_map<(d0, d1, d2) -> (" + x + ", " + y + ")>";
    };
    std::string iterators[3];
    for (int which = 0; which < 3; ++which)
      iterators[order[which] - '0'] =
          which == 2 ? "\"reduction\"" : "\"parallel\"";
    std::string text =
        "!a = tensor<17x40xf32>\n!b = tensor<40x33xf32>\n"
        "!c = tensor<17x33xf32>\n"
        "func.func @f(%a: !a, %b: !b, %c: !c) -> !c {\n"
        "%r = linalg.generic {indexing_maps = [" +
        map(dim(0), dim(2)) + ", " + map(dim(2), dim(1)) + ", " +
        map(dim(0), dim(1)) + "], iterator_types = [" + iterators[0] + ", " +
        iterators[1] + ", " + iterators[2] +
        "]} ins(%a, %b : !a, !b) outs(%c : !c) {\n"
        "^bb0(%x: f32, %y: f32, %o: f32):\n"
        "%p = arith.mulf %x, %y : f32\n%s = arith.addf %o, %p : f32\n"
        "linalg.yield %s : f32\n} -> !c\nreturn %r : !c\n}\n";
    expectSame(resultOf(text, {a, b, c}), expected);
  }
}

/// Loops along which the result does not move are taken in order, whatever
/// they are declared to be.
TEST(Loops, ParallelLoopsWithoutResult) {
  std::string maps = "affine_map<(d0, d1) -> (d0, d1)>, "
                     "affine_map<(d0, d1) -> (d1)>";
  HostTensor x = makeSample({5, 300}), y = makeSample({300});
  std::vector<double> last, sum = y.toDoubles();
  for (int64_t j = 0; j < 300; ++j) {
    last.push_back(sample(4 * 300 + j));
    for (int64_t i = 0; i < 5; ++i)
      sum[j] += sample(i * 300 + j);
  }
  auto make = [&](const char *body) {
    return makeGeneric("tensor<5x300xf32>", "tensor<300xf32>", maps, kParallel,
                       body);
  };
  expectSame(resultOf(make("linalg.yield %a : f32"), {x, y}), last);
  expectSame(resultOf(make(kSum), {x, y}), sum);
}

/// Indices of loops that are evaluated side by side, and of steps.
TEST(Loops, Indices) {
  std::vector<double> expected = makeSample({30, 11}).toDoubles();
  for (int64_t i = 0; i < 30; ++i)
    for (int64_t k = 0; k < 9; ++k)
      for (int64_t j = 0; j < 11; ++j)
        expected[i * 11 + j] +=
            sample(k) * static_cast<double>(i * 10000 + k * 100 + j);
  expectSame(resultOf(makeGeneric(
                          "tensor<9xf32>", "tensor<30x11xf32>",
                          "affine_map<(d0, d1, d2) -> (d1)>, "
                          "affine_map<(d0, d1, d2) -> (d0, d2)>",
                          R"("parallel", "reduction", "parallel")",
                          "%i = linalg.index 0 : index\n"
                          "%k = linalg.index 1 : index\n"
                          "%j = linalg.index 2 : index\n"
                          "%i1 = arith.muli %i, %hundred : index\n"
                          "%i2 = arith.addi %i1, %k : index\n"
                          "%i3 = arith.muli %i2, %hundred : index\n"
                          "%i4 = arith.addi %i3, %j : index\n"
                          "%n = arith.index_cast %i4 : index to i32\n"
                          "%w = arith.sitofp %n : i32 to f32\n"
                          "%p = arith.mulf %a, %w : f32\n"
                          "%s = arith.addf %o, %p : f32\nlinalg.yield %s : f32",
                          "%hundred = arith.constant 100 : index\n"),
                      {makeSample({9}), makeSample({30, 11})}),
             expected);
}

/// What a body yields need not depend on the iteration.
TEST(Loops, YieldsANumber) {
  expectSame(resultOf(makeGeneric("tensor<3xf32>", "tensor<3x200xf32>",
                                  "affine_map<(d0, d1) -> (d0)>, "
                                  "affine_map<(d0, d1) -> (d0, d1)>",
                                  kParallel,
                                  "%two = arith.constant 2.0 : f32\n"
                                  "%r = arith.addf %two, %half : f32\n"
                                  "linalg.yield %r : f32",
                                  "%half = arith.constant 0.5 : f32\n"),
                      {makeSample({3}), makeSample({3, 200})}),
             std::vector<double>(600, 2.5));
}

/// A generic with two results of rows: by `body` of %a, an f32 of a row of 37,
/// of %o and of %n, what the results are so far. The second one is `type`, read
/// through `map`, and begins as `zero`.
static std::string makeTwoResults(const std::string &body,
                                  const std::string &type,
                                  const std::string &map,
                                  const std::string &zero) {
  std::string element = llvm::StringRef(type).ends_with("f32>") ? "f32" : "i64";
  return R"(
#rows = affine_map<(d0, d1) -> (d0)>
!i = )" + type +
         R"(
!r = tensor<19xf32>
func.func @f(%x: tensor<19x37xf32>, %y: !r) -> (!r, !i) {
  %z = arith.constant dense<)" +
         zero + R"(> : !i
  %m, %i = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>,
      #rows, affine_map<(d0, d1) -> )" +
         map + R"(>], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<19x37xf32>) outs(%y, %z : !r, !i) {
  ^bb0(%a: f32, %o: f32, %n: )" +
         element + R"():
    %j = linalg.index 1 : index
    %k = arith.index_cast %j : index to i64
)" + body +
         R"( : f32, )" + element + R"(
  } -> (!r, !i)
  return %m, %i : !r, !i
})";
}

static const char *const kLargest = R"(
    %c = arith.cmpf ogt, %a, %o : f32
    %l = arith.select %c, %a, %o : f32
    %w = arith.select %c, %k, %n : i64
    linalg.yield %l, %w)";

/// The largest number of each row, and where it is.
TEST(Loops, TwoResults) {
  auto results =
      runProgram(makeTwoResults(kLargest, "tensor<19xi64>", "(d0)", "0"),
                 {makeSample({19, 37}), makeTensor({19}, [](int64_t) {
                    return -std::numeric_limits<double>::infinity();
                  })});
  ASSERT_TRUE(bool(results)) << toString(results.takeError());
  ASSERT_EQ(results->size(), 2u);
  std::vector<double> largest, where;
  for (int64_t i = 0; i < 19; ++i) {
    int64_t best = 0;
    for (int64_t j = 1; j < 37; ++j)
      if (sample(i * 37 + j) > sample(i * 37 + best))
        best = j;
    largest.push_back(sample(i * 37 + best));
    where.push_back(static_cast<double>(best));
  }
  expectSame((*results)[0].toDoubles(), largest);
  expectSame((*results)[1].toDoubles(), where);
}

TEST(Loops, TwoResultsThatAreNotRun) {
  struct {
    std::string program;
    const char *error;
  } cases[] = {
      {makeTwoResults(kLargest, "tensor<19x37xi64>", "(d0, d1)", "0"),
       "expected results that move along the same loops"},
      {makeTwoResults("linalg.yield %n, %a", "tensor<19xf32>", "(d0)", "0.0"),
       "expected results that do not become each other"},
  };
  for (const auto &c : cases) {
    std::string found =
        errorOf(c.program, {makeSample({19, 37}), makeSample({19})});
    EXPECT_NE(found.find(c.error), std::string::npos) << found;
  }
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

TEST(Loops, Errors) {
  struct {
    const char *typeX, *mapX, *body, *error;
  } cases[] = {
      {"tensor<?xf32>", "(d0)",
       "%r = math.cbrt %a : f32\nlinalg.yield %r : f32",
       "'math.cbrt' is not evaluated by the reference"},
      {"tensor<?xf32>", "(d0)",
       "%r = math.cbrt %half : f32\nlinalg.yield %r : f32",
       "'math.cbrt' is not evaluated by the reference"},
      {"tensor<?xf32>", "(d0)",
       "%t = tensor.from_elements %a : tensor<1xf32>\n"
       "%r = tensor.extract %t[%c0] : tensor<1xf32>\nlinalg.yield %r : f32",
       "'tensor.from_elements' is not evaluated by the reference"},
      {"tensor<?xf32>", "(d0)",
       "%c = arith.cmpf oeq, %a, %a : f32\ncf.assert %c, \"a NaN\"\n"
       "linalg.yield %a : f32",
       "'cf.assert' is not evaluated by the reference"},
      {"tensor<?xf32>", "(d0)", "linalg.yield %a : f32",
       "operands of different sizes: 3 and 4"},
      {"tensor<?x?xf32>", "(d0, 7)", "linalg.yield %a : f32",
       "expected a loop or a number below 5 as an index, found 7"},
  };
  for (auto [typeX, mapX, body, error] : cases) {
    SCOPED_TRACE(body);
    bool isSquare = llvm::StringRef(typeX).contains("?x?");
    bool differs = llvm::StringRef(error).contains("different");
    std::string found =
        errorOf(makeGeneric(typeX, "tensor<?xf32>",
                            "affine_map<(d0) -> " + std::string(mapX) +
                                ">, affine_map<(d0) -> (d0)>",
                            R"("parallel")", body,
                            "%half = arith.constant 0.5 : f32\n"
                            "%c0 = arith.constant 0 : index\n"),
                {isSquare ? makeSample({4, 5}) : makeSample({differs ? 3 : 4}),
                 makeSample({4})});
    EXPECT_NE(found.find(error), std::string::npos) << found;
    EXPECT_TRUE(llvm::StringRef(found).starts_with("loc(")) << found;
  }
}
