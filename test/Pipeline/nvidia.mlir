// The golden walk of one kernel for NVIDIA: S4 layouts, S5 shared memory, S6
// pipelined copies, S7 offsets, S8 what one thread does.
// RUN: fa-opt %s --pass-pipeline='builtin.module(fa-nvidia)' --fa-print-stages -o %t.s8 2> %t.stages
// RUN: FileCheck %s --check-prefix=S4 < %t.stages
// RUN: FileCheck %s --check-prefix=S5 < %t.stages
// RUN: FileCheck %s --check-prefix=S6 < %t.stages
// RUN: FileCheck %s --check-prefix=S7 < %t.stages
// RUN: FileCheck %s --check-prefix=S8 < %t.s8
// RUN: fa-opt %s --pass-pipeline='builtin.module(fa-nvidia{constraints="warps=4 stages=3"})' --fa-print-stages -o /dev/null 2>&1 | FileCheck %s --check-prefix=DEEP
// RUN: not fa-opt %s --pass-pipeline='builtin.module(fa-nvidia{arch=sm_20})' 2>&1 | FileCheck %s --check-prefix=ARCH
// ARCH: error: unknown architecture 'sm_20', expected sm_80, sm_86, sm_89, sm_90

!rows = tensor<?x?x?x64xf16>
!scores = tensor<?x?x?x?xf32>

// S4: // S4 //
// S4: tile.kernel @attention(%{{.*}} {tile.access = #tile.access<in>, tile.alignment = 16 : i64}
// S4-SAME: tgpu.warps = 4
// S4: %[[Q:.*]] = tile.load {{.*}} -> tensor<128x64xf16, #tgpu.layout<blocked 128x64 vector 8 warps 4>>
// S4: %[[QA:.*]] = tgpu.convert %[[Q]] {{.*}} -> tensor<128x64xf16, #tgpu.layout<accumulator 128x64 warps 4>>
// S4: scf.for
// S4: %[[K:.*]] = tile.load {{.*}} -> tensor<64x64xf16, #tgpu.layout<blocked 64x64 vector 8 warps 4>>
// S4: %[[KB:.*]] = tgpu.convert %[[K]] {{.*}} -> tensor<64x64xf16, #tgpu.layout<operand_b 64x64 transposed warps 4>>
// S4: %[[S:.*]] = tile.dot %{{.*}}, %[[KB]] transpose_b {{.*}} -> tensor<128x64xf32, #tgpu.layout<accumulator 128x64 warps 4>>
// S4: %[[P:[^,]*]], %{{.*}} = tile.online_softmax
// P is where the second dot wants it: no conversion.
// S4: %[[PH:.*]] = arith.truncf %[[P]]
// S4-NOT: tgpu.convert %[[PH]]
// S4: tile.dot %[[PH]], %{{.*}} acc

// S5: // S5 //
// S5: tile.kernel @attention(
// S5: scf.for
// S5: tgpu.copy %{{.*}} to %[[KBUF:[0-9]+]][%c0{{[_0-9]*}}] bytes 16 in_bounds
// S5-NEXT: tgpu.commit
// S5-NEXT: tgpu.wait 0
// S5-NEXT: tgpu.barrier
// S5-NOT: tile.load
// S5: tgpu.read %[[KBUF]][%c0{{[_0-9]*}}] : <1 x 64x64xf16, #tgpu.layout<swizzled 64x64 bytes 2>>
// S5: tile.dot
// S5: tile.dot {{.*}} acc
// S5-NEXT: tgpu.barrier
// S5-NEXT: scf.yield

// S6: // S6 //
// S6: tile.kernel @attention(
// The first tiles are on their way before the loop.
// S6: tgpu.barrier
// S6: scf.if
// S6: tgpu.copy
// S6: tgpu.copy
// S6: tgpu.commit
// S6: %[[FULL:[0-9]*]]:4 = scf.for %{{.*}} iter_args({{.*}}, %[[SLOT:[a-z0-9]*]] = %c0)
// S6-NEXT: tgpu.wait 0
// S6-NEXT: tgpu.barrier
// S6: scf.if
// S6: tgpu.copy {{.*}} to %{{.*}}[%[[NEXT:[0-9]*]]] bytes 16 in_bounds
// S6: tgpu.copy {{.*}} to %{{.*}}[%[[NEXT]]] bytes 16 in_bounds
// S6-NEXT: } else {
// S6: tgpu.copy {{.*}} to %{{.*}}[%[[NEXT]]] bytes 16 :
// S6: tgpu.commit
// S6: tgpu.read %{{.*}}[%[[SLOT]]] : <2 x 64x64xf16
// S6-NOT: tgpu.barrier
// S6: scf.yield {{.*}}, %[[NEXT]]
// S6-NEXT: }
// The tiles of the loop with a mask are the same sequence: its first is on its way.
// S6-NEXT: scf.for %{{.*}} iter_args({{.*}} = %[[FULL]]#3)
// S6-NEXT: tgpu.wait 0
// S6-NEXT: tgpu.barrier

// S7: // S7 //
// S7: tile.kernel @attention(
// S7-SAME: tgpu.shared_bytes = 32768
// Q is in registers when the loop begins: its memory is K's.
// S7-DAG: tgpu.alloc at 0 : <2 x 64x64xf16
// S7-DAG: tgpu.alloc at 16384 : <2 x 64x64xf16
// S7-DAG: tgpu.alloc at {{0|16384}} : <1 x 128x64xf16

// S8: llvm.mlir.global external @fa_shared() {addr_space = 3 : i32, alignment = 1024 : i64
// S8: llvm.func @attention(%{{.*}}: !llvm.ptr {llvm.byval = !llvm.array<{{[0-9]+}} x i64>, nvvm.grid_constant})
// S8-SAME: nvvm.kernel, nvvm.reqntid = array<i32: 128>
// S8: nvvm.cp.async.shared.global %{{.*}}, %{{.*}}, 16, cache = cg
// S8: nvvm.cp.async.commit.group
// S8: nvvm.cp.async.wait.group 0
// S8: nvvm.barrier0
// S8: nvvm.ldmatrix %{{.*}} {eltType = #nvvm.ld_st_matrix_elt_type<b16>, layout = #nvvm.mma_layout<row>, num = 4
// S8: nvvm.mma.sync
// S8: llvm.intr.exp2
// S8: llvm.call_intrinsic "llvm.nvvm.ff2f16x2.rn"
// S8: nvvm.ldmatrix %{{.*}} layout = #nvvm.mma_layout<col>
// S8-NOT: tile.
// S8-NOT: tgpu.

// DEEP: // S6 //
// DEEP: tile.kernel @attention(
// DEEP: scf.for
// DEEP-NEXT: tgpu.wait 1
// DEEP: tgpu.read {{.*}} : <3 x 64x64xf16
func.func @attention(%q: !rows, %k: !rows, %v: !rows, %scale: f32) -> !rows {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %q, %c0 : !rows
  %h = tensor.dim %q, %c1 : !rows
  %m = tensor.dim %q, %c2 : !rows
  %n = tensor.dim %k, %c2 : !rows
  %s0 = tile.dot %q, %k transpose_b : !rows, !rows -> !scores
  %sc = tile.broadcast %scale sizes %b, %h, %m, %n : f32 -> !scores
  %s1 = arith.mulf %s0, %sc : !scores
  %p = tile.softmax %s1 : !scores
  %ph = arith.truncf %p : !scores to tensor<?x?x?x?xf16>
  %ow = tile.dot %ph, %v : tensor<?x?x?x?xf16>, !rows -> tensor<?x?x?x64xf32>
  %o = arith.truncf %ow : tensor<?x?x?x64xf32> to !rows
  return %o : !rows
}
