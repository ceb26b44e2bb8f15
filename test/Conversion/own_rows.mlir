// Where no target deals rows, all of them are computed here.
// RUN: fa-run %s --arch=sm_80 --emit=llvm | FileCheck %s
// RUN: fa-run %s --arch=host --emit=llvm | FileCheck %s

// CHECK: store float 1.920000e+02
tile.kernel @own(%o: memref<16xf32> {tile.access = #tile.access<out>})
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %offset, %count = tile.own_rows of 192
  %n = arith.index_cast %count : index to i32
  %f = arith.sitofp %n : i32 to f32
  %t = tile.broadcast %f : f32 -> tensor<16xf32>
  tile.store %t, %o[%offset] : tensor<16xf32>, memref<16xf32>
  tile.return
}
