//===- TritonSyntax.h - what several operations are written with -*- C++
//-*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The custom directives of the operations' formats.
//
//===----------------------------------------------------------------------===//

#ifndef TRITON_TRITONSYNTAX_H
#define TRITON_TRITONSYNTAX_H

#include "mlir/IR/OpImplementation.h"

#include <optional>

namespace fa::triton {

/// A word of one of Triton's lists: `relaxed`.
mlir::ParseResult parseWord(mlir::OpAsmParser &parser, mlir::StringAttr &word);
void printWord(mlir::OpAsmPrinter &printer, mlir::Operation *,
               mlir::StringAttr word);

/// `x`, `y` or `z`.
mlir::ParseResult parseAxis(mlir::OpAsmParser &parser, mlir::StringAttr &axis);
void printAxis(mlir::OpAsmPrinter &printer, mlir::Operation *,
               mlir::StringAttr axis);

/// Nothing, or `, rounding = rtne`.
mlir::ParseResult parseRounding(mlir::OpAsmParser &parser,
                                mlir::StringAttr &rounding);
void printRounding(mlir::OpAsmPrinter &printer, mlir::Operation *,
                   mlir::StringAttr rounding);

/// Nothing, or `, inputPrecision = tf32`.
mlir::ParseResult parseInputPrecision(mlir::OpAsmParser &parser,
                                      mlir::StringAttr &precision);
void printInputPrecision(mlir::OpAsmPrinter &printer, mlir::Operation *,
                         mlir::StringAttr precision);

/// `cacheModifier = cg evictionPolicy = evict_last`, both, either or neither.
mlir::ParseResult parseCacheWords(mlir::OpAsmParser &parser,
                                  mlir::StringAttr &modifier,
                                  mlir::StringAttr &policy);
void printCacheWords(mlir::OpAsmPrinter &printer, mlir::Operation *,
                     mlir::StringAttr modifier, mlir::StringAttr policy);

/// Nothing, or `timeout %x`, an i64.
mlir::ParseResult
parseTimeout(mlir::OpAsmParser &parser,
             std::optional<mlir::OpAsmParser::UnresolvedOperand> &timeout,
             mlir::Type &type);
void printTimeout(mlir::OpAsmPrinter &printer, mlir::Operation *,
                  mlir::Value timeout, mlir::Type);

/// `all`, or kinds of memory with `|` between.
mlir::ParseResult parseSpaces(mlir::OpAsmParser &parser,
                              mlir::StringAttr &spaces);
void printSpaces(mlir::OpAsmPrinter &printer, mlir::Operation *,
                 mlir::StringAttr spaces);

} // namespace fa::triton

#endif // TRITON_TRITONSYNTAX_H
