//===- PrintLayout.h - pictures of layouts ----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LAYOUT_PRINTLAYOUT_H
#define FA_LAYOUT_PRINTLAYOUT_H

#include "fa/Layout/LinearLayout.h"

namespace fa {

/// Writes the tile as a table: at each element who holds it, `w0 t5 r3`, or of
/// a layout of shared memory the offset.
void printLayoutText(const TileLayout &layout, llvm::raw_ostream &out);

/// The same as an SVG picture: the colour is the lane, or of shared memory
/// (elements of `bytes`) the bank.
void printLayoutSvg(const TileLayout &layout, int64_t bytes,
                    llvm::raw_ostream &out);

} // namespace fa

#endif // FA_LAYOUT_PRINTLAYOUT_H
