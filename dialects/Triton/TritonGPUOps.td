//===- TritonGPUOps.td - the barrier of Triton's GPU dialect --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TRITON_GPU_OPS_TD
#define TRITON_GPU_OPS_TD

include "mlir/IR/OpBase.td"

def TritonGPU_Dialect : Dialect {
  let name = "ttg";
  let cppNamespace = "::fa::triton";
  let summary = "The one operation of Triton's GPU dialect that kernels have before it is lowered to.";
}

def TritonGPU_BarrierOp : Op<TritonGPU_Dialect, "barrier"> {
  let summary = "waits for a block's threads (tl.debug_barrier since 3.7)";
  let arguments = (ins StrAttr:$spaces);
  let assemblyFormat = "custom<Spaces>($spaces) attr-dict";
}

#endif // TRITON_GPU_OPS_TD
