//===- ElementType.cpp - elements in memory -------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Numerics/ElementType.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/Support/ErrorHandling.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <utility>

using namespace fa;

static const llvm::fltSemantics &semanticsOf(ElementType type) {
  switch (type) {
  case ElementType::F16:
    return llvm::APFloat::IEEEhalf();
  case ElementType::BF16:
    return llvm::APFloat::BFloat();
  case ElementType::F8E4M3:
    return llvm::APFloat::Float8E4M3FN();
  case ElementType::F8E5M2:
    return llvm::APFloat::Float8E5M2();
  default:
    llvm_unreachable("a narrow float");
  }
}

template <typename T> static T read(const void *p) {
  T x;
  std::memcpy(&x, p, sizeof x);
  return x;
}

template <typename T> static void write(void *p, T x) {
  std::memcpy(p, &x, sizeof x);
}

/// Without a call of the compiler's library: the bits of a half, moved to their
/// place in a float, are its value at another bias.
static float widenF16(uint16_t half) {
  uint32_t sign = uint32_t(half & 0x8000) << 16, rest = half & 0x7fff;
  if (rest >= 0x7c00) // infinity or NaN
    return std::bit_cast<float>(sign | 0x7f800000 | (rest & 0x3ff) << 13);
  float size = std::bit_cast<float>(rest << 13) * 0x1p112f;
  return std::bit_cast<float>(std::bit_cast<uint32_t>(size) | sign);
}

/// The values of all bytes.
static const std::array<double, 256> &valuesOf8(ElementType type) {
  auto compute = [](ElementType type) {
    std::array<double, 256> values;
    for (unsigned byte = 0; byte < values.size(); ++byte)
      values[byte] = llvm::APFloat(semanticsOf(type), llvm::APInt(8, byte))
                         .convertToDouble();
    return values;
  };
  static const auto e4m3 = compute(ElementType::F8E4M3);
  static const auto e5m2 = compute(ElementType::F8E5M2);
  return type == ElementType::F8E4M3 ? e4m3 : e5m2;
}

double fa::loadElement(const void *p, ElementType type) {
  switch (type) {
  case ElementType::F32:
    return read<float>(p);
  case ElementType::F64:
    return read<double>(p);
  case ElementType::F16:
    return widenF16(read<uint16_t>(p));
  case ElementType::BF16:
    return std::bit_cast<float>(uint32_t(read<uint16_t>(p)) << 16);
  case ElementType::I32:
    return read<int32_t>(p);
  case ElementType::I64:
    return static_cast<double>(read<int64_t>(p));
  case ElementType::I1:
    return read<uint8_t>(p) != 0;
  case ElementType::F8E4M3:
  case ElementType::F8E5M2:
    return valuesOf8(type)[read<uint8_t>(p)];
  }
  llvm_unreachable("every element type is handled");
}

namespace {

struct NarrowFormat {
  int bits, mantissa, bias;
};

} // namespace

static NarrowFormat formatOf(ElementType type) {
  switch (type) {
  case ElementType::F16:
    return {16, 10, 15};
  case ElementType::BF16:
    return {16, 7, 127};
  case ElementType::F8E4M3:
    return {8, 3, 7};
  case ElementType::F8E5M2:
    return {8, 2, 15};
  default:
    llvm_unreachable("a narrow float");
  }
}

/// Rounds a double to a narrow type once: rounding to f32 first would round
/// twice.
static uint16_t roundToNarrow(double value, ElementType type) {
  constexpr int mantissaOfDouble = 52, biasOfDouble = 1023;
  auto [width, mantissa, bias] = formatOf(type);
  auto bits = std::bit_cast<uint64_t>(value);
  int exponent = int(bits >> mantissaOfDouble & 0x7ff) - biasOfDouble + bias;
  // The result is a normal number for most: exponent and mantissa are one
  // integer, which is rounded to even; a carry is one of the exponent, to
  // infinity in the end.
  if (exponent > 0 && exponent <= 2 * bias) {
    int dropped = mantissaOfDouble - mantissa;
    uint64_t kept = uint64_t(exponent) << mantissaOfDouble |
                    (bits & ((uint64_t(1) << mantissaOfDouble) - 1));
    kept += (uint64_t(1) << (dropped - 1)) - 1 + (kept >> dropped & 1);
    return uint16_t(bits >> 63 << (width - 1) | kept >> dropped);
  }
  if (type == ElementType::F16)
    return std::bit_cast<uint16_t>(static_cast<_Float16>(value));
  if (value == 0)
    return uint16_t(bits >> (64 - width)); // the sign
  llvm::APFloat x(value);
  bool exact;
  x.convert(semanticsOf(type), llvm::APFloat::rmNearestTiesToEven, &exact);
  return static_cast<uint16_t>(x.bitcastToAPInt().getZExtValue());
}

void fa::storeElement(void *p, ElementType type, double value) {
  switch (type) {
  case ElementType::F32:
    return write(p, static_cast<float>(value));
  case ElementType::F64:
    return write(p, value);
  case ElementType::F16:
  case ElementType::BF16:
    return write(p, roundToNarrow(value, type));
  case ElementType::I32:
    return write(p, static_cast<int32_t>(value));
  case ElementType::I64:
    return write(p, static_cast<int64_t>(value));
  case ElementType::I1:
    return write(p, static_cast<uint8_t>(value != 0));
  case ElementType::F8E4M3:
  case ElementType::F8E5M2:
    return write(p, static_cast<uint8_t>(roundToNarrow(value, type)));
  }
}

double fa::roundTo(ElementType type, double value) {
  if (type == ElementType::F64)
    return value;
  char bytes[8];
  storeElement(bytes, type, value);
  return loadElement(bytes, type);
}

float fa::roundToTf32(float value) {
  if (!std::isfinite(value))
    return value;
  // The sign is apart, so that adding half a unit rounds away from zero.
  uint32_t bits = std::bit_cast<uint32_t>(value) + (1u << 12);
  return std::bit_cast<float>(bits & ~0x1fffu);
}
