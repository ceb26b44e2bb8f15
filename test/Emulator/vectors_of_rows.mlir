// A vector of rows that is repeated along a tile which is too low for the matrix unit's layouts is in the threads that have the tile.
// RUN: fa-run %s --entry=scale --in 100x48 --in 100 --in 48 --check --target=emulator:sm_80 | FileCheck %s
// RUN: fa-run %s --entry=scale --in 100x48 --in 100 --in 48 --check --target=emulator:gfx942 | FileCheck %s
// RUN: fa-run %s --entry=scale --in 100x48 --in 100 --in 48 --check --target=cpu | FileCheck %s
// CHECK: PASS
// RUN: not fa-run %s --entry=scale --in 100x48 --in 100 --in 48 --check --target=emulator:sm_80 --fa-mutate=store-past-end 2>&1 | FileCheck %s --check-prefix=FAULT
// FAULT: {{race|out of bounds}}

func.func @product(%x: tensor<100x48xf32>, %r: tensor<100xf32>, %w: tensor<48xf32>) -> tensor<100x48xf32> {
  %r1 = tile.expand_dims %r dim 1 : tensor<100xf32> -> tensor<100x1xf32>
  %r2 = tile.broadcast %r1 : tensor<100x1xf32> -> tensor<100x48xf32>
  %w1 = tile.expand_dims %w dim 0 : tensor<48xf32> -> tensor<1x48xf32>
  %w2 = tile.broadcast %w1 : tensor<1x48xf32> -> tensor<100x48xf32>
  %y0 = arith.mulf %x, %r2 : tensor<100x48xf32>
  %y = arith.mulf %y0, %w2 : tensor<100x48xf32>
  return %y : tensor<100x48xf32>
}

tile.kernel @scale(%x: memref<100x48xf32, strided<[?, 1]>> {tile.access = #tile.access<in>}, %r: memref<100xf32> {tile.access = #tile.access<in>},
                   %w: memref<48xf32> {tile.access = #tile.access<in>}, %y: memref<100x48xf32, strided<[?, 1]>> {tile.access = #tile.access<out>})
    attributes {grid = affine_map<() -> (7)>, grid_sizes = array<i64>, reference = @product} {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %m = tile.program_id 0
  %row = arith.muli %m, %c16 : index
  %t = tile.load %x[%row, %c0] : memref<100x48xf32, strided<[?, 1]>> -> tensor<16x64xf32>
  %r0 = tile.load %r[%row] : memref<100xf32> -> tensor<16xf32>
  %r1 = tile.expand_dims %r0 dim 1 : tensor<16xf32> -> tensor<16x1xf32>
  %r2 = tile.broadcast %r1 : tensor<16x1xf32> -> tensor<16x64xf32>
  %t1 = arith.mulf %t, %r2 : tensor<16x64xf32>
  %w0 = tile.load %w[%c0] : memref<48xf32> -> tensor<64xf32>
  %w1 = tile.expand_dims %w0 dim 0 : tensor<64xf32> -> tensor<1x64xf32>
  %w2 = tile.broadcast %w1 : tensor<1x64xf32> -> tensor<16x64xf32>
  %t2 = arith.mulf %t1, %w2 : tensor<16x64xf32>
  tile.store %t2, %y[%row, %c0] : tensor<16x64xf32>, memref<100x48xf32, strided<[?, 1]>>
  tile.return
}
