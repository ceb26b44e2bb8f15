//===- PrintLayout.cpp - pictures of layouts ------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Layout/PrintLayout.h"

#include "llvm/ADT/Twine.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace fa;

namespace {

/// Who holds one element: the first in order, as text, and the number that its
/// colour tells.
struct Cell {
  std::string text;
  uint32_t lane = 0, offset = 0;
};

/// The cells of a tile of rank 1 or 2, by row and column.
struct Table {
  int64_t rows, columns;
  std::vector<Cell> cells;

  explicit Table(const TileLayout &layout)
      : rows(layout.rank() == 2 ? layout.size(0) : 1),
        columns(layout.size(layout.rank() - 1)), cells(rows * columns) {
    bool inMemory = layout.base.bits(Axis::Offset);
    for (int64_t copy = 0; copy < layout.repeat; ++copy)
      if (inMemory)
        fillFromMemory(layout, copy);
      else
        fillFromRegisters(layout, copy);
  }

  Cell &at(const Coord &coord) {
    int64_t row = coord.size() == 2 ? coord[0] : 0;
    return cells[row * columns + coord.back()];
  }

  void fillFromMemory(const TileLayout &layout, int64_t copy) {
    int64_t count = layout.base.count(Axis::Offset);
    for (int64_t n = 0; n < count; ++n) {
      Coord coord = layout.base.apply(Place::offset(n));
      coord.back() += copy * layout.base.size(layout.rank() - 1);
      uint32_t offset = copy * count + n;
      at(coord) = {std::to_string(offset), 0, offset};
    }
  }

  void fillFromRegisters(const TileLayout &layout, int64_t copy) {
    uint32_t count = layout.base.count(Axis::Register);
    for (uint32_t warp = 0; warp < layout.base.count(Axis::Warp); ++warp)
      for (uint32_t lane = 0; lane < layout.base.count(Axis::Lane); ++lane)
        for (uint32_t n = 0; n < count; ++n) {
          uint32_t reg = copy * count + n;
          Cell &cell = at(layout.apply(reg, lane, warp));
          if (cell.text.empty())
            cell = {("w" + Twine(warp) + " t" + Twine(lane) + " r" + Twine(reg))
                        .str(),
                    lane, 0};
        }
  }
};

} // namespace

void fa::printLayoutText(const TileLayout &layout, raw_ostream &out) {
  Table table(layout);
  size_t width = 0;
  for (const Cell &cell : table.cells)
    width = std::max(width, cell.text.size());
  for (int64_t row = 0; row < table.rows; ++row) {
    for (int64_t column = 0; column < table.columns; ++column) {
      if (column)
        out << " | ";
      const Cell &cell = table.cells[row * table.columns + column];
      out << cell.text;
      if (column + 1 < table.columns)
        out.indent(width - cell.text.size());
    }
    out << '\n';
  }
}

void fa::printLayoutSvg(const TileLayout &layout, int64_t bytes,
                        raw_ostream &out) {
  constexpr int64_t cellWidth = 64, cellHeight = 20;
  Table table(layout);
  bool inMemory = layout.base.bits(Axis::Offset);
  out << "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\""
      << table.columns * cellWidth << "\" height=\"" << table.rows * cellHeight
      << "\" font-family=\"monospace\" font-size=\"10\">\n";
  for (int64_t row = 0; row < table.rows; ++row)
    for (int64_t column = 0; column < table.columns; ++column) {
      const Cell &cell = table.cells[row * table.columns + column];
      // 32 hues: of a lane, or of a bank of 4 bytes.
      uint32_t number = inMemory ? cell.offset * bytes / 4 % 32 : cell.lane;
      int64_t x = column * cellWidth, y = row * cellHeight;
      out << "<rect x=\"" << x << "\" y=\"" << y << "\" width=\"" << cellWidth
          << "\" height=\"" << cellHeight << "\" stroke=\"#888\" fill=\"hsl("
          << number * 360 / 32 << ",60%,85%)\"/><text x=\"" << x + 4
          << "\" y=\"" << y + 14 << "\">" << cell.text << "</text>\n";
    }
  out << "</svg>\n";
}
