//===- ClosedRegion.cpp - regions whose values stay inside ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Tile/ClosedRegion.h"

using namespace mlir;
using namespace fa;

/// Whether `op` is in `region`. A region that is being read has no operation
/// around it yet.
static bool isInside(Operation *op, const Region &region) {
  while (op) {
    Region *around = op->getParentRegion();
    if (around == &region)
      return true;
    op = around ? around->getParentOp() : nullptr;
  }
  return false;
}

/// Drops uses of `value` outside of `region`; whether there were any.
static bool dropUsesOutside(const Region &region, Value value) {
  bool found = false;
  for (OpOperand &use : llvm::make_early_inc_range(value.getUses())) {
    if (isInside(use.getOwner(), region))
      continue;
    use.drop();
    found = true;
  }
  return found;
}

ParseResult fa::parseClosedRegion(OpAsmParser &parser, Region &region) {
  SMLoc loc = parser.getCurrentLocation();
  ParseResult parsed = parser.parseRegion(region);
  bool isLeft = false;
  auto close = [&](Value value) { isLeft |= dropUsesOutside(region, value); };
  for (Block &block : region)
    llvm::for_each(block.getArguments(), close);
  region.walk([&](Operation *op) {
    llvm::for_each(op->getResults(), close);
    for (Region &inner : op->getRegions())
      for (Block &block : inner)
        llvm::for_each(block.getArguments(), close);
  });
  if (succeeded(parsed) && isLeft)
    return parser.emitError(loc, "expected values of this region to be used in "
                                 "it, found a use outside");
  return parsed;
}

void fa::printClosedRegion(OpAsmPrinter &printer, Operation *, Region &region) {
  printer.printRegion(region);
}
