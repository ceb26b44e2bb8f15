// Each GPU operation becomes a call; operands and results are in slots of 8
// bytes, what a CPU has stays.
// RUN: fa-opt %s --pass-pipeline='builtin.module(convert-nvvm-to-emulator)' | FileCheck %s

// CHECK: module attributes {fa.sites = {{.*}}["nvvm.read.ptx.sreg.tid.x", "{{.*}}nvvm_to_emulator.mlir:25:10", []], ["nvvm.cp.async.shared.global", "{{.*}}", [16, 1]],
// CHECK-SAME: ["nvvm.mma.sync", "{{.*}}", [16, 8, 16]]
// CHECK-NOT: llvm.mlir.global
llvm.mlir.global external @fa_shared() {addr_space = 3 : i32, alignment = 128 : i64} : !llvm.array<0 x i8>

// CHECK-LABEL: llvm.func @kernel(
// CHECK-SAME: %[[WORDS:.*]]: !llvm.ptr, %[[THREAD:.*]]: !llvm.ptr)
// CHECK-NOT: nvvm.
// CHECK-NOT: !llvm.ptr<
llvm.func @kernel(%words: !llvm.ptr {llvm.byval = !llvm.array<4 x i64>, nvvm.grid_constant}) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 32>} {
  // CHECK: llvm.call @fa_emu_await_kernel(%[[THREAD]], %{{.*}}) : (!llvm.ptr, i32) -> ()
  nvvm.griddepcontrol wait
  // CHECK: llvm.call @fa_emu_begin_next(%[[THREAD]], %{{.*}}) : (!llvm.ptr, i32) -> ()
  nvvm.griddepcontrol launch_dependents
  // The words of the arguments are no memory of the GPU's.
  // CHECK: llvm.load %[[WORDS]] : !llvm.ptr -> i64
  %bits = llvm.load %words : !llvm.ptr -> i64
  %global = llvm.inttoptr %bits : i64 to !llvm.ptr<1>
  // CHECK: llvm.call @fa_emu_thread_id(%[[THREAD]], %{{.*}}) : (!llvm.ptr, i32) -> ()
  // CHECK-NEXT: %[[TID:.*]] = llvm.load %[[THREAD]] : !llvm.ptr -> i32
  %tid = nvvm.read.ptx.sreg.tid.x : i32
  // CHECK: %[[BASE:.*]] = llvm.mlir.constant(1024 : i64)
  // CHECK: %[[SHARED:.*]] = llvm.inttoptr %[[BASE]]
  %shared = llvm.mlir.addressof @fa_shared : !llvm.ptr<3>
  // CHECK: llvm.store %[[SHARED]], %[[THREAD]]
  // CHECK: llvm.call @fa_emu_async_copy
  nvvm.cp.async.shared.global %shared, %global, 16, cache = cg, %tid : !llvm.ptr<3>, !llvm.ptr<1>, i32
  // CHECK: llvm.call @fa_emu_async_commit
  nvvm.cp.async.commit.group
  // CHECK: llvm.call @fa_emu_async_wait
  nvvm.cp.async.wait.group 0
  // CHECK: llvm.call @fa_emu_barrier
  nvvm.barrier0
  // CHECK: llvm.call @fa_emu_load_matrix
  %m = nvvm.ldmatrix %shared {num = 1 : i32, layout = #nvvm.mma_layout<row>, shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>, eltType = #nvvm.ld_st_matrix_elt_type<b16>} : (!llvm.ptr<3>) -> i32
  %zero = llvm.mlir.constant(0.0 : f32) : f32
  // The multiplicands are widened by the host.
  // CHECK-COUNT-6: llvm.fpext %{{.*}} : vector<2xbf16> to vector<2xf32>
  // CHECK: llvm.call @fa_emu_mma
  // CHECK-COUNT-4: llvm.insertvalue
  %d = nvvm.mma.sync A[%m, %m, %m, %m] B[%m, %m] C[%zero, %zero, %zero, %zero] {layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>, multiplicandAPtxType = #nvvm.mma_type<bf16>, multiplicandBPtxType = #nvvm.mma_type<bf16>, shape = #nvvm.shape<m = 16, n = 8, k = 16>} : (i32, i32, f32) -> !llvm.struct<(f32, f32, f32, f32)>
  // CHECK: llvm.call @fa_emu_round_tf32(%{{.*}}) : (f32) -> i32
  %t = nvvm.convert.float.to.tf32 %zero {rnd = #nvvm.fp_rnd_mode<rna>}
  // CHECK: llvm.call @fa_emu_mma_tf32
  %dt = nvvm.mma.sync A[%t, %t, %t, %t] B[%t, %t] C[%zero, %zero, %zero, %zero] {layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>, multiplicandAPtxType = #nvvm.mma_type<tf32>, multiplicandBPtxType = #nvvm.mma_type<tf32>, shape = #nvvm.shape<m = 16, n = 8, k = 8>} : (i32, i32, f32) -> !llvm.struct<(f32, f32, f32, f32)>
  // CHECK: %[[D:.*]] = llvm.extractvalue
  %first = llvm.extractvalue %d[0] : !llvm.struct<(f32, f32, f32, f32)>
  // CHECK: llvm.call @fa_emu_exp2(%[[D]]) : (f32) -> f32
  %e = llvm.intr.exp2(%first) : (f32) -> f32
  // CHECK: llvm.call @fa_emu_store_global
  llvm.store %e, %global : f32, !llvm.ptr<1>
  llvm.return
}
