// The pass alone; expect_maxima.mlir has the kernels that it is for.
// RUN: fa-opt %s --pass-pipeline='builtin.module(tile.kernel(tgpu-expect-maxima))' | FileCheck %s
// RUN: sed 's/, max speculative//' %s | fa-opt --pass-pipeline='builtin.module(tile.kernel(tgpu-expect-maxima))' | FileCheck %s --check-prefix=SHALLOW

#acc = #tgpu.layout<accumulator 64x64 warps 4>
#row = #tgpu.layout<64 register = [[8]], lane = [[0], [0], [1], [2], [4]], warp = [[16], [32]]>
!own = !tgpu.channel<1 x 64x64xf16, #tgpu.layout<swizzled 64x64 bytes 2>>
!tiles = !tgpu.channel<2 x 64x64xf16, #tgpu.layout<swizzled 64x64 bytes 2>>
!tile = tensor<64x64xf32, #acc>
!rounded = tensor<64x64xf16, #acc>
!rows = tensor<64xf32, #row>

// Where the plan says so alone: two consumers with 64 columns wait longer for the slot than they save.
// SHALLOW-NOT: tgpu.expected_softmax

// Beside the dot that runs, p is made of the maxima that there are. The branch
// asks for others, of the same dot, whose slot is kept until then.
// CHECK-LABEL: tile.kernel @expected(
// CHECK: } consumer {
// CHECK-NOT: tgpu.release %[[K:.*]],
// CHECK: %[[P:.*]], %[[SUM:.*]], %[[RISES:.*]] = tgpu.expected_softmax %{{.*}}, %[[M:[a-z0-9]+]] :
// CHECK: %[[STEP:.*]]:4 = scf.if %[[RISES]]
// CHECK-NEXT: %[[AGAIN:.*]] = tgpu.dot_start slot
// CHECK-NEXT: %[[S:.*]] = tgpu.dot_wait %[[AGAIN]] pending 0
// CHECK-NEXT: tile.online_softmax %[[S]]
// CHECK: } else {
// CHECK: %[[L:.*]] = arith.addf %{{.*}}, %[[SUM]]
// CHECK: scf.yield %{{.*}}, %{{.*}}, %[[M]], %[[L]]
// CHECK: } {tgpu.seldom}
// CHECK-NEXT: tgpu.release %{{.*}}, %{{.*}} :
// CHECK: tgpu.passed
tile.kernel @expected(%m: f32) attributes {tgpu.plan = #tgpu.plan<tile 192x64, partitions [load w4 r32, compute*3 w4 r160 rows 64], slots {program 3, step 2}, max speculative>, grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %zero = arith.constant dense<0.0> : !tile
  %q = tgpu.channel own : !own
  %k = tgpu.channel : !tiles
  %v = tgpu.channel : !tiles
  tgpu.warp_specialize consumers 3 producer {
  ^bb0(%n: index, %steps: index):
    tgpu.passed %steps
  } consumer {
  ^bb0(%n: index, %steps: index):
    %max = tile.broadcast %m : f32 -> !rows
    %last = arith.constant dense<0.0> : !rounded
    %begun = tgpu.dot_start slot %q, %n by slot %k, %steps transpose_b : (!own, index, !tiles, index) -> !tgpu.running<!tile>
    %running = tgpu.dot_start %last by slot %v, %steps acc %zero : (!rounded, !tiles, index, !tile) -> !tgpu.running<!tile>
    %s = tgpu.dot_wait %begun pending 1 : (!tgpu.running<!tile>) -> !tile
    tgpu.release %k, %steps : !tiles
    %p, %alpha, %m1, %l1 = tile.online_softmax %s, %max, %max {tgpu.held_maxima, tgpu.thread_sums} : !tile, !rows
    %o = tgpu.dot_wait %running pending 0 : (!tgpu.running<!tile>) -> !tile
    tgpu.passed %steps
  }
  tile.return
}

// A first tile, beside which nothing runs, has no maxima to expect; nor have
// maxima that are not held.
// CHECK-LABEL: tile.kernel @first(
// CHECK-NOT: tgpu.expected_softmax
// CHECK-LABEL: tile.kernel @exact(
// CHECK-NOT: tgpu.expected_softmax
tile.kernel @first(%m: f32) attributes {tgpu.plan = #tgpu.plan<tile 192x64, partitions [load w4 r32, compute*3 w4 r160 rows 64], slots {program 3, step 2}, max speculative>, grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %q = tgpu.channel own : !own
  %k = tgpu.channel : !tiles
  tgpu.warp_specialize consumers 3 producer {
  ^bb0(%n: index, %steps: index):
    tgpu.passed %steps
  } consumer {
  ^bb0(%n: index, %steps: index):
    %max = tile.broadcast %m : f32 -> !rows
    %begun = tgpu.dot_start slot %q, %n by slot %k, %steps transpose_b : (!own, index, !tiles, index) -> !tgpu.running<!tile>
    %s = tgpu.dot_wait %begun pending 0 : (!tgpu.running<!tile>) -> !tile
    tgpu.release %k, %steps : !tiles
    %p, %alpha, %m1, %l1 = tile.online_softmax %s, %max, %max {tgpu.held_maxima, tgpu.thread_sums} : !tile, !rows
    tgpu.passed %steps
  }
  tile.return
}
tile.kernel @exact(%m: f32) attributes {tgpu.plan = #tgpu.plan<tile 192x64, partitions [load w4 r32, compute*3 w4 r160 rows 64], slots {program 3, step 2}, max speculative>, grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %q = tgpu.channel own : !own
  %k = tgpu.channel : !tiles
  tgpu.warp_specialize consumers 3 producer {
  ^bb0(%n: index, %steps: index):
    tgpu.passed %steps
  } consumer {
  ^bb0(%n: index, %steps: index):
    %max = tile.broadcast %m : f32 -> !rows
    %begun = tgpu.dot_start slot %q, %n by slot %k, %steps transpose_b : (!own, index, !tiles, index) -> !tgpu.running<!tile>
    %s = tgpu.dot_wait %begun pending 1 : (!tgpu.running<!tile>) -> !tile
    tgpu.release %k, %steps : !tiles
    %p, %alpha, %m1, %l1 = tile.online_softmax %s, %max, %max {tgpu.thread_sums} : !tile, !rows
    tgpu.passed %steps
  }
  tile.return
}
