//===- ElementTypeTest.cpp ------------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Numerics/ElementType.h"

#include "llvm/ADT/APFloat.h"
#include "gtest/gtest.h"

#include <cmath>
#include <limits>

using namespace fa;
using llvm::APFloat;

static const llvm::fltSemantics &semanticsOf(ElementType type) {
  return type == ElementType::F16 ? APFloat::IEEEhalf() : APFloat::BFloat();
}

/// Every pattern of 16 bits means what APFloat says, and survives a round trip.
TEST(ElementType, Exhaustive16Bit) {
  for (ElementType type : {ElementType::F16, ElementType::BF16})
    for (uint32_t bits = 0; bits < 65536; ++bits) {
      uint16_t pattern = bits;
      double value = loadElement(&pattern, type);
      APFloat expected(semanticsOf(type), llvm::APInt(16, bits));
      if (expected.isNaN()) {
        EXPECT_TRUE(std::isnan(value));
        continue;
      }
      bool exact;
      expected.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven,
                       &exact);
      ASSERT_EQ(value, expected.convertToDouble());
      uint16_t back = 0;
      storeElement(&back, type, value);
      ASSERT_EQ(back, pattern);
    }
}

/// Rounding goes straight from double: values just off a tie of the narrow type
/// would round wrongly through f32.
TEST(ElementType, RoundsOnce) {
  for (ElementType type : {ElementType::F16, ElementType::BF16})
    for (uint32_t bits = 0; bits < 0x7000; bits += 7) {
      uint16_t a = bits, b = bits + 1;
      double low = loadElement(&a, type), high = loadElement(&b, type);
      double tie = low + (high - low) / 2;
      double even = bits % 2 ? high : low;
      EXPECT_EQ(roundTo(type, tie), even);
      EXPECT_EQ(roundTo(type, -tie), -even);
      EXPECT_EQ(roundTo(type, std::nextafter(tie, high)), high);
      EXPECT_EQ(roundTo(type, std::nextafter(tie, low)), low);
    }
}

/// Of 8 bits as APFloat converts: all values, what lies between two of them,
/// and what is none of them.
TEST(ElementType, RoundsTo8BitsAsApFloat) {
  double infinity = std::numeric_limits<double>::infinity();
  for (ElementType type : {ElementType::F8E4M3, ElementType::F8E5M2}) {
    const llvm::fltSemantics &semantics = type == ElementType::F8E4M3
                                              ? APFloat::Float8E4M3FN()
                                              : APFloat::Float8E5M2();
    std::vector<double> values = {0.0, 1e-300, 1e300, infinity, std::nan("")};
    for (uint8_t byte = 0; byte < 0x7f; ++byte) {
      uint8_t next = byte + 1;
      double low = loadElement(&byte, type), high = loadElement(&next, type);
      if (std::isnan(low))
        continue;
      EXPECT_EQ(low,
                APFloat(semantics, llvm::APInt(8, byte)).convertToDouble());
      if (!std::isfinite(low) || !std::isfinite(high))
        high = low * 1.125; // behind the last one
      double tie = low + (high - low) / 2;
      values.insert(values.end(), {low, tie, std::nextafter(tie, low),
                                   std::nextafter(tie, high)});
    }
    for (double value : values)
      for (double x : {value, -value}) {
        APFloat expected(x);
        bool exact;
        expected.convert(semantics, APFloat::rmNearestTiesToEven, &exact);
        uint8_t found;
        storeElement(&found, type, x);
        EXPECT_EQ(found, expected.bitcastToAPInt().getZExtValue()) << x;
      }
  }
}

/// What is half a unit above the largest number or more is infinity.
TEST(ElementType, RoundsToInfinity) {
  double infinity = std::numeric_limits<double>::infinity();
  for (auto [type, bits] : {std::pair(ElementType::F16, uint16_t(0x7bff)),
                            std::pair(ElementType::BF16, uint16_t(0x7f7f))}) {
    uint16_t last = bits, before = bits - 1;
    double most = loadElement(&last, type);
    double tie = most + (most - loadElement(&before, type)) / 2;
    EXPECT_EQ(roundTo(type, tie), infinity);
    EXPECT_EQ(roundTo(type, std::nextafter(tie, 0)), most);
    EXPECT_EQ(roundTo(type, -tie), -infinity);
  }
}

TEST(ElementType, SpecialValues) {
  double infinity = std::numeric_limits<double>::infinity();
  for (ElementType type :
       {ElementType::F32, ElementType::F16, ElementType::BF16}) {
    EXPECT_EQ(roundTo(type, infinity), infinity);
    EXPECT_EQ(roundTo(type, -infinity), -infinity);
    EXPECT_TRUE(std::isnan(roundTo(type, std::nan(""))));
    EXPECT_EQ(roundTo(type, 1e300), infinity);
    EXPECT_TRUE(std::signbit(roundTo(type, -0.0)));
  }
}

TEST(ElementType, Names) {
  for (ElementType type :
       {ElementType::F32, ElementType::F16, ElementType::BF16, ElementType::F64,
        ElementType::I32, ElementType::I64, ElementType::I1,
        ElementType::F8E4M3, ElementType::F8E5M2})
    EXPECT_EQ(parseElementType(name(type)), type);
  EXPECT_EQ(parseElementType("float"), std::nullopt);
}

TEST(ElementType, Tf32RoundsTiesAwayFromZero) {
  float unit = std::ldexp(1.0f, -10), half = unit / 2;
  EXPECT_EQ(roundToTf32(1 + half), 1 + unit);
  EXPECT_EQ(roundToTf32(-1 - half), -1 - unit);
  EXPECT_EQ(roundToTf32(1 + unit + half), 1 + 2 * unit);
  EXPECT_EQ(roundToTf32(std::nextafter(1 + half, 0.0f)), 1.0f);
  EXPECT_EQ(roundToTf32(2 - half / 2), 2.0f);
  for (float exact : {0.0f, -0.0f, 1.5f, 65504.0f, std::ldexp(1.0f, -126)})
    EXPECT_EQ(roundToTf32(exact), exact);
  float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(roundToTf32(-infinity), -infinity);
  EXPECT_EQ(roundToTf32(std::numeric_limits<float>::max()), infinity);
  EXPECT_TRUE(std::isnan(roundToTf32(std::nanf(""))));
}
