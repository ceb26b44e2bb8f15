// Softmaxes beside a running dot go on with the maxima that they have, and keep the
// slot of the keys until they know that they can.
// RUN: fa-run --attention "d=128 type=f16" --arch=sm_90a --emit=tgpu | FileCheck %s
// RUN: fa-run --attention "d=128 type=bf16 causal lse" --arch=sm_90a --emit=tgpu | FileCheck %s
// RUN: fa-run --attention "d=64 type=bf16" --arch=sm_90a --emit=tgpu | FileCheck %s
// CHECK: tile.kernel @attention_roles(
// The first tile has no old maxima.
// CHECK: tgpu.dot_wait {{.*}} pending 0
// CHECK: tile.online_softmax {{.*}} {tgpu.held_maxima
// CHECK: scf.for
// CHECK: tgpu.dot_start slot %{{.*}} by slot %[[K:[0-9]+]], %[[N:.*]] transpose_b
// CHECK: tgpu.dot_wait {{.*}} pending 1
// CHECK-NOT: tgpu.release
// CHECK: tile.online_softmax {{.*}} {tgpu.expected_maxima, tgpu.held_maxima
// CHECK-NEXT: tgpu.release %[[K]], %[[N]] :

// Not where two consumers have less depth, or where scores are changed behind the dot.
// RUN: fa-run --attention "d=64 type=bf16" --tile=128x128 --arch=sm_90a --emit=tgpu | FileCheck %s --check-prefix=NONE
// RUN: fa-run --attention "d=128 type=bf16 softcap=30" --arch=sm_90a --emit=tgpu | FileCheck %s --check-prefix=NONE
// RUN: fa-run --attention "d=128 type=bf16 alibi" --arch=sm_90a --emit=tgpu | FileCheck %s --check-prefix=NONE
// NONE: tile.kernel @attention_roles(
// NONE-NOT: tgpu.expected_maxima
// NONE: tile.return
