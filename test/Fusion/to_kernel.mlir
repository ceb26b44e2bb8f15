// RUN: fa-opt %s --split-input-file --tile-online-softmax --tile-to-kernel='constraints="splits=1"' --canonicalize --cse | FileCheck %s

!rows = tensor<?x?x?x64xf16>

// Without a mask there are two loops: whole tiles, and the tail.
// CHECK-DAG: #[[DECODE:.*]] = affine_map<()[s0, s1, s2] -> ((s0 floordiv s1) ceildiv 16, s1, s2)>
// CHECK-DAG: #[[PLAIN:.*]] = affine_map<()[s0, s1, s2] -> (s0 ceildiv 128, s1, s2)>

// CHECK: tile.kernel @plain_decode(%{{.*}}: memref<?x?x1x64xf16, strided<[?, ?, ?, 1]>>
// CHECK-SAME: entry = "plain",{{.*}} grid = #[[DECODE]], grid_sizes = array<i64: 0, 1, 1, 1, 0, 0>
// CHECK: tile.load %{{.*}} : memref<?x64xf16, strided<[?, 1], offset: ?>> -> tensor<16x64xf16>

// CHECK: tile.kernel @plain(
// CHECK-SAME: grid = #[[PLAIN]], grid_sizes = array<i64: 0, 2, 0, 1, 0, 0>
// CHECK: tile.load %{{.*}} -> tensor<128x64xf16>
// CHECK: scf.for
// CHECK: tile.load %{{.*}} in_bounds
// CHECK-NOT: arith.select
// CHECK: arith.truncf %{{.*}} : tensor<128x128xf32> to tensor<128x128xf16>
// CHECK: scf.for
// CHECK: arith.select
// CHECK-NOT: scf.for
// CHECK: tile.online_finalize
// CHECK: tile.store
// CHECK: tile.return

// CHECK: tile.kernel @plain_strided(%{{.*}}: memref<?x?x?x64xf16, strided<[?, ?, ?, ?]>>
// CHECK-NOT: func.func
func.func @plain(%q: !rows, %k: !rows, %v: !rows, %scale: f32) -> !rows {
  %o = tile.attention %q, %k, %v scale %scale : !rows, !rows, !rows -> !rows score {} mask {}
  return %o : !rows
}

// -----

!rows = tensor<?x?x?x64xf32>

// A window has both edges: three loops. Lengths bound what is read at all.
// CHECK: tile.kernel @window(
// CHECK: %[[LEN:.*]] = memref.load
// CHECK: %[[LENI:.*]] = arith.index_cast %[[LEN]]
// CHECK: %[[MIN:.*]] = arith.minsi %{{.*}}, %[[LENI]]
// CHECK: %[[LIMIT:.*]] = arith.maxsi %[[MIN]]
// CHECK: memref.subview %{{.*}} [1, 1, %[[LIMIT]], 64]
// CHECK: scf.for
// CHECK: scf.for
// CHECK: scf.for
// CHECK: tile.online_finalize
func.func @window(%q: !rows, %k: !rows, %v: !rows, %len: tensor<?xi32>, %scale: f32) -> !rows {
  %o = tile.attention %q, %k, %v scale %scale captures(%len : tensor<?xi32>) : !rows, !rows, !rows -> !rows score {} mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %l: tensor<?xi32>):
    %c16 = arith.constant 16 : index
    %low = arith.subi %i, %c16 : index
    %m0 = arith.cmpi sge, %j, %low : index
    %m1 = arith.cmpi sle, %j, %i : index
    %n = tensor.extract %l[%b] : tensor<?xi32>
    %ni = arith.index_cast %n : i32 to index
    %m2 = arith.cmpi slt, %j, %ni : index
    %m01 = arith.andi %m0, %m1 : i1
    %m = arith.andi %m01, %m2 : i1
    tile.yield %m : i1
  }
  return %o : !rows
}

// -----

!rows = tensor<?x?x?x64xf32>

// What is not a bound on keys is evaluated for every element: one loop.
// CHECK: tile.kernel @strided_mask(
// CHECK: scf.for
// CHECK: arith.remsi
// CHECK-NOT: scf.for
// CHECK: tile.online_finalize
func.func @strided_mask(%q: !rows, %k: !rows, %v: !rows, %scale: f32) -> !rows {
  %o = tile.attention %q, %k, %v scale %scale : !rows, !rows, !rows -> !rows score {} mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %c4 = arith.constant 4 : index
    %c0 = arith.constant 0 : index
    %r = arith.remsi %j, %c4 : index
    %m = arith.cmpi eq, %r, %c0 : index
    tile.yield %m : i1
  }
  return %o : !rows
}

// -----

!rows = tensor<?x?x?x64xf32>

// Kernels take the names that are free.
// CHECK: tile.kernel @f_decode_0(
// CHECK-SAME: entry = "f"
// CHECK: tile.kernel @f(
// CHECK: tile.kernel @f_decode_decode(
// CHECK: tile.kernel @f_decode(
// CHECK-SAME: entry = "f_decode"
func.func @f(%q: !rows, %k: !rows, %v: !rows, %scale: f32) -> !rows {
  %o = tile.attention %q, %k, %v scale %scale : !rows, !rows, !rows -> !rows score {} mask {}
  return %o : !rows
}
func.func @f_decode(%q: !rows, %k: !rows, %v: !rows, %scale: f32) -> !rows {
  %o = tile.attention %q, %k, %v scale %scale : !rows, !rows, !rows -> !rows score {} mask {}
  return %o : !rows
}
