// Masks that hold everywhere if a scalar does stand in a branch, with what they are computed from.
// RUN: fa-opt %s --pass-pipeline='builtin.module(tile.kernel(tgpu-branch-masks))' | FileCheck %s

!scores = tensor<64x128xf32, #tgpu.layout<accumulator 64x128 warps 4>>
!words = tensor<64x128xi32, #tgpu.layout<accumulator 64x128 warps 4>>
!mask = tensor<64x128xi1, #tgpu.layout<accumulator 64x128 warps 4>>
!in = memref<64x128xf32>

// CHECK-LABEL: tile.kernel @loop
// CHECK: scf.for
// CHECK-NOT: tile.
// CHECK: %[[WHOLE:.*]] = arith.cmpi ult
// CHECK-NOT: arith
// CHECK: %[[S:.*]] = tile.load
// CHECK-NEXT: %[[MASKED:.*]] = scf.if %[[WHOLE]]
// CHECK-NEXT: scf.yield %[[S]]
// CHECK-NEXT: } else {
// CHECK-NEXT: tile.iota
// CHECK-NEXT: arith.subi
// CHECK-NEXT: tile.broadcast
// CHECK-NEXT: %[[MASK:.*]] = arith.cmpi slt
// CHECK-NEXT: %[[T:.*]] = arith.select %[[MASK]], %[[S]]
// CHECK-NEXT: scf.yield %[[T]]
// CHECK-NEXT: }
// CHECK: tile.store %[[MASKED]]
tile.kernel @loop(%x: !in {tile.access = #tile.access<in>}, %o: !in {tile.access = #tile.access<out>}, %n: i32, %first: i32) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : i32
  %none = arith.constant dense<0xFF800000> : !scores
  scf.for %i = %c1 to %n step %c1 : i32 {
    %left = arith.subi %n, %i : i32
    %column = tile.iota dim 1 : !words
    %limit = tile.broadcast %left : i32 -> !words
    %mask = arith.cmpi slt, %column, %limit : !words
    %whole = arith.cmpi ult, %i, %first : i32
    %any = tile.broadcast %whole : i1 -> !mask
    %m = arith.ori %any, %mask : !mask
    %s = tile.load %x[%c0, %c0] : !in -> !scores
    %t = arith.select %m, %s, %none : !mask, !scores
    tile.store %t, %o[%c0, %c0] : !scores, !in
  }
  tile.return
}

// In a branch that is seldom taken the mask is applied in any case. What is no scalar is no such mask.
// CHECK-LABEL: tile.kernel @seldom
// CHECK: scf.if
// CHECK: %[[MASK:.*]] = arith.cmpi slt
// CHECK-NEXT: arith.select %[[MASK]],
// CHECK-NOT: scf.if
// CHECK: tgpu.seldom
// CHECK: %[[BOTH:.*]] = arith.ori
// CHECK-NEXT: arith.select %[[BOTH]],
// CHECK-NOT: scf.if
// CHECK: tile.return
tile.kernel @seldom(%x: !in {tile.access = #tile.access<in>}, %o: !in {tile.access = #tile.access<out>}, %n: i32, %first: i1, %rises: i1) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %none = arith.constant dense<0xFF800000> : !scores
  %column = tile.iota dim 1 : !words
  %limit = tile.broadcast %n : i32 -> !words
  %mask = arith.cmpi slt, %column, %limit : !words
  %any = tile.broadcast %first : i1 -> !mask
  %m = arith.ori %any, %mask : !mask
  %s = tile.load %x[%c0, %c0] : !in -> !scores
  %r = scf.if %rises -> !scores {
    %t = arith.select %m, %s, %none : !mask, !scores
    scf.yield %t : !scores
  } else {
    scf.yield %s : !scores
  } {tgpu.seldom}
  tile.store %r, %o[%c0, %c0] : !scores, !in
  %other = arith.cmpi sgt, %column, %limit : !words
  %two = arith.ori %other, %mask : !mask
  %u = arith.select %two, %s, %none : !mask, !scores
  tile.store %u, %o[%c0, %c0] : !scores, !in
  tile.return
}

// A cap's short form has its mask behind the cap: there it stays.
// CHECK-LABEL: tile.kernel @capped
// CHECK: %[[T:.*]] = math.tanh
// CHECK: %[[MASK:.*]] = arith.cmpi slt
// CHECK-NEXT: arith.select %[[MASK]], %[[T]],
// CHECK-NOT: scf.if
// CHECK: tile.return
tile.kernel @capped(%x: !in {tile.access = #tile.access<in>}, %o: !in {tile.access = #tile.access<out>}, %n: i32, %first: i1) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %none = arith.constant dense<0xFF800000> : !scores
  %column = tile.iota dim 1 : !words
  %limit = tile.broadcast %n : i32 -> !words
  %mask = arith.cmpi slt, %column, %limit : !words
  %any = tile.broadcast %first : i1 -> !mask
  %m = arith.ori %any, %mask : !mask
  %s = tile.load %x[%c0, %c0] : !in -> !scores
  %t = math.tanh %s : !scores
  %masked = arith.select %m, %t, %none : !mask, !scores
  tile.store %masked, %o[%c0, %c0] : !scores, !in
  tile.return
}

// What is read for each key stands in a branch if a scalar says that it need not be looked at; other conditions do not.
// CHECK-LABEL: tile.kernel @reads
// CHECK-NOT: tile.load %arg1
// CHECK: %[[S:.*]] = tile.load %arg0
// CHECK: %[[IN:.*]] = arith.cmpi slt
// CHECK: %[[KNOWN:.*]] = scf.if %arg4
// CHECK-NEXT: scf.yield %[[S]]
// CHECK-NEXT: } else {
// CHECK: %[[READ:.*]] = tile.load %arg1
// CHECK: %[[SAME:.*]] = arith.cmpi eq, %[[READ]]
// CHECK-NEXT: %[[T:.*]] = arith.select %[[SAME]], %[[S]]
// CHECK-NEXT: scf.yield %[[T]]
// CHECK-NEXT: }
// CHECK-NEXT: %[[MASKED:.*]] = arith.select %[[IN]], %[[KNOWN]]
// CHECK-NEXT: tile.store %[[MASKED]]
tile.kernel @reads(%x: !in {tile.access = #tile.access<in>}, %ids: memref<64x128xi32> {tile.access = #tile.access<in>}, %o: !in {tile.access = #tile.access<out>}, %n: i32, %known: i1) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %none = arith.constant dense<0xFF800000> : !scores
  %read = tile.load %ids[%c0, %c0] : memref<64x128xi32> -> !words
  %number = tile.broadcast %n : i32 -> !words
  %same = arith.cmpi eq, %read, %number : !words
  %any = tile.broadcast %known : i1 -> !mask
  %holds = arith.ori %any, %same : !mask
  %s = tile.load %x[%c0, %c0] : !in -> !scores
  %column = tile.iota dim 1 : !words
  %inside = arith.cmpi slt, %column, %number : !words
  %m = arith.andi %holds, %inside : !mask
  %t = arith.select %m, %s, %none : !mask, !scores
  tile.store %t, %o[%c0, %c0] : !scores, !in
  tile.return
}

// Not what the kernel may write itself: that is read where it was.
// CHECK-LABEL: tile.kernel @writes
// CHECK: tile.load %arg1
// CHECK: scf.if
// CHECK-NOT: tile.load
// CHECK: tile.return
tile.kernel @writes(%x: !in {tile.access = #tile.access<in>}, %ids: memref<64x128xi32> {tile.access = #tile.access<inout>}, %o: !in {tile.access = #tile.access<out>}, %n: i32, %known: i1) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %none = arith.constant dense<0xFF800000> : !scores
  %read = tile.load %ids[%c0, %c0] : memref<64x128xi32> -> !words
  %number = tile.broadcast %n : i32 -> !words
  %same = arith.cmpi eq, %read, %number : !words
  %any = tile.broadcast %known : i1 -> !mask
  %holds = arith.ori %any, %same : !mask
  %s = tile.load %x[%c0, %c0] : !in -> !scores
  %t = arith.select %holds, %s, %none : !mask, !scores
  tile.store %t, %o[%c0, %c0] : !scores, !in
  tile.return
}
