// Softmaxes beside a running dot go on with the maxima that they have, and keep the
// slot of the keys until they know that they can.
// RUN: fa-run --attention "d=128 type=f16" --arch=sm_90a --emit=tgpu | FileCheck %s --check-prefixes=CHECK,TWO
// RUN: fa-run --attention "d=128 type=bf16 causal lse" --arch=sm_90a --emit=tgpu | FileCheck %s --check-prefixes=CHECK,TWO
// RUN: fa-run --attention "d=64 type=bf16" --arch=sm_90a --emit=tgpu | FileCheck %s --check-prefixes=CHECK,THREE
// RUN: fa-run --attention "d=64 type=bf16 causal" --arch=sm_90a --emit=tgpu | FileCheck %s --check-prefixes=CHECK,THREE
// CHECK: tile.kernel @attention_roles(
// The first tile has no old maxima.
// CHECK: tgpu.dot_wait {{.*}} pending 0
// CHECK: tile.online_softmax {{.*}} {tgpu.held_maxima
// CHECK: scf.for
// CHECK: tgpu.dot_start slot %{{.*}} by slot %[[K:[0-9]+]], %[[N:.*]] transpose_b
// CHECK: tgpu.dot_wait {{.*}} pending 1
// CHECK-NOT: tgpu.release
// CHECK: %[[P:.*]], %[[SUM:.*]], %[[RISES:.*]] = tgpu.expected_softmax %{{.*}}, %[[MAX:[a-z0-9]+]] scale

// Three consumers wait for the output first: what its dot reads is free then.
// THREE: %{{.*}}, %[[Q:.*]] = tgpu.dot_wait %{{.*}} through %[[P]] pending 0
// THREE-NEXT: %[[STEP:.*]]:4 = scf.if %[[RISES]]
// TWO-NEXT: %[[STEP:.*]]:4 = scf.if %[[RISES]]
// CHECK-NEXT: %[[AGAIN:.*]] = tgpu.dot_start slot %{{.*}} by slot %[[K]], %[[N]] transpose_b
// CHECK-NEXT: tgpu.dot_wait %[[AGAIN]] pending 0
// CHECK-NEXT: tile.online_softmax {{.*}} {tgpu.held_maxima
// CHECK-NEXT: scf.yield
// CHECK-NEXT: } else {
// CHECK: arith.addf %{{.*}}, %[[SUM]]
// THREE-NEXT: scf.yield %[[Q]], %{{.*}}, %[[MAX]], %{{.*}}
// TWO-NEXT: scf.yield %[[P]], %{{.*}}, %[[MAX]], %{{.*}}
// CHECK-NEXT: } {tgpu.seldom}
// CHECK-NEXT: tgpu.release %[[K]], %[[N]] :
// TWO: tgpu.dot_wait %{{.*}} through %[[STEP]]#0 pending 0

// The loop with a mask: what is computed again is masked again.
// RUN: fa-run --attention "d=64 type=bf16 causal" --arch=sm_90a --emit=tgpu | FileCheck %s --check-prefix=MASK
// MASK: tile.kernel @attention_roles(
// MASK: tgpu.expected_softmax
// MASK: arith.cmpi slt
// MASK: tgpu.expected_softmax
// MASK: scf.if
// MASK-NEXT: tgpu.dot_start
// MASK-NEXT: %[[S:.*]] = tgpu.dot_wait
// MASK-NEXT: %[[M:.*]] = arith.select %{{.*}}, %[[S]]
// MASK-NEXT: tile.online_softmax %[[M]]

// Not where two consumers have less depth, or where scores are changed behind the dot.
// RUN: fa-run --attention "d=64 type=bf16" --tile=128x128 --arch=sm_90a --emit=tgpu | FileCheck %s --check-prefix=NONE
// RUN: fa-run --attention "d=64 type=bf16 softcap=30 window=100,0" --arch=sm_90a --emit=tgpu | FileCheck %s --check-prefix=NONE
// RUN: fa-run --attention "d=128 type=bf16 softcap=12" --arch=sm_90a --emit=tgpu | FileCheck %s --check-prefix=NONE
// RUN: fa-run --attention "d=128 type=bf16 softcap=30 alibi" --arch=sm_90a --emit=tgpu | FileCheck %s --check-prefix=NONE
// NONE: tile.kernel @attention_roles(
// NONE-NOT: tgpu.expected_softmax
// NONE: tile.return

// A cap is taken in again, masked or not; what its maxima are above, they stay (bf16).
// RUN: fa-run --attention "d=256 type=bf16 softcap=30 causal" --arch=sm_90a --emit=tgpu | FileCheck %s --check-prefixes=CAP,SHARE
// RUN: fa-run --attention "d=192 dv=128 type=f16 softcap=50 causal lse" --arch=sm_90a --emit=tgpu | FileCheck %s --check-prefix=CAP
// CAP: tile.kernel @attention_roles(
// CAP: tgpu.expected_softmax
// CAP: math.tanh
// CAP: arith.cmpi slt
// CAP: tgpu.expected_softmax
// CAP-NEXT: scf.if
// CAP-NEXT: tgpu.dot_start
// CAP-NEXT: %[[S:.*]] = tgpu.dot_wait
// CAP-NEXT: %[[X:.*]] = arith.mulf %[[S]]
// CAP-NEXT: %[[T:.*]] = math.tanh %[[X]]
// CAP-NEXT: %[[M:.*]] = arith.select %{{.*}}, %[[T]]
// CAP-NEXT: tile.online_softmax %[[M]]
// SHARE-SAME: tgpu.capped_scores

// A ramp is part of the dot and repeated with it. Where the bias has two sides, the loop of the tiles in which both are
// changes scores behind the dot and comes first.
// RUN: fa-run --attention "d=128 type=bf16 alibi causal" --arch=sm_90a --emit=tgpu | FileCheck %s --check-prefixes=ONE,RAMP
// RUN: fa-run --attention "d=128 type=bf16 alibi" --arch=sm_90a --emit=tgpu | FileCheck %s --check-prefixes=BOTH,RAMP
// ONE: tile.kernel @attention_roles(
// BOTH: tile.kernel @attention_roles(
// BOTH: math.absf
// BOTH: tile.online_softmax
// RAMP: tgpu.order_wait
// RAMP: %[[R:.*]] = tgpu.ramp
// RAMP: tgpu.dot_start {{.*}} acc %[[R]]
// RAMP-NOT: arith.addf
// RAMP: tgpu.expected_softmax
// RAMP: scf.if
// RAMP-NEXT: tgpu.dot_start {{.*}} acc %[[R]]

// What is received is received again, and its slot kept until then, where there are two of them for each consumer: at D 64,
// not at D 128.
// RUN: fa-run --attention "d=64 type=bf16 bias=bhqk" --arch=sm_90a --emit=tgpu | FileCheck %s --check-prefix=RECEIVED
// RECEIVED: tile.kernel @attention_roles_fetched(
// RECEIVED: dot_wait {{.*}} pending 1
// RECEIVED: tgpu.await %[[B:[0-9]+]], %[[OWN:[0-9]+]] :
// RECEIVED-NEXT: tgpu.receive %[[B]], %[[OWN]] :
// RECEIVED-NOT: tgpu.release %[[B]]
// RECEIVED: tgpu.expected_softmax
// RECEIVED-NEXT: scf.if
// RECEIVED: %[[AGAIN:.*]] = tgpu.receive %[[B]], %[[OWN]] :
// RECEIVED: %[[W:.*]] = arith.extf %[[AGAIN]]
// RECEIVED: arith.addf %{{.*}}, %[[W]]
// RECEIVED: tgpu.seldom
// RECEIVED: tgpu.release %[[B]], %[[OWN]] :
// RUN: fa-run --attention "d=128 type=bf16 bias=bhqk" --arch=sm_90a --emit=tgpu | FileCheck %s --check-prefix=HELD
// HELD: tile.kernel @attention_roles_fetched(
// HELD: tgpu.receive
// HELD-NOT: tgpu.expected_softmax
// HELD: tile.kernel @attention_roles(
