//===- InterpreterTest.cpp ------------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Programs.h"

#include "fa/Frontend/BuildAttention.h"
#include "fa/Numerics/Reference.h"
#include "fa/Target/Compile.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

#include <cmath>

using namespace mlir;
using namespace fa;

static std::unique_ptr<MLIRContext> makeContext() {
  DialectRegistry registry;
  registerDialects(registry);
  auto context = std::make_unique<MLIRContext>(registry);
  context->loadAllAvailableDialects();
  return context;
}

static AttentionProblem makeProblem(StringRef spec) {
  return llvm::cantFail(parseAttentionSpec(spec)).problem;
}

/// Interprets the program that the frontend writes for `program` on `in`.
static std::vector<HostTensor> run(const AttentionProblem &program,
                                   const AttentionInputs &in,
                                   Precision precision) {
  auto context = makeContext();
  auto module = llvm::cantFail(buildAttention(*context, program));
  std::vector<InterpreterValue> arguments = {in.q, in.k, in.v};
  if (!program.bias.empty())
    arguments.push_back(*in.bias);
  if (program.alibi)
    arguments.push_back(*in.slopes);
  if (program.lengths)
    arguments.push_back(*in.lengths);
  if (program.hasOffsets)
    arguments.push_back(*in.offsets);
  if (program.hasKeyOffsets)
    arguments.push_back(*in.keyOffsets);
  if (program.page)
    arguments.push_back(*in.table);
  if (program.hasScales)
    for (const auto *scales : {&in.kScale, &in.vScale})
      arguments.push_back(**scales);
  if (program.hasQueryScales)
    arguments.push_back(*in.qScale);
  arguments.push_back(program.effectiveScale());
  return llvm::cantFail(interpret(*module, "attention", arguments, precision));
}

/// Inputs for a program as it is written, which multiplies rows that no
/// sequence has with scales as well, where a kernel reads neither.
static AttentionInputs makeInputs(const AttentionProblem &problem) {
  AttentionInputs in = llvm::cantFail(makeRandomInputs(problem, 5));
  for (std::optional<HostTensor> *scales : {&in.kScale, &in.vScale})
    if (*scales)
      (*scales)->forEach([](char *scale) {
        if (std::isnan(loadElement(scale, ElementType::F32)))
          storeElement(scale, ElementType::F32, 1);
      });
  return in;
}

static double difference(const HostTensor &x, const HostTensor &y) {
  EXPECT_EQ(x.sizes(), y.sizes());
  double worst = 0;
  for (auto [a, b] : llvm::zip(x.toDoubles(), y.toDoubles()))
    if (a != b)
      worst = std::max(worst, std::isnan(a - b) ? 1e300 : std::fabs(a - b));
  return worst;
}

/// The program as it is written, and plain loops written from the formula.
TEST(Interpreter, AgreesWithTheReference) {
  for (StringRef spec :
       {"hq=2 sq=5 sk=7 d=8 type=f32",
        "hq=2 sq=5 sk=9 d=8 causal type=f16",
        "hq=2 sq=9 sk=5 d=8 causal type=f32",
        "hq=2 sq=5 sk=9 d=8 causal=top-left type=bf16",
        "hq=1 sq=9 sk=12 d=8 window=3,1 type=f32",
        "b=3 hq=2 sq=4 sk=6 d=8 lengths type=f32",
        "hq=2 sq=5 sk=7 d=8 softcap=0.75 type=f32",
        "hq=6 sq=5 sk=7 d=8 alibi type=f32",
        "b=2 hq=3 sq=4 sk=5 d=8 bias=1h1k type=f16",
        "b=2 hq=6 hkv=2 sq=4 sk=5 d=8 dv=3 type=f32",
        "hq=2 sq=5 sk=7 d=8 type=f32 precision=tf32",
        "b=7 hq=4 hkv=2 sq=5 sk=20 d=8 page=3 causal type=f32",
        "b=7 hq=2 sq=3 sk=20 d=8 page=4 pages=nhd window=6,1 type=bf16",
        "b=2 hq=4 hkv=2 sq=5 sk=7 d=8 causal kv=f8e4m3 type=f16",
        "b=2 hq=4 hkv=1 sq=5 sk=7 d=8 kv=f8e4m3 kv-scales=none type=bf16",
        "b=2 hq=4 hkv=2 sq=5 sk=7 d=8 causal type=f8e4m3",
        "b=2 hq=4 hkv=2 sq=5 sk=7 d=8 causal type=f8e4m3 kv=f8e5m2",
        "b=2 hq=4 hkv=2 sq=5 sk=7 d=8 type=f8e4m3 out=f16 kv-scales=none",
        "b=7 hq=4 hkv=2 sq=5 sk=20 d=8 page=3 kv=f8e4m3 type=bf16",
        "b=2 hq=4 hkv=2 sq=5 sk=7 d=8 kv=f8e4m3 type=bf16 scale-keys=1",
        "b=2 hq=4 hkv=2 sq=5 sk=7 d=8 causal type=f8e4m3 scale-keys=3",
        "b=7 hq=4 hkv=2 sq=5 sk=20 d=8 page=3 kv=f8e4m3 type=f16 scale-keys=7",
        "hq=1 sq=4 sk=0 d=8 type=f32"}) {
    SCOPED_TRACE(spec.str());
    AttentionProblem problem = makeProblem((spec + " lse").str());
    AttentionInputs in = makeInputs(problem);
    AttentionResult reference = llvm::cantFail(referenceF64(problem, in));
    auto result = run(problem, in, Precision::Float64);
    ASSERT_EQ(result.size(), 2u);
    EXPECT_LT(difference(result[0], reference.out), 1e-13);
    EXPECT_LT(difference(result[1], reference.lse), 1e-13);
    auto declared = run(problem, in, Precision::Declared);
    bool isIeee = problem.type == ElementType::F32 && !problem.tf32;
    EXPECT_LT(difference(declared[0], reference.out), isIeee ? 1e-6 : 0.03);
    if (!problem.tf32)
      continue;
    // Operands are rounded, as those of the plain loops are.
    AttentionResult e0 = llvm::cantFail(unfused(problem, in));
    EXPECT_LT(difference(declared[0], e0.out), 1e-6);
    EXPECT_GT(difference(declared[0], reference.out), 1e-5);
  }
}

/// Packed sequences, whose program leaves 0 where nobody writes.
TEST(Interpreter, AgreesOnPackedSequences) {
  for (StringRef spec :
       {"b=3 hq=2 sq=5 sk=7 d=8 type=f32 ragged",
        "b=4 hq=4 hkv=2 sq=5 sk=6 d=8 dv=4 causal type=f16 ragged",
        "b=2 hq=2 sq=5 sk=6 d=8 window=1,2 alibi type=f32 ragged",
        "b=3 hq=2 sq=5 sk=6 d=8 causal lengths type=f32 ragged=q",
        "b=3 hq=4 hkv=2 sq=5 sk=6 d=8 kv=f8e4m3 type=f16 ragged",
        "b=3 hq=4 hkv=2 sq=5 sk=6 d=8 kv=f8e4m3 type=f16 ragged scale-keys=4",
        "b=3 hq=2 sq=5 sk=6 d=8 causal type=f32 ragged=k"}) {
    SCOPED_TRACE(spec.str());
    AttentionProblem problem = makeProblem((spec + " lse").str());
    AttentionInputs in = makeInputs(problem);
    AttentionResult reference = llvm::cantFail(referenceF64(problem, in));
    auto result = run(problem, in, Precision::Float64);
    ASSERT_EQ(result.size(), 2u);
    for (auto [found, expected] : {std::pair(result[0], reference.out),
                                   std::pair(result[1], reference.lse)}) {
      ASSERT_EQ(found.sizes(), expected.sizes());
      for (auto [x, y] : llvm::zip(found.toDoubles(), expected.toDoubles()))
        if (x != y)
          EXPECT_LT(std::isnan(y) ? std::fabs(x) : std::fabs(x - y), 1e-13);
    }
  }
}

/// Offsets are used as they are: what they cannot be is said.
TEST(Interpreter, OffsetsOutside) {
  const std::string text =
      "func.func @f(%x: tensor<1x4xf32>, %o: tensor<3xi32>)\n"
      "    -> tensor<2x1x4xf32> {\n"
      "  %r = tile.ragged %x by %o : tensor<1x4xf32>, tensor<3xi32>\n"
      "    -> tensor<2x1x4xf32>\n"
      "  return %r : tensor<2x1x4xf32>\n"
      "}\n";
  HostTensor rows = makeTensor({1, 4}, [](int64_t n) { return n + 1; });
  auto offsets = [](std::array<double, 3> values) {
    return makeTensor({3}, [=](int64_t n) { return values[n]; });
  };
  EXPECT_EQ(resultOf(text, {rows, offsets({1, 1, 3})}),
            (std::vector<double>{0, 0, 0, 0, 2, 3, 0, 0}));
  for (auto [values, message] :
       {std::pair(std::array<double, 3>{0, 3, 5},
                  "expected offset 2 from 3 to 4, found 5"),
        std::pair(std::array<double, 3>{0, 3, 2},
                  "expected offset 2 from 3 to 4, found 2"),
        std::pair(std::array<double, 3>{-1, 3, 4},
                  "expected offset 0 from 0 to 4, found -1")})
    EXPECT_NE(errorOf(text, {rows, offsets(values)}).find(message),
              std::string::npos)
        << message;
}

/// Rows of pages, and what is said of a table that does not fit.
TEST(Interpreter, Pages) {
  std::string text =
      "func.func @f(%p: tensor<?x1x2x1xf32>, %t: tensor<?x?xi32>,"
      " %l: tensor<?xi32>) -> tensor<?x1x?x1xf32> {\n"
      "  %r = tile.paged %p through %t limit %l : "
      "tensor<?x1x2x1xf32>, tensor<?x?xi32>, tensor<?xi32> -> "
      "tensor<?x1x?x1xf32>\n"
      "  return %r : tensor<?x1x?x1xf32>\n}\n";
  HostTensor pages =
      makeTensor({3, 1, 2, 1}, [](int64_t n) { return double(n + 1); });
  auto integers = [](ArrayRef<int64_t> sizes, ArrayRef<int64_t> values) {
    auto tensor = llvm::cantFail(HostTensor::create(ElementType::I32, sizes));
    size_t next = 0;
    tensor.forEach(
        [&](char *e) { storeElement(e, ElementType::I32, values[next++]); });
    return tensor;
  };
  // No page 9 is read: the sequence ends before it.
  HostTensor table = integers({2, 2}, {2, 9, 1, 2}),
             lengths = integers({2}, {1, 3});
  EXPECT_EQ(resultOf(text, {pages, table, lengths}),
            std::vector<double>({5, 0, 0, 0, 3, 4, 5, 0}));
  EXPECT_NE(
      errorOf(text, {pages, table, integers({2}, {3, 3})})
          .find("expected a page below 3 at [0, 1] of the table, found 9"),
      std::string::npos);
  EXPECT_NE(errorOf(text, {pages, table, integers({2}, {1, 5})})
                .find("expected a length from 0 to 4 in sequence 1, found 5"),
            std::string::npos);
  EXPECT_NE(errorOf(text, {pages, table, integers({1}, {1})})
                .find("expected 2 lengths, as the table has rows, found 1"),
            std::string::npos);
}

/// The twin: a program with another mask gives something else.
TEST(Interpreter, Twin) {
  AttentionProblem right = makeProblem("hq=2 sq=5 sk=9 d=8 causal type=f32");
  AttentionProblem wrong =
      makeProblem("hq=2 sq=5 sk=9 d=8 causal=top-left type=f32");
  AttentionInputs in = llvm::cantFail(makeRandomInputs(right, 5));
  AttentionResult reference = llvm::cantFail(referenceF64(right, in));
  EXPECT_GT(difference(run(wrong, in, Precision::Float64)[0], reference.out),
            1e-3);
}

/// The regions of tile.attention, over scores that end in a part of a row.
TEST(Interpreter, RegionsOfAttention) {
  AttentionProblem problem =
      makeProblem("hq=2 sq=9 sk=301 d=8 causal softcap=0.5 type=f32");
  AttentionInputs in = llvm::cantFail(makeRandomInputs(problem, 3));
  AttentionResult reference = llvm::cantFail(referenceF64(problem, in));
  std::vector<double> found = resultOf(
      "!t = tensor<?x?x?x8xf32>\n"
      "func.func @f(%q: !t, %k: !t, %v: !t, %scale: f32, %far: index,\n"
      "             %caps: tensor<2xf32>) -> !t {\n"
      "  %o = tile.attention %q, %k, %v scale %scale\n"
      "      captures(%far, %caps : index, tensor<2xf32>) : !t, !t, !t -> "
      "!t\n"
      "  score {\n"
      "  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index,\n"
      "       %d: index, %c: tensor<2xf32>):\n"
      "    %cap = tensor.extract %c[%h] : tensor<2xf32>\n"
      "    %s1 = arith.divf %s, %cap : f32\n"
      "    %s2 = math.tanh %s1 : f32\n"
      "    %s3 = arith.mulf %s2, %cap : f32\n"
      "    tile.yield %s3 : f32\n"
      "  } mask {\n"
      "  ^bb0(%b: index, %h: index, %i: index, %j: index,\n"
      "       %d: index, %c: tensor<2xf32>):\n"
      "    %last = arith.addi %i, %d : index\n"
      "    %m = arith.cmpi sle, %j, %last : index\n"
      "    tile.yield %m : i1\n"
      "  }\n"
      "  return %o : !t\n"
      "}\n",
      {in.q, in.k, in.v, problem.effectiveScale(), 292.0,
       makeTensor({2}, [](int64_t) { return 0.5; })});
  std::vector<double> expected = reference.out.toDoubles();
  ASSERT_EQ(found.size(), expected.size());
  for (auto [x, y] : llvm::zip(found, expected))
    EXPECT_NEAR(x, y, 1e-13);
}

static HostTensor runText(StringRef text, const HostTensor &x) {
  auto context = makeContext();
  auto module = parseSourceString<ModuleOp>(text, context.get());
  return llvm::cantFail(interpret(*module, "f", {x}, Precision::Float64))
      .front();
}

/// Integers wrap at their width, and have the sign that the operation gives
/// them.
TEST(Interpreter, IntegersHaveTheirWidth) {
  std::pair<StringRef, double> cases[] = {
      {"%r = arith.muli %big, %big : i32", 1}, // (2^31 - 1)^2 mod 2^32
      {"%r = arith.addi %big, %one : i32", -0x1p31},
      {"%r = arith.divui %minus, %two : i32", 0x1p31 - 1},
      {"%r = arith.remui %minus, %ten : i32", 5},
      {"%c = arith.cmpi ult, %one, %minus : i32\n"
       "%r = arith.extui %c : i1 to i32",
       1},
      {"%c = arith.cmpi slt, %minus, %one : i32\n"
       "%r = arith.extsi %c : i1 to i32",
       -1},
      {"%c = arith.trunci %big : i32 to i8\n"
       "%r = arith.extui %c : i8 to i32",
       255},
      {"%c = arith.trunci %big : i32 to i8\n"
       "%r = arith.extsi %c : i8 to i32",
       -1},
      {"%r = arith.shrui %minus, %ten : i32", 0x1p22 - 1},
      {"%r = arith.shrsi %minus, %ten : i32", -1},
      {"%r = arith.divsi %least, %minus : i32", -0x1p31},
  };
  HostTensor x = llvm::cantFail(HostTensor::create(ElementType::F32, {1}));
  for (auto [ops, expected] : cases) {
    SCOPED_TRACE(ops.str());
    HostTensor result =
        runText(("func.func @f(%x: tensor<1xf32>) -> tensor<1xf32> {\n"
                 "  %one = arith.constant 1 : i32\n"
                 "  %two = arith.constant 2 : i32\n"
                 "  %ten = arith.constant 10 : i32\n"
                 "  %minus = arith.constant -1 : i32\n"
                 "  %big = arith.constant 2147483647 : i32\n"
                 "  %least = arith.constant -2147483648 : i32\n" +
                 ops +
                 "\n"
                 "  %s = arith.sitofp %r : i32 to f32\n"
                 "  %y = tile.broadcast %s : f32 -> tensor<1xf32>\n"
                 "  return %y : tensor<1xf32>\n"
                 "}\n")
                    .str(),
                x);
    EXPECT_EQ(result.at({0}), expected);
  }
}

/// Programs that could be taken for ones that treat heads alike.
TEST(Interpreter, LooksAcrossHeads) {
  HostTensor x =
      llvm::cantFail(HostTensor::create(ElementType::F32, {2, 3, 4}));
  double next = 0;
  x.forEach([&](char *p) { *reinterpret_cast<float *>(p) = next++; });
  HostTensor sum = runText(
      "func.func @f(%x: tensor<?x?x?xf32>) -> tensor<?x?x?xf32> {\n"
      "  %c0 = arith.constant 0 : index\n"
      "  %c1 = arith.constant 1 : index\n"
      "  %c2 = arith.constant 2 : index\n"
      "  %a = tensor.dim %x, %c0 : tensor<?x?x?xf32>\n"
      "  %b = tensor.dim %x, %c1 : tensor<?x?x?xf32>\n"
      "  %c = tensor.dim %x, %c2 : tensor<?x?x?xf32>\n"
      "  %i = tile.iota dim 1 sizes %a, %b, %c : tensor<?x?x?xindex>\n"
      "  %n = arith.index_cast %i : tensor<?x?x?xindex> to "
      "tensor<?x?x?xi32>\n"
      "  %y = arith.sitofp %n : tensor<?x?x?xi32> to tensor<?x?x?xf32>\n"
      "  %z = arith.addf %x, %y : tensor<?x?x?xf32>\n"
      "  return %z : tensor<?x?x?xf32>\n"
      "}\n",
      x);
  EXPECT_EQ(sum.at({1, 2, 3}), 25);
  HostTensor scaled = runText(
      "func.func @f(%x: tensor<?x?x?xf32>) -> tensor<?x?x?xf32> {\n"
      "  %c0 = arith.constant 0 : index\n"
      "  %c1 = arith.constant 1 : index\n"
      "  %c2 = arith.constant 2 : index\n"
      "  %a = tensor.dim %x, %c0 : tensor<?x?x?xf32>\n"
      "  %b = tensor.dim %x, %c1 : tensor<?x?x?xf32>\n"
      "  %c = tensor.dim %x, %c2 : tensor<?x?x?xf32>\n"
      "  %i = arith.index_cast %b : index to i32\n"
      "  %s = arith.sitofp %i : i32 to f32\n"
      "  %y = tile.broadcast %s sizes %a, %b, %c : f32 -> tensor<?x?x?xf32>\n"
      "  %z = arith.mulf %x, %y : tensor<?x?x?xf32>\n"
      "  return %z : tensor<?x?x?xf32>\n"
      "}\n",
      x);
  EXPECT_EQ(scaled.at({1, 2, 3}), 69);
  HostTensor reduced =
      runText("func.func @f(%x: tensor<?x?x?xf32>) -> tensor<?x?xf32> {\n"
              "  %z = tile.reduce add %x dim 1 : tensor<?x?x?xf32> -> "
              "tensor<?x?xf32>\n"
              "  return %z : tensor<?x?xf32>\n"
              "}\n",
              x);
  EXPECT_EQ(reduced.sizes(), ArrayRef<int64_t>({2, 4}));
  EXPECT_EQ(reduced.at({1, 3}), 15 + 19 + 23);
}

/// What gives a number for each slice and a tensor that has none is evaluated
/// as a whole.
TEST(Interpreter, ResultsWithoutSlices) {
  auto context = makeContext();
  auto module = parseSourceString<ModuleOp>(
      "func.func @f(%x: tensor<?x?x?xf32>)\n"
      "    -> (tensor<?x?x?xf32>, tensor<3xf32>) {\n"
      "  %c = arith.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>\n"
      "  return %x, %c : tensor<?x?x?xf32>, tensor<3xf32>\n"
      "}\n",
      context.get());
  HostTensor x =
      llvm::cantFail(HostTensor::create(ElementType::F32, {2, 3, 4}));
  auto results =
      llvm::cantFail(interpret(*module, "f", {x}, Precision::Float64));
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[1].sizes(), ArrayRef<int64_t>({3}));
  EXPECT_EQ(results[1].at({2}), 3);
}

/// Sizes that do not fit are errors, not reads of other memory.
TEST(Interpreter, SizesAreChecked) {
  struct {
    StringRef types, ops, error;
  } cases[] = {
      {"%x: tensor<?x?xf32>, %y: tensor<?x?xf32>",
       "%r = arith.addf %x, %y : tensor<?x?xf32>",
       "expected operands of equal sizes, found 1x3 and 1x5"},
      {"%x: tensor<?x?xf32>, %y: tensor<?x?xf32>",
       "%r = tile.dot %x, %y : tensor<?x?xf32>, tensor<?x?xf32> -> "
       "tensor<?x?xf32>",
       "expected operands with one depth and batches that divide, found 2x3 "
       "and 2x5"},
      {"%x: tensor<?x?xf32>, %y: tensor<?x4xf32>", "",
       "@f: argument 1: expected tensor<?x4xf32>, found a tensor of 2x5"},
      {"%x: tensor<?x?xf32>, %y: f32", "",
       "@f: argument 1: expected f32, found a tensor of 2x5"},
      {"%x: tensor<?x?xf32>, %y: tensor<?x?xf32>",
       "%r = tensor.cast %y : tensor<?x?xf32> to tensor<?x4xf32>",
       "expected tensor<?x4xf32>, found sizes 2x5"},
      {"%x: tensor<?x?xf32>, %y: tensor<?x?xf32>",
       "%c = arith.constant 2 : index\n"
       "%r = tensor.extract %x[%c, %c] : tensor<?x?xf32>",
       "expected an index from 0 to 1 in dimension 0, found 2"},
      {"%x: tensor<?x?xf32>, %y: tensor<?x?xf32>",
       "%c = arith.constant 2 : index\n"
       "%r = tile.broadcast %y sizes %c, %c : tensor<?x?xf32> -> "
       "tensor<?x?xf32>",
       "expected 1 or 2 as size of dimension 1, found 5"},
  };
  auto context = makeContext();
  HostTensor x = llvm::cantFail(HostTensor::create(ElementType::F32, {2, 3}));
  HostTensor y = llvm::cantFail(HostTensor::create(ElementType::F32, {2, 5}));
  for (auto [types, ops, expected] : cases) {
    SCOPED_TRACE(ops.str());
    auto module = parseSourceString<ModuleOp>(
        ("func.func @f(" + types + ") -> tensor<?x?xf32> {\n" + ops +
         "\nreturn %x : tensor<?x?xf32>\n}\n")
            .str(),
        context.get());
    ASSERT_TRUE(module);
    auto result = interpret(*module, "f", {x, y}, Precision::Float64);
    std::string found = result ? "no error" : toString(result.takeError());
    EXPECT_NE(found.find(expected.str()), std::string::npos) << found;
  }
}

TEST(Interpreter, Errors) {
  auto context = makeContext();
  auto module = parseSourceString<ModuleOp>(
      "func.func @f(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {\n"
      "  %e = tensor.generate {\n"
      "  ^bb0(%i: index, %j: index):\n"
      "    %c = arith.constant 1.0 : f32\n"
      "    tensor.yield %c : f32\n"
      "  } : tensor<2x2xf32>\n"
      "  return %e : tensor<2x2xf32>\n"
      "}\n",
      context.get());
  auto errorOf = [&](StringRef entry, ArrayRef<InterpreterValue> arguments) {
    auto result = interpret(*module, entry, arguments, Precision::Float64);
    return result ? "no error" : toString(result.takeError());
  };
  HostTensor x = llvm::cantFail(HostTensor::create(ElementType::F32, {2, 2}));
  EXPECT_NE(errorOf("g", {}).find("expected a function @g"), std::string::npos);
  EXPECT_NE(errorOf("f", {}).find("expected 1 arguments, found 0"),
            std::string::npos);
  EXPECT_NE(errorOf("f", {x}).find("'tensor.generate' is not evaluated"),
            std::string::npos);
}
