//===- DerivativesTest.cpp - gradients against differences ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each rule of tile-differentiate against central differences: a function is
// interpreted in float64 as it is written, and so are its gradients.
//
//===----------------------------------------------------------------------===//

#include "fa/Fusion/Passes.h"
#include "fa/Interpreter/Interpreter.h"
#include "fa/Target/Compile.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "gtest/gtest.h"

#include <cmath>

using namespace fa;
using Sizes = std::vector<int64_t>;

namespace {

std::unique_ptr<mlir::MLIRContext> makeContext() {
  mlir::DialectRegistry registry;
  registerDialects(registry);
  auto context = std::make_unique<mlir::MLIRContext>(registry);
  context->loadAllAvailableDialects();
  return context;
}

/// A program whose function @f takes and gives tensors of f64 and is
/// differentiated with respect to all arguments.
class Program {
public:
  Program(const std::string &text, std::vector<Sizes> sizes)
      : sizes(std::move(sizes)), context(makeContext()) {
    original = mlir::parseSourceString<mlir::ModuleOp>(text, context.get());
    if (!original)
      return;
    differentiated = original->clone();
    mlir::PassManager pm(context.get());
    pm.addPass(createTileDifferentiate());
    isGood = succeeded(pm.run(*differentiated));
  }

  explicit operator bool() const { return isGood; }

  /// The greatest distance of a gradient from the difference quotient of
  /// Σ cotangent · f, relative to 1 and the greatest of them.
  double error(const std::vector<HostTensor> &inputs) const {
    std::vector<HostTensor> results = run(*original, inputs);
    HostTensor cotangent = filled(results.front().sizes(), 77);
    std::vector<HostTensor> all = inputs;
    all.push_back(results.front());
    all.push_back(cotangent);
    std::vector<HostTensor> gradients = run(*differentiated, all);
    double worst = 0, most = 1;
    for (size_t n = 0; n < inputs.size(); ++n) {
      std::vector<double> found = gradients[n].toDoubles();
      for (int64_t e = 0; e < inputs[n].numElements(); ++e) {
        double quotient = (scalar(inputs, cotangent, n, e, kStep) -
                           scalar(inputs, cotangent, n, e, -kStep)) /
                          (2 * kStep);
        worst = std::max(worst, std::abs(found[e] - quotient));
        most = std::max(most, std::abs(quotient));
      }
    }
    return worst / most;
  }

  /// Numbers between `low` and `high`.
  std::vector<HostTensor> inputs(double low, double high) const {
    std::vector<HostTensor> made;
    for (auto [n, each] : llvm::enumerate(sizes))
      made.push_back(filled(each, n, low, high));
    return made;
  }

  std::vector<double> gradient(const std::vector<HostTensor> &inputs) const {
    std::vector<HostTensor> all = inputs;
    all.push_back(run(*original, inputs).front());
    HostTensor cotangent = filled(all.back().sizes(), 0);
    cotangent.fill(1.0);
    all.push_back(cotangent);
    return run(*differentiated, all).front().toDoubles();
  }

  static HostTensor filled(llvm::ArrayRef<int64_t> sizes, int seed,
                           double low = -1, double high = 1) {
    HostTensor tensor =
        llvm::cantFail(HostTensor::create(ElementType::F64, sizes));
    uint64_t state = 0x9e3779b97f4a7c15u * (seed + 1);
    tensor.forEach([&](char *element) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      double unit = double(state >> 11) * 0x1p-53;
      *reinterpret_cast<double *>(element) = low + (high - low) * unit;
    });
    return tensor;
  }

private:
  static constexpr double kStep = 1e-5;

  static std::vector<HostTensor> run(mlir::ModuleOp module,
                                     const std::vector<HostTensor> &inputs) {
    std::vector<InterpreterValue> values(inputs.begin(), inputs.end());
    return llvm::cantFail(interpret(module, "f", values, Precision::Float64));
  }

  double scalar(std::vector<HostTensor> inputs, const HostTensor &cotangent,
                size_t n, int64_t element, double step) const {
    HostTensor moved =
        llvm::cantFail(HostTensor::create(ElementType::F64, inputs[n].sizes()));
    auto *to = static_cast<double *>(moved.data());
    llvm::copy(inputs[n].toDoubles(), to);
    to[element] += step;
    inputs[n] = moved;
    double sum = 0;
    for (auto [value, factor] : llvm::zip(
             run(*original, inputs).front().toDoubles(), cotangent.toDoubles()))
      sum += value * factor;
    return sum;
  }

  std::vector<Sizes> sizes;
  std::unique_ptr<mlir::MLIRContext> context;
  mlir::OwningOpRef<mlir::ModuleOp> original, differentiated;
  bool isGood = false;
};

} // namespace

/// A function of two vectors whose result %r is that of `ops`.
static Program elementwise(const std::string &ops) {
  return Program(R"(
!t = tensor<9xf64>
func.func @f(%x: !t, %y: !t) -> !t
    attributes {tile.vjp_wrt = array<i64: 0, 1>} {
)" + ops + R"(
  return %r : !t
})",
                 {{9}, {9}});
}

static void check(const std::string &ops, double low = -2, double high = 2) {
  SCOPED_TRACE(ops);
  Program program = elementwise(ops);
  ASSERT_TRUE(bool(program));
  EXPECT_LT(program.error(program.inputs(low, high)), 1e-8);
}

TEST(Derivatives, Elementwise) {
  check("%r = arith.addf %x, %y : !t");
  check("%r = arith.subf %x, %y : !t");
  check("%r = arith.mulf %x, %y : !t");
  check("%r = arith.mulf %x, %x : !t");
  check("%r = arith.divf %x, %y : !t", 0.5, 2);
  check("%r = arith.negf %x : !t");
  check("%r = math.fma %x, %y, %x : !t");
  check("%r = arith.maximumf %x, %y : !t");
  check("%r = arith.minimumf %x, %y : !t");
  check("%r = arith.maxnumf %x, %y : !t");
  check("%r = arith.minnumf %x, %y : !t");
  check("%a = arith.truncf %x : !t to tensor<9xf32> "
        "%r = arith.extf %a : tensor<9xf32> to !t");
  check("%c = arith.cmpf olt, %x, %y : !t %d = arith.mulf %x, %x : !t "
        "%r = arith.select %c, %d, %y : tensor<9xi1>, !t");
}

TEST(Derivatives, Math) {
  for (const char *name : {"exp", "exp2", "expm1", "tanh", "sin", "cos", "sinh",
                           "cosh", "atan", "erf", "absf"})
    check(std::string("%r = math.") + name + " %x : !t");
  for (const char *name : {"log", "log2", "log1p", "sqrt", "rsqrt"})
    check(std::string("%r = math.") + name + " %x : !t", 0.3, 2);
  for (const char *name : {"floor", "ceil", "trunc", "round", "roundeven"})
    check(std::string("%s = math.") + name +
          " %x : !t %r = arith.addf %s, %y : !t");
  check("%r = math.powf %x, %y : !t", 0.3, 2);
  // A chain of them, each used twice.
  check("%a = math.tanh %x : !t %b = arith.mulf %a, %y : !t "
        "%c = math.exp %b : !t %d = arith.addf %c, %a : !t "
        "%r = arith.divf %d, %c : !t");
}

TEST(Derivatives, Kinks) {
  auto at = [](const std::string &ops, double x, double y) {
    Program program = elementwise(ops);
    std::vector<HostTensor> inputs = program.inputs(0, 1);
    inputs[0].fill(x);
    inputs[1].fill(y);
    return program.gradient(inputs).front();
  };
  EXPECT_EQ(at("%r = math.absf %x : !t", 0, 0), 0);
  EXPECT_EQ(at("%r = arith.maximumf %x, %y : !t", 1, 1), 0.5);
  EXPECT_EQ(at("%r = arith.minimumf %x, %y : !t", 1, 1), 0.5);
  EXPECT_EQ(at("%r = math.sqrt %x : !t", 0, 0), HUGE_VAL);
}

static void checkTensors(const std::string &text, std::vector<Sizes> sizes) {
  SCOPED_TRACE(text);
  Program program(text, std::move(sizes));
  ASSERT_TRUE(bool(program));
  EXPECT_LT(program.error(program.inputs(-1, 1)), 1e-8);
}

TEST(Derivatives, Tensors) {
  checkTensors(R"(
func.func @f(%x: tensor<3x4xf64>) -> tensor<4x3xf64>
    attributes {tile.vjp_wrt = array<i64: 0>} {
  %s = tile.reduce add %x dim 1 : tensor<3x4xf64> -> tensor<3xf64>
  %e = tile.expand_dims %s dim 1 : tensor<3xf64> -> tensor<3x1xf64>
  %b = tile.broadcast %e : tensor<3x1xf64> -> tensor<3x4xf64>
  %p = arith.mulf %b, %x : tensor<3x4xf64>
  %t = tile.transpose %p [1, 0] : tensor<3x4xf64> -> tensor<4x3xf64>
  %c = tensor.collapse_shape %t [[0, 1]] : tensor<4x3xf64> into tensor<12xf64>
  %q = arith.mulf %c, %c : tensor<12xf64>
  %r = tensor.expand_shape %q [[0, 1]] output_shape [4, 3] : tensor<12xf64> into tensor<4x3xf64>
  return %r : tensor<4x3xf64>
})",
               {{3, 4}});
  checkTensors(R"(
func.func @f(%x: tensor<?x?xf64>) -> tensor<?xf64>
    attributes {tile.vjp_wrt = array<i64: 0>} {
  %p = tile.softmax %x : tensor<?x?xf64>
  %q = arith.mulf %p, %x : tensor<?x?xf64>
  %s = tile.reduce add %q dim 1 : tensor<?x?xf64> -> tensor<?xf64>
  %l = tile.log_sum_exp %x : tensor<?x?xf64> -> tensor<?xf64>
  %r = arith.mulf %s, %l : tensor<?xf64>
  return %r : tensor<?xf64>
})",
               {{3, 5}});
}

TEST(Derivatives, Dots) {
  checkTensors(R"(
func.func @f(%a: tensor<3x4xf64>, %b: tensor<4x5xf64>, %c: tensor<3x5xf64>) -> tensor<3x5xf64>
    attributes {tile.vjp_wrt = array<i64: 0, 1, 2>} {
  %r = tile.dot %a, %b acc %c : tensor<3x4xf64>, tensor<4x5xf64> -> tensor<3x5xf64>
  return %r : tensor<3x5xf64>
})",
               {{3, 4}, {4, 5}, {3, 5}});
  // Two heads of %a share one of %b, of numbers known at launch and before.
  for (std::string h : {"?", "4"})
    checkTensors("!a = tensor<2x" + h + "x3x5xf64>\n!b = tensor<2x" +
                     (h == "?" ? "?" : "2") + "x4x5xf64>\n!r = tensor<2x" + h +
                     R"(x3x4xf64>
func.func @f(%a: !a, %b: !b) -> !r
    attributes {tile.vjp_wrt = array<i64: 0, 1>} {
  %r = tile.dot %a, %b transpose_b : !a, !b -> !r
  return %r : !r
})",
                 {{2, 4, 3, 5}, {2, 2, 4, 5}});
}

// Attention as it is written: scores, a cap, a bias, softmax, values.
TEST(Derivatives, Attention) {
  checkTensors(R"(
!q = tensor<1x4x3x5xf64>
!k = tensor<1x2x6x5xf64>
!s = tensor<1x4x3x6xf64>
func.func @f(%q: !q, %k: !k, %v: !k, %bias: tensor<1x1x3x6xf64>) -> !q
    attributes {tile.vjp_wrt = array<i64: 0, 1, 2, 3>} {
  %s = tile.dot %q, %k transpose_b : !q, !k -> !s
  %c = arith.constant dense<3.0> : !s
  %d = arith.divf %s, %c : !s
  %t = math.tanh %d : !s
  %m = arith.mulf %t, %c : !s
  %b = tile.broadcast %bias : tensor<1x1x3x6xf64> -> !s
  %x = arith.addf %m, %b : !s
  %p = tile.softmax %x : !s
  %o = tile.dot %p, %v : !s, !k -> !q
  return %o : !q
})",
               {{1, 4, 3, 5}, {1, 2, 6, 5}, {1, 2, 6, 5}, {1, 1, 3, 6}});
}

// The twin: a gradient of something else is found.
TEST(Derivatives, FindsAWrongOne) {
  Program right = elementwise("%r = math.exp %x : !t");
  std::vector<HostTensor> inputs = right.inputs(-2, 2);
  std::vector<double> found = right.gradient(inputs);
  Program other = elementwise("%r = math.expm1 %y : !t");
  EXPECT_NE(found, other.gradient(inputs));
  Program wrong = elementwise("%s = math.floor %x : !t "
                              "%r = arith.mulf %s, %x : !t");
  // Across an edge of floor a difference is no derivative.
  for (HostTensor &input : inputs)
    input.fill(1.0);
  EXPECT_GT(wrong.error(inputs), 0.5);
}
