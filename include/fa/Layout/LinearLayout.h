//===- LinearLayout.h - who holds which element -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tile of a kernel lives in the registers of many threads, or in shared
// memory. A layout says where: it maps a place to the coordinate of the element
// that is there. A place in registers is (register, lane, warp); a place in
// shared memory is an offset.
//
// All sizes are powers of two, and the map is linear over GF(2), the field of
// two elements in which + is XOR: the coordinate of a place is the XOR of the
// coordinates of its bits. So a layout is a short list of *bases*, one
// coordinate for each bit of each axis. For the accumulator of mma.sync
// m16n8 (four registers, 32 lanes) they are
//
//     register  bit 0 -> (0,1)   bit 1 -> (8,0)
//     lane      bit 0 -> (0,2)   bit 1 -> (0,4)
//               bit 2 -> (1,0)   bit 3 -> (2,0)   bit 4 -> (4,0)
//
// and the element in register 3 of lane 5 (bits 0 and 2) is at
// (0,1) ^ (8,0) ^ (0,2) ^ (1,0) = (9,3). Swizzled shared memory is linear in
// the same way: that is what its XOR is.
//
// Questions about layouts are linear algebra on a few dozen bits:
//  - two layouts hold the same element at the same place: equal bases;
//  - from one layout to another: solve for the source's place of each of the
//    destination's bases (`composeInverse`);
//  - a reduction along a dimension meets the bits whose bases point along it;
//  - a vector access is as wide as the registers whose bases are 1, 2, 4, ...;
//  - two lanes meet in a bank where their difference does.
//
// A size that is no power of two occurs at one place only, a tile's last
// dimension (head dimensions of 80 or 96). There a layout is *repeated*: copies
// of it side by side, in further registers or behind each other in memory.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LAYOUT_LINEARLAYOUT_H
#define FA_LAYOUT_LINEARLAYOUT_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>

namespace llvm {
class raw_ostream;
} // namespace llvm

namespace fa {

/// What a place is made of. A layout of registers has the first three axes, one
/// of memory the last.
enum class Axis { Register, Lane, Warp, Offset };
inline constexpr unsigned numAxes = 4;

using Coord = llvm::SmallVector<int32_t, 2>;
using Bases = llvm::SmallVector<Coord, 8>;

/// A place: the number on each axis.
struct Place {
  std::array<uint32_t, numAxes> at{};

  static Place registers(uint32_t reg, uint32_t lane, uint32_t warp) {
    return {{reg, lane, warp, 0}};
  }
  static Place offset(uint32_t offset) { return {{0, 0, 0, offset}}; }
  uint32_t operator[](Axis axis) const { return at[static_cast<int>(axis)]; }
  uint32_t &operator[](Axis axis) { return at[static_cast<int>(axis)]; }
  bool operator==(const Place &) const = default;
};

class LinearLayout {
public:
  LinearLayout() = default;
  /// A layout of a tile of `sizes`, each a power of two, without bases.
  explicit LinearLayout(llvm::ArrayRef<int64_t> sizes);

  /// Adds bits to `axis`, above those that it has.
  LinearLayout &add(Axis axis, llvm::ArrayRef<Coord> bases);
  /// Adds bits that step `dim` by `first`, twice that, and so on, `count` bits.
  LinearLayout &addSteps(Axis axis, unsigned dim, int32_t first,
                         unsigned count);
  /// Adds bits that change nothing: places that hold the same element.
  LinearLayout &addCopies(Axis axis, unsigned count);

  unsigned rank() const { return logSizes.size(); }
  int64_t size(unsigned dim) const { return int64_t(1) << logSizes[dim]; }
  unsigned bits(Axis axis) const { return columns(axis).size(); }
  int64_t count(Axis axis) const { return int64_t(1) << bits(axis); }
  Coord basis(Axis axis, unsigned bit) const {
    return unpack(columns(axis)[bit]);
  }

  /// The element at a place.
  Coord apply(const Place &place) const;

  /// Every element is somewhere.
  bool isSurjective() const;
  /// No element is at two places.
  bool isInjective() const;

  /// Without dimension `dim`: who holds what is left, often several.
  LinearLayout dropDim(unsigned dim) const;
  /// With a dimension of size 1 before `dim`.
  LinearLayout addUnitDim(unsigned dim) const;
  /// Dimension d of the result is dimension permutation[d] of this.
  LinearLayout permuted(llvm::ArrayRef<int64_t> permutation) const;

  /// A place of this layout for every place of `other`, with the same element:
  /// bases of each of `other`'s bits, by axis. Where this layout holds an
  /// element more than once, a lane or warp keeps to itself if it can. Nothing
  /// if some element of `other` is nowhere here.
  using PlaceMap = std::array<llvm::SmallVector<Place, 8>, numAxes>;
  std::optional<PlaceMap> composeInverse(const LinearLayout &other) const;

  bool operator==(const LinearLayout &) const = default;

  void print(llvm::raw_ostream &out) const;

private:
  using Columns = llvm::SmallVector<uint32_t, 8>;
  const Columns &columns(Axis axis) const {
    return table[static_cast<int>(axis)];
  }
  /// Coordinates side by side in one word, the last dimension lowest.
  uint32_t pack(llvm::ArrayRef<int32_t> coord) const;
  Coord unpack(uint32_t packed) const;
  unsigned dimensionOfSpan() const;

  llvm::SmallVector<uint8_t, 2> logSizes;
  std::array<Columns, numAxes> table;
};

/// A layout and how often it is repeated along the last dimension of the tile.
struct TileLayout {
  LinearLayout base;
  int64_t repeat = 1;
  /// Of a buffer whose copies lie in rows together, as many as are a power of
  /// two (of five copies of 16 columns rows of 64 and of 16): the bytes of an
  /// element. 0: copies lie one behind the other.
  int64_t joined = 0;

  unsigned rank() const { return base.rank(); }
  int64_t size(unsigned dim) const {
    return base.size(dim) * (dim + 1 == rank() ? repeat : 1);
  }
  int64_t numRegisters() const { return base.count(Axis::Register) * repeat; }
  /// The element at register `reg` of a lane and warp; copies of the base have
  /// the higher numbers.
  Coord apply(uint32_t reg, uint32_t lane, uint32_t warp) const;
  bool operator==(const TileLayout &) const = default;
};

} // namespace fa

#endif // FA_LAYOUT_LINEARLAYOUT_H
