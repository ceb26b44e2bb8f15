// Positions become floats once for a thread if they are sums of few terms: a value that is used twice counts twice.
// RUN: fa-run %s --arch=sm_80 --emit=ptx | FileCheck %s

// The registers differ by constants.
// CHECK-LABEL: entry few(
// CHECK: cvt.rn.f32.s32
// CHECK-NOT: cvt.rn.f32.s32
// CHECK: ret;
tile.kernel @few(%o: memref<64x64xf32> {tile.access = #tile.access<out>}, %n: index)
    attributes {entry = "positions", grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %i = tile.iota dim 0 : tensor<64x64xi32>
  %m = arith.index_cast %n : index to i32
  %x0 = tile.broadcast %m : i32 -> tensor<64x64xi32>
  %x1 = arith.subi %i, %x0 : tensor<64x64xi32>
  %y1 = arith.subi %x1, %x0 : tensor<64x64xi32>
  %x2 = arith.addi %x1, %y1 : tensor<64x64xi32>
  %f = arith.sitofp %x2 : tensor<64x64xi32> to tensor<64x64xf32>
  tile.store %f, %o[%c0, %c0] : tensor<64x64xf32>, memref<64x64xf32>
  tile.return
}

// (1 + sqrt(2))^30 paths from the last sum to the first.
// CHECK-LABEL: entry many_paths(
// CHECK-COUNT-2: cvt.rn.f32.s32
// CHECK: ret;
tile.kernel @many_paths(%o: memref<64x64xf32> {tile.access = #tile.access<out>}, %n: index)
    attributes {entry = "positions", grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %i = tile.iota dim 0 : tensor<64x64xi32>
  %m = arith.index_cast %n : index to i32
  %x0 = tile.broadcast %m : i32 -> tensor<64x64xi32>
  %x1 = arith.subi %i, %x0 : tensor<64x64xi32>
  %y1 = arith.subi %x1, %x0 : tensor<64x64xi32>
  %x2 = arith.addi %x1, %y1 : tensor<64x64xi32>
  %y2 = arith.subi %x2, %x1 : tensor<64x64xi32>
  %x3 = arith.addi %x2, %y2 : tensor<64x64xi32>
  %y3 = arith.subi %x3, %x2 : tensor<64x64xi32>
  %x4 = arith.addi %x3, %y3 : tensor<64x64xi32>
  %y4 = arith.subi %x4, %x3 : tensor<64x64xi32>
  %x5 = arith.addi %x4, %y4 : tensor<64x64xi32>
  %y5 = arith.subi %x5, %x4 : tensor<64x64xi32>
  %x6 = arith.addi %x5, %y5 : tensor<64x64xi32>
  %y6 = arith.subi %x6, %x5 : tensor<64x64xi32>
  %x7 = arith.addi %x6, %y6 : tensor<64x64xi32>
  %y7 = arith.subi %x7, %x6 : tensor<64x64xi32>
  %x8 = arith.addi %x7, %y7 : tensor<64x64xi32>
  %y8 = arith.subi %x8, %x7 : tensor<64x64xi32>
  %x9 = arith.addi %x8, %y8 : tensor<64x64xi32>
  %y9 = arith.subi %x9, %x8 : tensor<64x64xi32>
  %x10 = arith.addi %x9, %y9 : tensor<64x64xi32>
  %y10 = arith.subi %x10, %x9 : tensor<64x64xi32>
  %x11 = arith.addi %x10, %y10 : tensor<64x64xi32>
  %y11 = arith.subi %x11, %x10 : tensor<64x64xi32>
  %x12 = arith.addi %x11, %y11 : tensor<64x64xi32>
  %y12 = arith.subi %x12, %x11 : tensor<64x64xi32>
  %x13 = arith.addi %x12, %y12 : tensor<64x64xi32>
  %y13 = arith.subi %x13, %x12 : tensor<64x64xi32>
  %x14 = arith.addi %x13, %y13 : tensor<64x64xi32>
  %y14 = arith.subi %x14, %x13 : tensor<64x64xi32>
  %x15 = arith.addi %x14, %y14 : tensor<64x64xi32>
  %y15 = arith.subi %x15, %x14 : tensor<64x64xi32>
  %x16 = arith.addi %x15, %y15 : tensor<64x64xi32>
  %y16 = arith.subi %x16, %x15 : tensor<64x64xi32>
  %x17 = arith.addi %x16, %y16 : tensor<64x64xi32>
  %y17 = arith.subi %x17, %x16 : tensor<64x64xi32>
  %x18 = arith.addi %x17, %y17 : tensor<64x64xi32>
  %y18 = arith.subi %x18, %x17 : tensor<64x64xi32>
  %x19 = arith.addi %x18, %y18 : tensor<64x64xi32>
  %y19 = arith.subi %x19, %x18 : tensor<64x64xi32>
  %x20 = arith.addi %x19, %y19 : tensor<64x64xi32>
  %y20 = arith.subi %x20, %x19 : tensor<64x64xi32>
  %x21 = arith.addi %x20, %y20 : tensor<64x64xi32>
  %y21 = arith.subi %x21, %x20 : tensor<64x64xi32>
  %x22 = arith.addi %x21, %y21 : tensor<64x64xi32>
  %y22 = arith.subi %x22, %x21 : tensor<64x64xi32>
  %x23 = arith.addi %x22, %y22 : tensor<64x64xi32>
  %y23 = arith.subi %x23, %x22 : tensor<64x64xi32>
  %x24 = arith.addi %x23, %y23 : tensor<64x64xi32>
  %y24 = arith.subi %x24, %x23 : tensor<64x64xi32>
  %x25 = arith.addi %x24, %y24 : tensor<64x64xi32>
  %y25 = arith.subi %x25, %x24 : tensor<64x64xi32>
  %x26 = arith.addi %x25, %y25 : tensor<64x64xi32>
  %y26 = arith.subi %x26, %x25 : tensor<64x64xi32>
  %x27 = arith.addi %x26, %y26 : tensor<64x64xi32>
  %y27 = arith.subi %x27, %x26 : tensor<64x64xi32>
  %x28 = arith.addi %x27, %y27 : tensor<64x64xi32>
  %y28 = arith.subi %x28, %x27 : tensor<64x64xi32>
  %x29 = arith.addi %x28, %y28 : tensor<64x64xi32>
  %y29 = arith.subi %x29, %x28 : tensor<64x64xi32>
  %x30 = arith.addi %x29, %y29 : tensor<64x64xi32>
  %f = arith.sitofp %x30 : tensor<64x64xi32> to tensor<64x64xf32>
  tile.store %f, %o[%c0, %c0] : tensor<64x64xf32>, memref<64x64xf32>
  tile.return
}
