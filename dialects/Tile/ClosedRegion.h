//===- ClosedRegion.h - regions whose values stay inside --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A name may be used in front of its definition, also of one that turns out to
// be in a region which the use is not in. Where the rest of the operation does
// not parse, what declarative formats generate frees such a region, and the use
// would stay (MLIR 22.1.8 drops uses of what an
// OperationState has, which these regions are not part of yet). No such use is
// valid: these directives of formats refuse it when a region has been read.
//
//===----------------------------------------------------------------------===//

#ifndef TILE_CLOSEDREGION_H
#define TILE_CLOSEDREGION_H

#include "mlir/IR/OpImplementation.h"

namespace fa {

/// `custom<ClosedRegion>($region)`.
mlir::ParseResult parseClosedRegion(mlir::OpAsmParser &parser,
                                    mlir::Region &region);
void printClosedRegion(mlir::OpAsmPrinter &printer, mlir::Operation *op,
                       mlir::Region &region);

} // namespace fa

#endif // TILE_CLOSEDREGION_H
