// A head's slope is read before the loop whose dots overlap, which has it behind waits for slots otherwise.
// RUN: fa-run --attention "d=128 type=bf16 alibi" --arch=sm_90a --emit=tgpu | FileCheck %s
// CHECK: tile.kernel @attention_roles(
// CHECK: } consumer {
// The first tile's, of either loop.
// CHECK: memref.load %arg3
// CHECK: memref.load %arg3
// CHECK: arith.addi
// CHECK: memref.load %arg3
// CHECK-NEXT: scf.for
// CHECK-NOT: memref.load
// CHECK: tgpu.dot_wait {{.*}} pending 1
// CHECK-NOT: memref.load
// CHECK: scf.yield

// A loop without overlap may run no iteration: what it reads stays in it.
// RUN: fa-run --attention "d=128 type=f32 alibi" --arch=sm_90a --emit=tgpu | FileCheck %s --check-prefix=INSIDE
// INSIDE: tile.kernel @attention(
// INSIDE: scf.for
// INSIDE: tile.dot
// INSIDE: memref.load %arg3
