//===- Triton.h - the tt dialect ------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TRITON_TRITON_H
#define TRITON_TRITON_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace fa::triton {

/// The type of what is at an address of `pointer`'s type, a `!tt.ptr` or a tile
/// of them; `pointer` itself where it is neither.
mlir::Type pointeeTypeOf(mlir::Type pointer);
/// The type of a mask of values of `type`: i1, or a tile of them.
mlir::Type maskTypeOf(mlir::Type type);
/// The address of an element of what `pointer`, a block pointer, points to.
mlir::Type elementPointerOf(mlir::Type pointer);

} // namespace fa::triton

#include "Triton/TritonDialect.h.inc"
#include "Triton/TritonGPUDialect.h.inc"

#define GET_ATTRDEF_CLASSES
#include "Triton/TritonAttributes.h.inc"

#define GET_TYPEDEF_CLASSES
#include "Triton/TritonTypes.h.inc"

#define GET_OP_CLASSES
#include "Triton/TritonOps.h.inc"

#define GET_OP_CLASSES
#include "Triton/TritonGPUOps.h.inc"

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace fa::triton {

/// The line of the Python source that `loc` is of: of a kernel, not of what it
/// calls. Null: it is of none.
mlir::FileLineColLoc sourceLineOf(mlir::Location loc);

/// Adds all dialects that a text of Triton's may have.
void registerDialects(mlir::DialectRegistry &registry);

} // namespace fa::triton

#endif // TRITON_TRITON_H
