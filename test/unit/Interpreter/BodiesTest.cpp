//===- BodiesTest.cpp - operations in the bodies of linalg ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each operation is compared with the same written in C++, element by element,
// on tensors that fill no row, one, and some and a part of one.
//
//===----------------------------------------------------------------------===//

#include "Programs.h"

#include "llvm/ADT/STLExtras.h"
#include "gtest/gtest.h"

#include <cmath>
#include <limits>

using namespace fa;
using Twice = std::numeric_limits<double>;

static constexpr int64_t kCounts[] = {0, 1, 5, 255, 256, 257, 700};

/// Numbers of all kinds, in an order in which each meets each.
static double special(int64_t n) {
  const double numbers[] = {1.5,  -2,   0,
                            -0.0, 1e30, -3e-20,
                            700,  0.3,  Twice::infinity(),
                            -7.7, 2,    -Twice::infinity(),
                            1,    -1,   Twice::quiet_NaN(),
                            64,   1e-3};
  return numbers[n % std::size(numbers)];
}

static double other(int64_t n) { return special(n / 17 + n * 5); }
static double third(int64_t n) { return special(n * 3 + 1); }

/// A generic of three vectors whose body, of %x, %y and %z, gives `type` %r.
static std::string makeProgram(const std::string &ops) {
  return R"(
#id = affine_map<(d0) -> (d0)>
!t = tensor<?xf64>
func.func @f(%a: !t, %b: !t, %c: !t) -> !t {
  %i0 = arith.constant 0 : index
  %size = tensor.dim %a, %i0 : !t
  %e = tensor.empty(%size) : !t
  %half = arith.constant 0.5 : f64
  %ten = arith.constant 10 : i8
  %g = linalg.generic {indexing_maps = [#id, #id, #id, #id],
      iterator_types = ["parallel"]} ins(%a, %b, %c : !t, !t, !t)
      outs(%e : !t) {
  ^bb0(%x: f64, %y: f64, %z: f64, %o: f64):
)" + ops +
         R"(
    linalg.yield %r : f64
  } -> !t
  return %g : !t
})";
}

static void check(const std::string &ops,
                  const std::function<double(double, double, double)> &f,
                  double (*first)(int64_t) = special) {
  SCOPED_TRACE(ops);
  for (int64_t count : kCounts) {
    std::vector<double> expected;
    for (int64_t n = 0; n < count; ++n)
      expected.push_back(f(first(n), other(n), third(n)));
    expectSame(resultOf(makeProgram(ops),
                        {makeTensor({count}, first), makeTensor({count}, other),
                         makeTensor({count}, third)}),
               expected);
  }
}

TEST(Bodies, Floats) {
  struct {
    const char *op;
    double (*f)(double);
  } unary[] = {
      {"arith.negf", [](double x) { return -x; }},
      {"math.absf", [](double x) { return std::fabs(x); }},
      {"math.exp", [](double x) { return std::exp(x); }},
      {"math.exp2", [](double x) { return std::exp2(x); }},
      {"math.log", [](double x) { return std::log(x); }},
      {"math.log2", [](double x) { return std::log2(x); }},
      {"math.tanh", [](double x) { return std::tanh(x); }},
      {"math.sqrt", [](double x) { return std::sqrt(x); }},
      {"math.rsqrt", [](double x) { return 1 / std::sqrt(x); }},
      {"math.sin", [](double x) { return std::sin(x); }},
      {"math.cos", [](double x) { return std::cos(x); }},
      {"math.erf", [](double x) { return std::erf(x); }},
      {"math.floor", [](double x) { return std::floor(x); }},
      {"math.ceil", [](double x) { return std::ceil(x); }},
  };
  for (auto [op, f] : unary)
    check("%r = " + std::string(op) + " %x : f64",
          [f = f](double x, double, double) { return f(x); });
  struct {
    const char *op;
    double (*f)(double, double);
  } binary[] = {
      {"arith.addf", [](double x, double y) { return x + y; }},
      {"arith.subf", [](double x, double y) { return x - y; }},
      {"arith.mulf", [](double x, double y) { return x * y; }},
      {"arith.divf", [](double x, double y) { return x / y; }},
      {"math.powf", [](double x, double y) { return std::pow(x, y); }},
  };
  for (auto [op, f] : binary)
    check("%r = " + std::string(op) + " %x, %y : f64",
          [f = f](double x, double y, double) { return f(x, y); });
  check("%r = math.fma %x, %y, %z : f64",
        [](double x, double y, double z) { return std::fma(x, y, z); });
}

/// The larger one and the smaller one; with zeros of two signs either may be
/// taken, so 0 is added.
TEST(Bodies, Maxima) {
  auto nan = [](double x, double y) { return std::isnan(x) || std::isnan(y); };
  auto checkZero = [](const std::string &op, auto f) {
    check("%zero = arith.constant 0.0 : f64\n%m = arith." + op +
              " %x, %y : f64\n%r = arith.addf %m, %zero : f64",
          [f](double x, double y, double) { return f(x, y) + 0.0; });
  };
  checkZero("maximumf", [&](double x, double y) {
    return nan(x, y) ? Twice::quiet_NaN() : x > y ? x : y;
  });
  checkZero("minimumf", [&](double x, double y) {
    return nan(x, y) ? Twice::quiet_NaN() : x < y ? x : y;
  });
  checkZero("maxnumf", [](double x, double y) {
    return std::isnan(x) ? y : std::isnan(y) || x > y ? x : y;
  });
  checkZero("minnumf", [](double x, double y) {
    return std::isnan(x) ? y : std::isnan(y) || x < y ? x : y;
  });
}

TEST(Bodies, ComparisonsOfFloats) {
  struct {
    const char *predicate;
    bool (*ordered)(double, double);
    bool unordered;
  } cases[] = {
      {"false", [](double, double) { return false; }, false},
      {"oeq", [](double x, double y) { return x == y; }, false},
      {"ogt", [](double x, double y) { return x > y; }, false},
      {"oge", [](double x, double y) { return x >= y; }, false},
      {"olt", [](double x, double y) { return x < y; }, false},
      {"ole", [](double x, double y) { return x <= y; }, false},
      {"one", [](double x, double y) { return x != y; }, false},
      {"ord", [](double, double) { return true; }, false},
      {"ueq", [](double x, double y) { return x == y; }, true},
      {"ugt", [](double x, double y) { return x > y; }, true},
      {"uge", [](double x, double y) { return x >= y; }, true},
      {"ult", [](double x, double y) { return x < y; }, true},
      {"ule", [](double x, double y) { return x <= y; }, true},
      {"une", [](double x, double y) { return x != y; }, true},
      {"uno", [](double, double) { return false; }, true},
      {"true", [](double, double) { return true; }, true},
  };
  for (auto c : cases)
    check("%c1 = arith.cmpf " + std::string(c.predicate) +
              ", %x, %y : f64\n%r = arith.uitofp %c1 : i1 to f64",
          [c](double x, double y, double) {
            bool isNaN = std::isnan(x) || std::isnan(y);
            return double(isNaN ? c.unordered : c.ordered(x, y));
          });
}

/// Conditions on conditions, and integers that are chosen.
TEST(Bodies, SelectsInChains) {
  check("%c1 = arith.cmpf olt, %x, %y : f64\n"
        "%c2 = arith.cmpf oge, %z, %half : f64\n"
        "%c3 = arith.xori %c1, %c2 : i1\n"
        "%s = arith.select %c3, %x, %z : f64\n"
        "%c4 = arith.select %c1, %c2, %c3 : i1\n"
        "%r = arith.select %c4, %s, %half : f64",
        [](double x, double y, double z) {
          bool c1 = x < y, c2 = z >= 0.5, c3 = c1 != c2;
          return (c1 ? c2 : c3) ? (c3 ? x : z) : 0.5;
        });
}

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

/// All numbers of 8 bits, in an order in which each meets many.
static double byte(int64_t n) {
  return static_cast<double>(n * 77 % 256 - 128);
}

/// `op` of two i8 is f, whose low 8 bits count.
static void checkBytes(const std::string &op, int (*f)(int8_t, int8_t)) {
  SCOPED_TRACE(op);
  constexpr int64_t count = 256 * 256 + 3;
  auto x = [](int64_t n) { return byte(n / 256); };
  std::vector<double> expected;
  for (int64_t n = 0; n < count; ++n)
    expected.push_back(static_cast<int8_t>(
        f(static_cast<int8_t>(x(n)), static_cast<int8_t>(byte(n)))));
  expectSame(resultOf(makeProgram("%i = arith.fptosi %x : f64 to i8\n"
                                  "%j = arith.fptosi %y : f64 to i8\n" +
                                  op + "\n%r = arith.sitofp %k : i8 to f64"),
                      {makeTensor({count}, x), makeTensor({count}, byte),
                       makeTensor({count}, byte)}),
             expected);
}

static unsigned toUnsigned(int8_t x) { return static_cast<uint8_t>(x); }

TEST(Bodies, IntegersWrap) {
  using Byte = int8_t;
  struct {
    const char *op;
    int (*f)(Byte, Byte);
  } cases[] = {
      {"addi", [](Byte x, Byte y) { return x + y; }},
      {"subi", [](Byte x, Byte y) { return x - y; }},
      {"muli", [](Byte x, Byte y) { return x * y; }},
      {"andi", [](Byte x, Byte y) { return x & y; }},
      {"ori", [](Byte x, Byte y) { return x | y; }},
      {"xori", [](Byte x, Byte y) { return x ^ y; }},
      // By 0 there is some number: this one.
      {"divsi", [](Byte x, Byte y) { return y ? x / y : 0; }},
      {"remsi", [](Byte x, Byte y) { return y ? x % y : 0; }},
      {"divui",
       [](Byte x, Byte y) {
         return y ? int(toUnsigned(x) / toUnsigned(y)) : 0;
       }},
      {"remui",
       [](Byte x, Byte y) {
         return y ? int(toUnsigned(x) % toUnsigned(y)) : 0;
       }},
      {"maxsi", [](Byte x, Byte y) { return x > y ? int(x) : int(y); }},
      {"minsi", [](Byte x, Byte y) { return x < y ? int(x) : int(y); }},
      {"maxui",
       [](Byte x, Byte y) {
         return int(std::max(toUnsigned(x), toUnsigned(y)));
       }},
      {"minui",
       [](Byte x, Byte y) {
         return int(std::min(toUnsigned(x), toUnsigned(y)));
       }},
  };
  for (auto [op, f] : cases)
    checkBytes("%k = arith." + std::string(op) + " %i, %j : i8", f);
}

TEST(Bodies, IntegersShift) {
  // By no more than there are bits.
  auto checkShift = [](const std::string &op, int (*f)(int8_t, int8_t)) {
    checkBytes("%c7 = arith.constant 7 : i8\n"
               "%by = arith.andi %j, %c7 : i8\n"
               "%k = arith." +
                   op + " %i, %by : i8",
               f);
  };
  checkShift("shli", [](int8_t x, int8_t y) { return x << (y & 7); });
  checkShift("shrsi", [](int8_t x, int8_t y) { return x >> (y & 7); });
  checkShift("shrui",
             [](int8_t x, int8_t y) { return int(toUnsigned(x) >> (y & 7)); });
}

TEST(Bodies, ComparisonsOfIntegers) {
  using Byte = int8_t;
  struct {
    const char *predicate;
    int (*f)(Byte, Byte);
  } cases[] = {
      {"eq", [](Byte x, Byte y) { return int(x == y); }},
      {"ne", [](Byte x, Byte y) { return int(x != y); }},
      {"slt", [](Byte x, Byte y) { return int(x < y); }},
      {"sle", [](Byte x, Byte y) { return int(x <= y); }},
      {"sgt", [](Byte x, Byte y) { return int(x > y); }},
      {"sge", [](Byte x, Byte y) { return int(x >= y); }},
      {"ult",
       [](Byte x, Byte y) { return int(toUnsigned(x) < toUnsigned(y)); }},
      {"ule",
       [](Byte x, Byte y) { return int(toUnsigned(x) <= toUnsigned(y)); }},
      {"ugt",
       [](Byte x, Byte y) { return int(toUnsigned(x) > toUnsigned(y)); }},
      {"uge",
       [](Byte x, Byte y) { return int(toUnsigned(x) >= toUnsigned(y)); }},
  };
  for (auto [predicate, f] : cases)
    checkBytes("%c1 = arith.cmpi " + std::string(predicate) +
                   ", %i, %j : i8\n%k = arith.extui %c1 : i1 to i8",
               f);
}

/// Widths change, with and without the sign; a boolean is 1, or −1 if it has a
/// sign.
TEST(Bodies, ConversionsOfIntegers) {
  checkBytes("%w = arith.extsi %i : i8 to i32\n"
             "%v = arith.extui %j : i8 to i32\n"
             "%d = arith.divsi %w, %v : i32\n"
             "%k = arith.trunci %d : i32 to i8",
             [](int8_t x, int8_t y) { return y ? x / int(toUnsigned(y)) : 0; });
  checkBytes("%w = arith.index_cast %i : i8 to index\n"
             "%v = arith.index_castui %j : i8 to index\n"
             "%d = arith.subi %w, %v : index\n"
             "%two = arith.constant 2 : index\n"
             "%h = arith.divsi %d, %two : index\n"
             "%k = arith.index_cast %h : index to i8",
             [](int8_t x, int8_t y) { return (x - int(toUnsigned(y))) / 2; });
  checkBytes("%c1 = arith.cmpi slt, %i, %j : i8\n"
             "%k = arith.extsi %c1 : i1 to i8",
             [](int8_t x, int8_t y) { return x < y ? -1 : 0; });
  checkBytes("%a1 = math.absi %i : i8\n%k = arith.addi %a1, %ten : i8",
             [](int8_t x, int8_t) { return std::abs(int(x)) + 10; });
  checkBytes("%w = arith.uitofp %i : i8 to f64\n"
             "%k = arith.fptoui %w : f64 to i8",
             [](int8_t x, int8_t) { return int(x); });
}

/// What no integer of 64 bits holds gives 0, not a trap.
TEST(Bodies, FloatsTooLargeForIntegers) {
  check("%i = arith.fptosi %x : f64 to i64\n%r = arith.sitofp %i : i64 to f64",
        [](double x, double, double) {
          return std::fabs(x) < 0x1p63 ? std::trunc(x) + 0.0 : 0;
        });
  check("%i = arith.fptoui %x : f64 to i64\n%r = arith.uitofp %i : i64 to f64",
        [](double x, double, double) {
          return x > -1 && x < 0x1p64 ? std::trunc(x) + 0.0 : 0;
        });
}

//===----------------------------------------------------------------------===//
// Precisions
//===----------------------------------------------------------------------===//

/// Float64 leaves a conversion alone; Declared rounds what each operation
/// gives to its type.
TEST(Bodies, DeclaredPrecisionRounds) {
  struct {
    const char *name;
    ElementType type;
  } types[] = {{"f16", ElementType::F16},
               {"bf16", ElementType::BF16},
               {"f32", ElementType::F32}};
  for (auto [name, type] : types) {
    SCOPED_TRACE(name);
    std::string ops = "%n = arith.truncf %x : f64 to " + std::string(name) +
                      "\n%p = arith.mulf %n, %n : " + name +
                      "\n%r = arith.extf %p : " + name + " to f64";
    auto x = [](int64_t n) { return 1 + sample(n) / 0x1p22; };
    constexpr int64_t count = 300;
    HostTensor in = makeTensor({count}, x);
    std::vector<double> exact, declared;
    for (int64_t n = 0; n < count; ++n) {
      exact.push_back(x(n) * x(n));
      double rounded = roundTo(type, x(n));
      declared.push_back(roundTo(type, rounded * rounded));
    }
    expectSame(resultOf(makeProgram(ops), {in, in, in}), exact);
    expectSame(resultOf(makeProgram(ops), {in, in, in}, Precision::Declared),
               declared);
  }
}
