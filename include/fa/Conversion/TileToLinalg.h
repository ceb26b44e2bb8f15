//===- TileToLinalg.h - unfused kernels as loops ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_CONVERSION_TILETOLINALG_H
#define FA_CONVERSION_TILETOLINALG_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace fa {

/// Registers what bufferize-unfused needs to know of the operations of arith,
/// linalg, scf and tensor.
void registerBufferization(mlir::DialectRegistry &registry);

} // namespace fa

#endif // FA_CONVERSION_TILETOLINALG_H
