// The golden walk of nvidia.mlir's kernel for AMD. Down to S3 they are the same
// program; what differs below is marked.
// RUN: fa-opt %s --pass-pipeline='builtin.module(fa-amd)' --fa-print-stages -o %t.s8 2> %t.stages
// RUN: FileCheck %s --check-prefix=S4 < %t.stages
// RUN: FileCheck %s --check-prefix=S5 < %t.stages
// RUN: FileCheck %s --check-prefix=S6 < %t.stages
// RUN: FileCheck %s --check-prefix=S8 < %t.s8
// RUN: fa-opt %s --pass-pipeline='builtin.module(fa-amd{arch=gfx950})' --fa-print-stages -o %t.deep.s8 2> %t.deep
// RUN: FileCheck %s --check-prefix=DEEP5 < %t.deep
// RUN: FileCheck %s --check-prefix=DEEP < %t.deep.s8
// RUN: fa-opt %s --pass-pipeline='builtin.module(fa-amd{constraints=stages=1})' --fa-print-stages -o /dev/null 2>&1 | FileCheck %s --check-prefix=ONE
// RUN: not fa-opt %s --pass-pipeline='builtin.module(fa-amd{arch=gfx906})' 2>&1 | FileCheck %s --check-prefix=ARCH
// ARCH: error: unknown architecture 'gfx906', expected gfx90a, gfx942, gfx950

!rows = tensor<?x?x?x64xf16>
!scores = tensor<?x?x?x?xf32>

// Warps have 64 lanes, layouts are those of mfma on the transposed tiles. Q is
// loaded where its dots want it, P is where the second dot wants it: neither is
// converted. A thread loads four rows of V, to turn them. A launch sees to it that
// rows lie close, so that descriptors can bound them.
// S4: // S4 //
// S4: tile.kernel @attention(%{{.*}} {tile.access = #tile.access<in>, tile.alignment = 16 : i64}
// S4-SAME: tgpu.lanes = 64 : i64, tgpu.plan = #tgpu.plan<tile 128x64, partitions [all w4]>, tgpu.row_step_limit = 16777216 : i64, tgpu.warps = 4
// S4: %[[Q:.*]] = tile.load {{.*}} -> tensor<128x64xf16, #tgpu.layout<mfma 128x64 side 32 vector 8 warps 4>>
// S4: scf.for
// S4: %[[K:.*]] = tile.load {{.*}} -> tensor<64x64xf16, #tgpu.layout<blocked 64x64 vector 8 warps 4 lanes 64>>
// S4: %[[V:.*]] = tile.load {{.*}} -> tensor<64x64xf16, #tgpu.layout<blocked 64x64 vector 4 height 4 warps 4 lanes 64>>
// S4: %[[KB:.*]] = tgpu.convert %[[K]] {{.*}} -> tensor<64x64xf16, #tgpu.layout<mfma_operand_b 64x64 transposed side 32 vector 8 warps 4>>
// S4: tile.dot %[[Q]], %[[KB]] transpose_b {{.*}} -> tensor<128x64xf32, #tgpu.layout<mfma 128x64 side 32 vector 4 warps 4>>
// S4: %[[P:[^,]*]], %{{.*}} = tile.online_softmax
// S4: %[[PH:.*]] = arith.truncf %[[P]]
// S4-NOT: tgpu.convert %[[PH]]
// S4: tile.dot %[[PH]], %{{.*}} acc

// No copies: loads, and writes to shared memory that is laid out for the writer
// and the reader: lines of eight columns, the three rows that lanes read together
// in the banks, and the columns that they write together XORed with those.
// S5: // S5 //
// S5: tile.kernel @attention(
// S5-NOT: tgpu.copy
// S5: scf.for
// S5: tgpu.write {{.*}} : tensor<64x64xf16, #tgpu.layout<blocked 64x64 vector 8 warps 4 lanes 64>>, <1 x 64x64xf16, #tgpu.layout<64x64 offset = {{\[\[}}0, 1], [0, 2], [0, 4], [1, 0], [2, 0], [4, 0], [1, 8], [2, 16], [4, 32], [8, 0], [16, 0], [32, 0]]>>
// S5-NEXT: tgpu.barrier
// S5: tgpu.read

// The next tiles are loaded first and written last; one barrier an iteration.
// S6: // S6 //
// S6: tile.kernel @attention(
// S6: scf.for
// S6-NEXT: tgpu.barrier
// S6: %[[NEXT:.*]] = tile.load
// S6-NOT: tgpu.barrier
// S6: tile.dot
// S6-NOT: tgpu.barrier
// S6: tile.dot
// S6-NOT: tgpu.barrier
// S6: tgpu.write %[[NEXT]], {{.*}} <2 x 64x64xf16
// S6: scf.yield
// One barrier stands between the loops.
// S6: tgpu.barrier
// S6-NEXT: tile.load
// S6-NEXT: tile.load
// S6-NEXT: tgpu.write

// ONE: // S6 //
// ONE: tile.kernel @attention(
// ONE: scf.for
// ONE-NEXT: tgpu.barrier
// ONE: tile.dot
// ONE: tile.dot
// ONE: tgpu.barrier
// ONE: tgpu.write {{.*}} <1 x 64x64xf16

// S8: llvm.mlir.global internal @attention_lds() {addr_space = 3 : i32, alignment = 256 : i64} : !llvm.array<32768 x i8>
// S8: llvm.func @attention(%{{.*}}: !llvm.ptr<4> {llvm.align = 8 : i64, llvm.byref = !llvm.array<{{[0-9]+}} x i64>})
// S8-SAME: rocdl.kernel
// S8-SAME: rocdl.reqd_work_group_size = array<i32: 256, 1, 1>
// S8: llvm.fence syncscope("workgroup") release
// S8-NEXT: rocdl.s.barrier
// S8-NEXT: llvm.fence syncscope("workgroup") acquire
// S8: %[[ROWS:.*]] = rocdl.make.buffer.rsrc
// S8: rocdl.raw.ptr.buffer.load %[[ROWS]]
// S8: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr<3> -> vector<4xi32>
// S8: rocdl.mfma.f32.32x32x8f16
// S8: rocdl.sched.group.barrier 256, 3, 0
// S8-NEXT: rocdl.sched.group.barrier 8, 2, 0
// S8-NEXT: rocdl.sched.group.barrier 256, 1, 0
// S8: rocdl.sched.barrier 0
// S8: rocdl.ds_bpermute
// S8: rocdl.exp2
// S8: llvm.load {{.*}} {alignment = 8 : i64} : !llvm.ptr<3> -> vector<2xi32>
// S8: rocdl.mfma.f32.32x32x8f16
// S8: rocdl.sched.barrier 0
// S8: llvm.store {{.*}} : vector<8xf16>, !llvm.ptr<3>
// S8: rocdl.raw.ptr.buffer.store {{.*}} : vector<2xi32>
// S8-NOT: tile.
// S8-NOT: tgpu.

// On gfx950 tiles are copied: no register holds one on its way. Rows lie in LDS as
// in global memory but for swizzles, and V is turned by the reads.
// DEEP5: // S5 //
// DEEP5: tile.kernel @attention(
// DEEP5-DAG: tgpu.alloc : <1 x 64x64xf16, #tgpu.layout<swizzled 64x64 bytes 2 banks 64>>
// DEEP5-DAG: tgpu.alloc : <1 x 64x64xf16, #tgpu.layout<swizzled 64x64 bytes 2 across 32>>
// DEEP5: scf.for
// DEEP5: tgpu.copy
// DEEP5-NOT: tgpu.write
// DEEP5: tile.return
// DEEP5: // S6 //
// DEEP5: tile.kernel @attention(
// DEEP5: scf.for
// DEEP5-NEXT: tgpu.wait 0
// DEEP5-NEXT: tgpu.barrier
// DEEP5: tgpu.copy {{.*}} <2 x 64x64xf16
// DEEP5: tile.dot
// DEEP5: tile.dot
// DEEP5: scf.yield

// DEEP: llvm.func @attention(
// DEEP: rocdl.raw.ptr.buffer.load.lds
// DEEP: rocdl.s.waitcnt 3952
// DEEP-NEXT: llvm.fence syncscope("workgroup") release
// DEEP-NEXT: rocdl.s.barrier
// DEEP: rocdl.raw.ptr.buffer.load.lds
// DEEP: rocdl.mfma.f32.32x32x16.f16
// DEEP: rocdl.permlane32.swap
// DEEP: rocdl.ds.read.tr16.b64 {{.*}} -> vector<4xf16>
// DEEP: rocdl.mfma.f32.32x32x16.f16
// DEEP: rocdl.raw.ptr.buffer.store
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
