// What warp-specialized kernels do becomes calls: a tensor map is its number, the
// registers that products read and write are watched.
// RUN: fa-opt %s --split-input-file --convert-nvvm-to-emulator | FileCheck %s

// CHECK: module attributes {fa.sites =
// CHECK-SAME: ["nvvm.mbarrier.init", "{{[^"]*}}", []]
// CHECK-SAME: ["nvvm.setmaxregister", "{{[^"]*}}", [24, 0, 168]]
// CHECK-SAME: ["nvvm.cp.async.bulk.tensor.shared.cluster.global", "{{[^"]*}}", [2, 0]]
// CHECK-LABEL: llvm.func @boxes(%{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr) {
llvm.func @boxes(%words: !llvm.ptr, %q: !llvm.ptr, %k: !llvm.ptr) attributes {nvvm.kernel, nvvm.maxnreg = 168 : i32} {
  %bar = llvm.mlir.zero : !llvm.ptr<3>
  %n = llvm.mlir.constant(7 : i32) : i32
  // CHECK-DAG: %[[ONE:.*]] = llvm.mlir.constant(1 : i64) : i64
  // CHECK-DAG: %[[MAP:.*]] = llvm.inttoptr %[[ONE]]
  // CHECK: llvm.call @fa_emu_barrier_init
  nvvm.mbarrier.init %bar, %n : !llvm.ptr<3>, i32
  // CHECK: llvm.call @fa_emu_proxy_fence
  nvvm.fence.mbarrier.init
  // CHECK: llvm.call @fa_emu_exchange_registers
  nvvm.setmaxregister decrease 24
  // CHECK: llvm.call @fa_emu_elect
  %e = nvvm.elect.sync -> i1
  // CHECK: llvm.call @fa_emu_arrive_expecting
  nvvm.mbarrier.arrive.expect_tx %bar, %n : !llvm.ptr<3>, i32
  // CHECK-NOT: llvm.addrspacecast
  %to = llvm.addrspacecast %bar : !llvm.ptr<3> to !llvm.ptr<7>
  // CHECK: llvm.store %[[MAP]]
  // CHECK: llvm.call @fa_emu_copy_box
  nvvm.cp.async.bulk.tensor.shared.cluster.global %to, %k, %bar, box[%n, %n] : !llvm.ptr<7>, !llvm.ptr
  // CHECK: llvm.call @fa_emu_wait_phase
  tgpu.simt.wait_phase %bar, %n : !llvm.ptr<3>
  // CHECK: llvm.call @fa_emu_arrive_first
  tgpu.simt.arrive %bar, %n : !llvm.ptr<3>
  llvm.return
}

// -----

// Two blocks: a box of two coordinates for those of a mask, arrivals at both.
// CHECK: ["nvvm.cp.async.bulk.tensor.shared.cluster.global", "{{[^"]*}}", [2, 1]]
// CHECK-SAME: ["tgpu.simt.arrive", "{{[^"]*}}", [2]]
// CHECK-LABEL: llvm.func @clusters(
// CHECK-NOT: cluster_dim
llvm.func @clusters(%words: !llvm.ptr, %k: !llvm.ptr) attributes {nvvm.kernel, nvvm.cluster_dim = array<i32: 2, 1, 1>} {
  %bar = llvm.mlir.zero : !llvm.ptr<3>
  %n = llvm.mlir.constant(7 : i32) : i32
  %ranks = llvm.mlir.constant(3 : i16) : i16
  // CHECK: llvm.call @fa_emu_arrive_at_cluster
  nvvm.cluster.arrive
  // CHECK: llvm.call @fa_emu_wait_for_cluster
  nvvm.cluster.wait
  %to = llvm.addrspacecast %bar : !llvm.ptr<3> to !llvm.ptr<7>
  // CHECK: llvm.call @fa_emu_copy_box
  nvvm.cp.async.bulk.tensor.shared.cluster.global %to, %k, %bar, box[%n, %n] multicast_mask = %ranks : !llvm.ptr<7>, !llvm.ptr
  // CHECK: llvm.call @fa_emu_arrive_at_ranks
  tgpu.simt.arrive %bar, %n ranks 2 : !llvm.ptr<3>
  llvm.return
}

// -----

// N 8, a in registers (1), f16 (2), rows of b along N (4), accumulators (8).
// CHECK: ["tgpu.simt.wgmma", "{{[^"]*}}", [8, 13, 0, 5]]
// CHECK-SAME: ["tgpu.simt.wgmma_wait", "{{[^"]*}}", [1, 4]]
// CHECK-LABEL: llvm.func @products(
llvm.func @products(%words: !llvm.ptr) attributes {nvvm.kernel} {
  %b = llvm.mlir.constant(64 : i64) : i64
  %c = llvm.mlir.constant(0.0 : f32) : f32
  %x = llvm.mlir.constant(2.0 : f32) : f32
  %n = llvm.mlir.constant(0 : i1) : i1
  %p = llvm.call_intrinsic "llvm.nvvm.ff2f16x2.rn"(%x, %x) : (f32, f32) -> vector<2xf16>
  // CHECK: llvm.call @fa_emu_write_register
  %w = llvm.bitcast %p : vector<2xf16> to i32
  llvm.br ^loop(%w : i32)
^loop(%a: i32):
  // CHECK: llvm.call @fa_emu_product_fence
  nvvm.wgmma.fence.aligned
  // CHECK: llvm.call @fa_emu_product(
  %s:4 = tgpu.simt.wgmma f16 a(%a, %a, %a, %a) b(%b) transpose_b acc(%c, %c, %c, %c) : (i32, i32, i32, i32, i64, f32, f32, f32, f32) -> (f32, f32, f32, f32)
  // CHECK: llvm.call @fa_emu_product_commit
  nvvm.wgmma.commit.group.sync.aligned
  // CHECK: llvm.call @fa_emu_read_register
  // CHECK: llvm.fadd
  %early = llvm.fadd %s#0, %x : f32
  // CHECK: llvm.call @fa_emu_product_wait
  %d:4 = tgpu.simt.wgmma_wait 1 through %s#0, %s#1, %s#2, %s#3 : (f32, f32, f32, f32) -> (f32, f32, f32, f32)
  // CHECK: llvm.fadd
  // CHECK-NOT: fa_emu_read_register
  %late = llvm.fadd %d#0, %early : f32
  llvm.cond_br %n, ^loop(%w : i32), ^end
^end:
  llvm.return
}

// -----

// Which threads store a box is an operand.
// CHECK-LABEL: llvm.func @stores(
llvm.func @stores(%words: !llvm.ptr, %map: !llvm.ptr {llvm.byval = !llvm.array<16 x i64>}) attributes {nvvm.kernel} {
  %at = llvm.mlir.zero : !llvm.ptr<3>
  %n = llvm.mlir.constant(0 : i32) : i32
  %p = llvm.mlir.constant(1 : i1) : i1
  // CHECK: llvm.call @fa_emu_proxy_fence
  nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
  // CHECK: llvm.call @fa_emu_store_box
  nvvm.cp.async.bulk.tensor.global.shared.cta %map, %at, box[%n, %n], predicate = %p : !llvm.ptr, !llvm.ptr<3>
  // CHECK: llvm.call @fa_emu_commit_stores
  nvvm.cp.async.bulk.commit.group
  // CHECK: llvm.call @fa_emu_wait_stores
  nvvm.cp.async.bulk.wait_group 0 {read}
  llvm.return
}
