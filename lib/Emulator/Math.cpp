//===- Math.cpp - functions of one thread's numbers -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Functions.h"

#include "fa/Numerics/ElementType.h"

#include <bit>
#include <cmath>
#include <limits>

using namespace fa;
using namespace fa::emu;

/// What .ftz makes of a denormal: a zero of its sign.
static float flush(float x) {
  return std::fabs(x) < std::numeric_limits<float>::min()
             ? std::copysign(0.0f, x)
             : x;
}

/// PTX ISA, "Floating Point Instructions: ex2.approx.ftz.f32".
static float exp2Flushed(float x) { return flush(std::exp2(flush(x))); }

/// PTX ISA, "Floating Point Instructions: lg2.approx.ftz.f32".
static float log2Flushed(float x) { return flush(std::log2(flush(x))); }

static uint32_t encode(float x, ElementType type) {
  uint16_t bits;
  storeElement(&bits, type, x);
  return bits;
}

/// PTX ISA, "cvt.rn.f16x2.f32": the first operand is the upper half.
static uint32_t packF16(float high, float low) {
  return encode(high, ElementType::F16) << 16 | encode(low, ElementType::F16);
}

static uint32_t packBf16(float high, float low) {
  return encode(high, ElementType::BF16) << 16 | encode(low, ElementType::BF16);
}

/// PTX ISA, "cvt.rn.f16x2.e4m3x2": the upper code is the upper half.
static uint32_t widenE4M3(uint16_t codes) {
  auto widen = [](auto code) {
    auto byte = static_cast<uint8_t>(code);
    return encode(static_cast<float>(loadElement(&byte, ElementType::F8E4M3)),
                  ElementType::F16);
  };
  return widen(codes >> 8) << 16 | widen(codes);
}

/// PTX ISA, "cvt": .rna.tf32 rounds to nearest, ties away from zero, to the 10
/// bits behind the point that mma.sync multiplies. NaN is 0x7FFFFFFF.
static uint32_t encodeTf32(float x) {
  if (std::isnan(x))
    return 0x7fffffff;
  auto bits = std::bit_cast<uint32_t>(x);
  return std::isinf(x) ? bits : (bits + 0x1000) & 0xffffe000;
}

llvm::ArrayRef<EmulatorFunction> fa::emu::mathFunctions() {
  static const EmulatorFunction functions[] = {
      {"fa_emu_exp2", reinterpret_cast<void *>(exp2Flushed)},
      {"fa_emu_log2", reinterpret_cast<void *>(log2Flushed)},
      {"fa_emu_round_tf32", reinterpret_cast<void *>(encodeTf32)},
      {"fa_emu_widen_e4m3x2", reinterpret_cast<void *>(widenE4M3)},
      {"fa_emu_pack_f16x2", reinterpret_cast<void *>(packF16)},
      {"fa_emu_pack_bf16x2", reinterpret_cast<void *>(packBf16)}};
  return functions;
}
