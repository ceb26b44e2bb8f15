// A backward's loops: tiles of a step that several dots read are fetched once, and dots run beside what is computed.
// RUN: fa-run %examples/kernels/attention_backward.mlir --entry=backward_keys --arch=sm_90a --emit=plan > %t.late
// RUN: FileCheck %s --check-prefix=LATE < %t.late
// LATE: loop [0:2, 0:3, 1:0, 1:1], ping_pong, late_rescale, sums_first
// RUN: fa-run %examples/kernels/attention_backward.mlir --entry=backward_keys --arch=sm_90a --emit=tgpu --plan=%t.late | FileCheck %s --check-prefixes=SUMS,DONE
// RUN: sed 's/, sums_first//' %t.late > %t.running
// RUN: fa-run %examples/kernels/attention_backward.mlir --entry=backward_keys --arch=sm_90a --emit=tgpu --plan=%t.running | FileCheck %s --check-prefixes=SUMS,RUNNING
// RUN: sed 's/0:2, 0:3, 1:0, 1:1/0:0, 0:1, 0:2, 0:3/; s/, sums_first//' %t.late > %t
// RUN: fa-run %examples/kernels/attention_backward.mlir --entry=backward_keys --arch=sm_90a --emit=tgpu --plan=%t | FileCheck %s --check-prefix=KEYS
// RUN: fa-run %examples/kernels/attention_backward.mlir --entry=backward_queries --arch=sm_90a --emit=tgpu | FileCheck %s --check-prefix=QUERIES
// RUN: sed 's/0:2, 0:3, 1:0, 1:1/0:0, 0:1, 0:2, 0:3/; s/ping_pong, //; s/, sums_first//' %t.late > %t
// RUN: fa-run %examples/kernels/attention_backward.mlir --entry=backward_keys --arch=sm_90a --emit=tgpu --plan=%t | FileCheck %s --check-prefix=UNORDERED
// RUN: sed 's/step 3/step 1/' %t.late > %t
// RUN: not fa-run %examples/kernels/attention_backward.mlir --entry=backward_keys --arch=sm_90a --emit=tgpu --plan=%t 2>&1 | FileCheck %s --check-prefix=ONE
// ONE: expected two slots of a step's tiles at least beside sums_first, where the next tile is awaited before this one is released, found 1
// RUN: fa-run --attention "d=64 type=bf16 lse backward causal" --kernels=attention_dkv_roles --arch=sm_90a --emit=tgpu | FileCheck %s --check-prefix=VECTORS

// Both sums of the step before begin; they are done before scores begin, or run beside them. All of it is one turn of a
// consumer. What scores read is awaited beside the sums.
// SUMS: tgpu.warp_specialize
// SUMS: } consumer {
// The first tile.
// SUMS: math.exp2
// SUMS: scf.for
// SUMS: tgpu.order_wait
// SUMS: %[[DV:.*]] = tgpu.dot_start {{.*}} acc
// SUMS: %[[DK:.*]] = tgpu.dot_start {{.*}} acc
// DONE-NEXT: tgpu.await
// DONE-NEXT: tgpu.await
// DONE-NEXT: tgpu.dot_wait %[[DV]] pending 1
// DONE: tgpu.dot_wait %[[DK]] pending 0
// RUNNING-NEXT: tgpu.await
// SUMS: %[[S:.*]] = tgpu.dot_start slot {{.*}} transpose_b
// SUMS: %[[DP:.*]] = tgpu.dot_start slot {{.*}} transpose_b
// SUMS-NEXT: tgpu.order_arrive
// RUNNING-NEXT: tgpu.dot_wait %[[DV]] pending 3
// RUNNING: tgpu.dot_wait %[[DK]] pending 2
// SUMS: tgpu.dot_wait %[[S]] pending 1
// SUMS: math.exp2
// SUMS: tgpu.dot_wait %[[DP]] pending 0
// SUMS: scf.yield

// The log-sum-exp and delta of a step are awaited with its tiles; until dots have taken what is made of them nothing says that
// they have been read, and their slots are released behind the sums.
// VECTORS: } consumer {
// VECTORS: tgpu.order_wait
// VECTORS: tgpu.dot_start {{.*}} acc
// VECTORS-NEXT: tgpu.dot_start {{.*}} acc
// VECTORS-NEXT: tgpu.await
// VECTORS-NEXT: tgpu.await
// VECTORS-NEXT: tgpu.await %[[LSE:[^,]*]], %[[NOW:[^ ]*]] : <2 x 1x128xf32
// VECTORS-NEXT: tgpu.await %[[DELTA:[^,]*]], %[[NOW]] : <2 x 1x128xf32
// VECTORS-NEXT: tgpu.dot_wait
// VECTORS: tgpu.dot_wait
// VECTORS: tgpu.release %[[LSE]], %[[BEFORE:[^ ]*]] :
// VECTORS-NEXT: tgpu.release %[[DELTA]], %[[BEFORE]] :
// VECTORS: tgpu.order_arrive
// VECTORS: tgpu.receive %[[LSE]], %[[NOW]] :
// VECTORS-NOT: tgpu.release
// VECTORS: tgpu.receive %[[DELTA]], %[[NOW]] :
// VECTORS-NOT: tgpu.release
// VECTORS: scf.yield

// Q and dO, each for two dots of the four. A turn is what needs nothing computed.
// UNORDERED-NOT: tgpu.order
// KEYS: loop [0:0, 0:1, 0:2, 0:3]
// KEYS: tgpu.warp_specialize
// KEYS: scf.for
// KEYS: tgpu.fetch {{.*}} to %[[Q:[^,]*]], %[[STEP:[^ ]*]] :
// KEYS: tgpu.fetch {{.*}} to %[[DO:[^,]*]], %[[STEP]] :
// KEYS-NOT: tgpu.fetch
// KEYS: } consumer {
// KEYS: scf.for
// KEYS: tgpu.order_wait
// KEYS: tgpu.await %[[Q]],
// KEYS: %[[S:.*]] = tgpu.dot_start {{.*}} by slot %[[Q]], {{.*}} transpose_b
// KEYS: tgpu.await %[[DO]],
// KEYS: %[[DP:.*]] = tgpu.dot_start {{.*}} by slot %[[DO]], {{.*}} transpose_b
// KEYS-NEXT: tgpu.order_arrive
// KEYS-NOT: tgpu.await
// KEYS: tgpu.dot_wait %[[S]] pending 1
// KEYS: math.exp2
// KEYS: %[[DV:.*]] = tgpu.dot_start {{.*}} by slot %[[DO]],
// KEYS: tgpu.dot_wait %[[DP]] pending 1
// KEYS: %[[DK:.*]] = tgpu.dot_start {{.*}} by slot %[[Q]],
// KEYS-NOT: tgpu.release
// KEYS: tgpu.dot_wait %[[DV]] pending 1
// KEYS-NEXT: tgpu.release %[[DO]],
// KEYS-NEXT: tgpu.dot_wait %[[DK]] pending 0
// KEYS-NEXT: tgpu.release %[[Q]],
// KEYS-NEXT: scf.yield

// K is read in the step of its tile and in the one after, V in its own.
// QUERIES: loop [0:0, 0:1, 1:2]
// QUERIES: tgpu.warp_specialize
// QUERIES: scf.for
// QUERIES: tgpu.fetch {{.*}} to %[[K:[^,]*]],
// QUERIES: tgpu.fetch {{.*}} to %[[V:[^,]*]],
// QUERIES-NOT: tgpu.fetch
// QUERIES: } consumer {
// The first tile.
// QUERIES: scf.if
// QUERIES: tgpu.await %[[K]],
// QUERIES: tgpu.await %[[V]],
// QUERIES: pending 1
// QUERIES-NOT: tgpu.release %[[K]],
// QUERIES: pending 0
// QUERIES: tgpu.release %[[V]],
// QUERIES: scf.for
// QUERIES: %[[BEFORE:.*]] = arith.subi
// QUERIES: tgpu.await %[[K]], %[[NOW:.*]] :
// QUERIES: %[[S:.*]] = tgpu.dot_start {{.*}} by slot %[[K]], %[[NOW]] transpose_b
// QUERIES: tgpu.await %[[V]], %[[NOW]] :
// QUERIES: %[[DP:.*]] = tgpu.dot_start {{.*}} by slot %[[V]], %[[NOW]] transpose_b
// QUERIES-NOT: tgpu.await
// QUERIES: %[[DQ:.*]] = tgpu.dot_start {{.*}} by slot %[[K]], %[[BEFORE]]
// QUERIES: tgpu.dot_wait %[[S]] pending 2
// QUERIES: tgpu.dot_wait %[[DP]] pending 1
// QUERIES: tgpu.release %[[V]], %[[NOW]] after
// QUERIES: tgpu.dot_wait %[[DQ]] through {{.*}} pending 0
// QUERIES: tgpu.release %[[K]], %[[BEFORE]]
// QUERIES: scf.yield
// The last product.
// QUERIES: tgpu.dot_start
// QUERIES: pending 0
// QUERIES: tgpu.release %[[K]],
