//===- TritonOps.td - every operation that Triton prints ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

include "TritonShapeOps.td"
include "TritonMemoryOps.td"
include "TritonControlOps.td"
