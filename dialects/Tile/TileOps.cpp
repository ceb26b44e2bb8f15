//===- TileOps.cpp - generated code of every tile operation ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The assembly helpers that ODS names in custom<...> directives must be visible
// where the generated parsers are, so they live here.
//
//===----------------------------------------------------------------------===//

#include "Tile/Tile.h"

#include "Tile/ClosedRegion.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace fa;
using namespace fa::tile;

/// An accumulator has the type of the result.
static ParseResult
parseAccType(OpAsmParser &parser,
             std::optional<OpAsmParser::UnresolvedOperand> acc, Type &accType,
             Type &resultType) {
  if (parser.parseArrow() || parser.parseType(resultType))
    return failure();
  if (acc)
    accType = resultType;
  return success();
}

static void printAccType(OpAsmPrinter &printer, Operation *, Value, Type,
                         Type resultType) {
  printer << "-> " << resultType;
}

/// The state that comes out of an online attention has the types of the state
/// that went in: parsed once, for both.
static ParseResult parseStateTypes(OpAsmParser &parser, Type &acc, Type &max,
                                   Type &sum, Type &accOut, Type &maxOut,
                                   Type &sumOut) {
  if (parser.parseType(acc) || parser.parseComma() || parser.parseType(max) ||
      parser.parseComma() || parser.parseType(sum))
    return failure();
  accOut = acc;
  maxOut = max;
  sumOut = sum;
  return success();
}

static void printStateTypes(OpAsmPrinter &printer, Operation *, Type acc,
                            Type max, Type sum, Type, Type, Type) {
  printer << acc << ", " << max << ", " << sum;
}

static ParseResult
parseDerivativeAndEffects(OpAsmParser &parser, Region &derivative,
                          SmallVectorImpl<std::unique_ptr<Region>> &effects) {
  if (parseClosedRegion(parser, derivative))
    return failure();
  if (failed(parser.parseOptionalKeyword("effects")))
    return success();
  do {
    effects.push_back(std::make_unique<Region>());
    if (parseClosedRegion(parser, *effects.back()))
      return failure();
  } while (succeeded(parser.parseOptionalComma()));
  return success();
}

static void printDerivativeAndEffects(OpAsmPrinter &printer, Operation *,
                                      Region &derivative,
                                      MutableArrayRef<Region> effects) {
  printer.printRegion(derivative);
  if (effects.empty())
    return;
  printer << " effects ";
  llvm::interleaveComma(effects, printer,
                        [&](Region &region) { printer.printRegion(region); });
}

#define GET_OP_CLASSES
#include "Tile/TileOps.cpp.inc"
