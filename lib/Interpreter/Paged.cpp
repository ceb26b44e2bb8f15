//===- Paged.cpp - rows that are found through a table of pages -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Evaluator.h"

using namespace mlir;
using namespace fa;
using namespace fa::interp;

llvm::Expected<Tensor> Evaluator::paged(tile::PagedOp op) {
  const Tensor &pages = get(op.getPages()), &table = get(op.getTable()),
               &lengths = get(op.getLengths());
  int64_t sequences = table.sizes[0], width = table.sizes[1];
  int64_t numPages = pages.sizes[0], heads = pages.sizes[1],
          page = pages.sizes[2], columns = pages.sizes[3];
  if (lengths.sizes[0] != sequences)
    return llvm::createStringError("expected " + llvm::Twine(sequences) +
                                   " lengths, as the table has rows, found " +
                                   llvm::Twine(lengths.sizes[0]));
  Tensor result({sequences, heads, width * page, columns}, pages.isFloat);
  for (int64_t b = 0; b < sequences; ++b) {
    if (lengths.ints[b] < 0 || lengths.ints[b] > width * page)
      return llvm::createStringError("expected a length from 0 to " +
                                     llvm::Twine(width * page) +
                                     " in sequence " + llvm::Twine(b) +
                                     ", found " + llvm::Twine(lengths.ints[b]));
    for (int64_t j = 0; j < lengths.ints[b]; ++j) {
      int64_t number = table.ints[b * width + j / page];
      if (number < 0 || number >= numPages)
        return llvm::createStringError(
            "expected a page below " + llvm::Twine(numPages) + " at [" +
            llvm::Twine(b) + ", " + llvm::Twine(j / page) +
            "] of the table, found " + llvm::Twine(number));
      for (int64_t h = 0; h < heads; ++h)
        for (int64_t d = 0; d < columns; ++d) {
          int64_t to = ((b * heads + h) * width * page + j) * columns + d;
          int64_t from = ((number * heads + h) * page + j % page) * columns + d;
          if (pages.isFloat)
            result.floats[to] = pages.floats[from];
          else
            result.ints[to] = pages.ints[from];
        }
    }
  }
  return result;
}
