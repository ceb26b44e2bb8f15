// What has no name upstream is said with types at S8 and as assembly below.
// RUN: fa-opt %s --convert-tgpu-simt-to-nvvm | FileCheck %s
// RUN: fa-opt %s | fa-opt | FileCheck %s --check-prefix=S8

// CHECK-NOT: tgpu.
// S8-LABEL: @shared
// CHECK-LABEL: @shared
llvm.func @shared(%a: i64, %b: i64) {
  // S8: %{{.*}}:4 = tgpu.simt.wgmma f16 a(%{{.*}}) b(%{{.*}}) : (i64, i64) ->
  // CHECK: llvm.inline_asm has_side_effects "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {$0, $1, $2, $3}, $4, $5, 0, 1, 1, 0, 0;", "=f,=f,=f,=f,l,l"
  %s:4 = tgpu.simt.wgmma f16 a(%a) b(%b) : (i64, i64) -> (f32, f32, f32, f32)
  // S8: tgpu.simt.wgmma_wait 1 through
  // CHECK: llvm.inline_asm has_side_effects "wgmma.wait_group.sync.aligned 1;", "=f,=f,0,1" %{{.*}}, %{{.*}} : (f32, f32) -> !llvm.struct<(f32, f32)>
  %w:2 = tgpu.simt.wgmma_wait 1 through %s#0, %s#1 : (f32, f32) -> (f32, f32)
  llvm.return
}

// CHECK-LABEL: @turned
llvm.func @turned(%a: i64, %b: i64) {
  // CHECK: "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {$0, $1, $2, $3}, $4, $5, 0, 1, 1, 1, 0;", "=f,=f,=f,=f,l,l"
  // S8: a(%{{.*}}) transpose_a b(
  %s:4 = tgpu.simt.wgmma f16 a(%a) transpose_a b(%b) : (i64, i64) -> (f32, f32, f32, f32)
  llvm.return
}

// Of 8 bits nothing is transposed.
// CHECK-LABEL: @narrow
llvm.func @narrow(%a: i64, %b: i64) {
  // CHECK: "wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e5m2 {$0, $1, $2, $3}, $4, $5, 0, 1, 1;", "=f,=f,=f,=f,l,l"
  // S8: tgpu.simt.wgmma f8E4M3FN by f8E5M2 a(
  %s:4 = tgpu.simt.wgmma f8E4M3FN by f8E5M2 a(%a) b(%b) : (i64, i64) -> (f32, f32, f32, f32)
  llvm.return
}

// CHECK-LABEL: @registers
llvm.func @registers(%w: i32, %b: i64, %c: f32) {
  // CHECK: "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {$0, $1, $2, $3}, {$4, $5, $6, $7}, $8, 1, 1, 1, 1;", "=f,=f,=f,=f,r,r,r,r,l,0,1,2,3"
  // S8: transpose_b acc(
  %s:4 = tgpu.simt.wgmma bf16 a(%w, %w, %w, %w) b(%b) transpose_b acc(%c, %c, %c, %c) : (i32, i32, i32, i32, i64, f32, f32, f32, f32) -> (f32, f32, f32, f32)
  llvm.return
}

// Products one after the other onto the same accumulators are one assembly, in which
// sums of a descriptor stand in front of their product.
// CHECK-LABEL: @chain
llvm.func @chain(%w: i32, %a: i64, %b: i64) {
  %two = llvm.mlir.constant(2 : i64) : i64
  %a2 = llvm.add %a, %two : i64
  %b2 = llvm.add %b, %two : i64
  // CHECK-NOT: inline_asm
  // CHECK: %[[CHAIN:.*]] = llvm.inline_asm has_side_effects "{\0A.reg .b64 a, b;\0A
  // CHECK-SAME: wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {$0, $1, $2, $3}, $4, $5, 0, 1, 1, 0, 0;\0A
  // CHECK-SAME: add.s64 a, $4, 2;\0Aadd.s64 b, $5, 2;\0A
  // CHECK-SAME: wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {$0, $1, $2, $3}, a, b, 1, 1, 1, 0, 0;\0A
  // CHECK-SAME: wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {$0, $1, $2, $3}, {$6, $7, $8, $9}, $5, 1, 1, 1, 1;\0A}
  // CHECK-SAME: "=&f,=&f,=&f,=&f,l,l,r,r,r,r" %{{.*}} :
  %s:4 = tgpu.simt.wgmma f16 a(%a) b(%b) : (i64, i64) -> (f32, f32, f32, f32)
  %t:4 = tgpu.simt.wgmma f16 a(%a2) b(%b2) acc(%s#0, %s#1, %s#2, %s#3) : (i64, i64, f32, f32, f32, f32) -> (f32, f32, f32, f32)
  %u:4 = tgpu.simt.wgmma f16 a(%w, %w, %w, %w) b(%b) transpose_b acc(%t#0, %t#1, %t#2, %t#3) : (i32, i32, i32, i32, i64, f32, f32, f32, f32) -> (f32, f32, f32, f32)
  // CHECK: llvm.extractvalue %[[CHAIN]][0]
  // CHECK: wgmma.wait_group
  %x = tgpu.simt.wgmma_wait 0 through %u#0 : (f32) -> f32
  llvm.return
}

// The twins: another use of what is between, another order, an effect between them.
// CHECK-LABEL: @apart
llvm.func @apart(%a: i64, %b: i64) {
  // CHECK-COUNT-4: "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {{[^\]*}}", "=f
  %s:4 = tgpu.simt.wgmma f16 a(%a) b(%b) : (i64, i64) -> (f32, f32, f32, f32)
  %t:4 = tgpu.simt.wgmma f16 a(%a) b(%b) acc(%s#0, %s#1, %s#2, %s#3) : (i64, i64, f32, f32, f32, f32) -> (f32, f32, f32, f32)
  %x = tgpu.simt.wgmma_wait 1 through %s#3 : (f32) -> f32
  %u:4 = tgpu.simt.wgmma f16 a(%a) b(%b) acc(%t#1, %t#0, %t#2, %t#3) : (i64, i64, f32, f32, f32, f32) -> (f32, f32, f32, f32)
  nvvm.wgmma.commit.group.sync.aligned
  %v:4 = tgpu.simt.wgmma f16 a(%a) b(%b) acc(%u#0, %u#1, %u#2, %u#3) : (i64, i64, f32, f32, f32, f32) -> (f32, f32, f32, f32)
  llvm.return
}

// What another kernel stored is read behind the wait for it.
// CHECK-LABEL: @kernels
llvm.func @kernels() {
  // CHECK: nvvm.griddepcontrol launch_dependents
  nvvm.griddepcontrol launch_dependents
  // CHECK: llvm.inline_asm has_side_effects "griddepcontrol.wait;", "~{memory}"
  nvvm.griddepcontrol wait
  llvm.return
}

// One thread stores, without a branch.
// CHECK-LABEL: @boxes
llvm.func @boxes(%map: !llvm.ptr, %from: !llvm.ptr<3>, %n: i32, %p: i1) {
  // CHECK: llvm.inline_asm has_side_effects "@$2 cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [$0, {$3, $4}], [$1];", "l,r,b,r,r,~{memory}" %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} :
  nvvm.cp.async.bulk.tensor.global.shared.cta %map, %from, box[%n, %n], predicate = %p : !llvm.ptr, !llvm.ptr<3>
  llvm.return
}

// No card looks.
// CHECK-LABEL: @asserts
// CHECK-NOT: assert
llvm.func @asserts(%holds: i1) {
  tgpu.simt.assert %holds, "x is above 0"
  // CHECK: llvm.return
  llvm.return
}

// CHECK-LABEL: @barriers
llvm.func @barriers(%at: !llvm.ptr<3>, %n: i32) {
  // CHECK: llvm.inline_asm has_side_effects "{{.*}}mbarrier.try_wait.parity.shared::cta.b64 done, [$0], $1;{{.*}}", "r,r" %{{.*}}, %{{.*}} : (!llvm.ptr<3>, i32) -> ()
  tgpu.simt.wait_phase %at, %n : !llvm.ptr<3>
  // CHECK: llvm.call_intrinsic "llvm.nvvm.barrier.cta.arrive.aligned.count"(%{{.*}}, %{{.*}}) : (i32, i32) -> ()
  nvvm.barrier.arrive id = %n number_of_threads = %n
  // CHECK: llvm.inline_asm has_side_effects "{{.*}}@first mbarrier.arrive.shared::cta.b64 _, [$0];{{.*}}", "r,r"
  tgpu.simt.arrive %at, %n : !llvm.ptr<3>
  // Of a cluster, lane r at the barrier of rank r.
  // CHECK: llvm.inline_asm has_side_effects "{{.*}}setp.lt.u32 first, $1, 2;\0A@first mapa.shared::cluster.u32 remote, $0, $1;\0A@first mbarrier.arrive.shared::cluster.b64 _, [remote];{{.*}}", "r,r"
  tgpu.simt.arrive %at, %n ranks 2 : !llvm.ptr<3>
  llvm.return
}
