//===- SpreadShared.cpp - shared memory whose accesses do not meet --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The lanes that are served together, and the words of each, span a space of
// elements: one when a tile is written, W, and one when it is read, R. An
// access has no conflict if the banks tell the elements of its space apart. So
// the bits of an offset that are banks are elements of R; where an element of W
// is none of R, an element of R that is none of W adds to it: that sum is a bit
// above the banks. Then R lies in the banks as it is, and W, of which every
// element outside of R stands for its partner, as well. Two spaces always have
// as many partners as they need, of three that would not be so.
//
//===----------------------------------------------------------------------===//

#include "fa/Layout/Plans.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>

using namespace llvm;
using namespace fa;

namespace {

/// Elements that are XORs of each other.
class Span {
public:
  /// Whether `element` is none of them yet; now it is.
  bool add(const Coord &element) {
    uint64_t rest = uint64_t(element[0]) << 32 | uint32_t(element[1]);
    for (uint64_t row : rows)
      rest = std::min(rest, rest ^ row);
    if (rest)
      rows.push_back(rest);
    return rest;
  }

private:
  SmallVector<uint64_t> rows;
};

} // namespace

static Coord stepAlong(unsigned dim, int32_t step) {
  Coord coord(2, 0);
  coord[dim] = step;
  return coord;
}

/// What lanes of `registers` that are served together have, one by one. Each
/// accesses as much of `line` as its registers hold.
static SmallVector<Coord> servedTogether(const LinearLayout &registers,
                                         ArrayRef<Coord> line, int64_t bytes,
                                         bool isRead, unsigned banks) {
  auto isHeld = [&](const Coord &element) {
    return any_of(seq(registers.bits(Axis::Register)), [&](unsigned bit) {
      return registers.basis(Axis::Register, bit) == element;
    });
  };
  unsigned width = bytes << line.take_while(isHeld).size();
  SmallVector<Coord> served;
  // Lane 4 stands for lane 20: what lane 16 adds to it is in no bank, or in
  // one that lanes 1 and 2 have too.
  for (uint32_t lane : BankPhase::wave64(width, isRead, banks).lanes)
    served.push_back(registers.basis(Axis::Lane, countr_zero(lane)));
  return served;
}

/// Elements of `some` that are none of `others` and not in `line`.
static SmallVector<Coord> without(ArrayRef<Coord> some, ArrayRef<Coord> others,
                                  ArrayRef<Coord> line) {
  Span span;
  for (const Coord &element : concat<const Coord>(line, others))
    span.add(element);
  SmallVector<Coord> rest;
  copy_if(some, std::back_inserter(rest),
          [&](const Coord &element) { return span.add(element); });
  return rest;
}

LinearLayout fa::spreadShared(const LinearLayout &writer,
                              const LinearLayout &reader, unsigned unit,
                              int64_t bytes, int64_t lineBytes,
                              unsigned banks) {
  SmallVector<Coord> all;
  for (unsigned dim : {unit, 1 - unit})
    for (int64_t step = 1; step < reader.size(dim); step *= 2)
      all.push_back(stepAlong(dim, step));
  auto line = ArrayRef(all).take_front(
      Log2_64(std::min(lineBytes / bytes, reader.size(unit))));
  SmallVector<Coord> written = servedTogether(writer, line, bytes,
                                              /*isRead=*/false, banks),
                     read = servedTogether(reader, line, bytes, /*isRead=*/true,
                                           banks);
  // Those that one access alone has, for the other to make up for.
  SmallVector<Coord> onlyWritten = without(written, read, line),
                     onlyRead = without(read, written, line);
  size_t pairs = std::min(onlyWritten.size(), onlyRead.size());
  LinearLayout layout({reader.size(0), reader.size(1)});
  Span placed;
  auto place = [&](ArrayRef<Coord> elements) {
    for (const Coord &element : elements)
      if (placed.add(element))
        layout.add(Axis::Offset, {element});
  };
  place(line);
  place(read);
  place(ArrayRef(onlyWritten).drop_front(pairs));
  // Banks that are left are of elements that neither tells apart.
  Span taken = placed;
  for (const Coord &element : onlyWritten)
    taken.add(element);
  for (const Coord &element : all)
    if (layout.bits(Axis::Offset) < Log2_64(4 * banks / bytes) &&
        taken.add(element))
      place(element);
  for (auto [one, other] : zip(onlyWritten, onlyRead))
    place(Coord{one[0] ^ other[0], one[1] ^ other[1]});
  place(all);
  return layout;
}
