//===- MatrixDescriptor.h - operands of wgmma in shared memory --*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_EMULATOR_MATRIXDESCRIPTOR_H
#define FA_LIB_EMULATOR_MATRIXDESCRIPTOR_H

#include <cstdint>

namespace fa::emu {

/// PTX ISA 9.7.15.5.1.2, "Shared Memory Matrix Layout: Matrix Descriptor".
class MatrixDescriptor {
public:
  explicit MatrixDescriptor(uint64_t bits)
      : start((bits & 0x3fff) << 4), leading((bits >> 16 & 0x3fff) << 4),
        stride((bits >> 32 & 0x3fff) << 4), base(bits >> 49 & 7),
        mode(bits >> 62) {}

  /// Whether the emulator knows the layout: a pattern of swizzles that begins
  /// at a multiple of its size.
  bool isKnown() const { return base == 0; }

  /// The address of 16 bytes: of row `row` those from byte `byte` of the
  /// depth on, where neighbours are along the depth ("K-major"). Eight rows
  /// are `stride` apart.
  uint32_t alongDepth(unsigned row, unsigned byte) const {
    unsigned far = mode == 0 ? byte / 16 * leading : byte;
    return swizzled(start + row / 8 * stride + row % 8 * width() + far);
  }

  /// The address of 16 bytes: of row `k` of the depth those from byte `byte` of
  /// the columns on ("MN-major"). Blocks of columns are `leading` apart, eight
  /// rows `stride`; without a swizzle it is the other way round.
  uint32_t acrossDepth(unsigned k, unsigned byte) const {
    uint32_t columns = mode == 0 ? stride : leading;
    uint32_t rows = mode == 0 ? leading : stride;
    return swizzled(start + byte / width() * columns + k / 8 * rows +
                    k % 8 * width() + byte % width());
  }

private:
  /// Bytes of a row that are swizzled together.
  unsigned width() const {
    return mode == 1 ? 128 : mode == 2 ? 64 : mode == 3 ? 32 : 16;
  }
  /// "Swizzling Modes": bits from 4 on are exchanged with those from 7 on.
  uint32_t swizzled(uint32_t address) const {
    return address ^ (address >> 7 & (width() / 16 - 1)) << 4;
  }

  uint32_t start, leading, stride, base, mode;
};

} // namespace fa::emu

#endif // FA_LIB_EMULATOR_MATRIXDESCRIPTOR_H
