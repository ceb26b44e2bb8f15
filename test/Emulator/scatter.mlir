// Elements of a scatter that lie outside, below 0 and beyond each size, are dropped on every target; where it is promised that there
// are none, they are found.
// RUN: fa-run %s --entry=shift --in 100x48 --check --target=cpu | FileCheck %s
// RUN: fa-run %s --entry=shift --in 100x48 --check --target=emulator:sm_80 | FileCheck %s
// RUN: fa-run %s --entry=shift --in 100x48 --check --target=emulator:sm_90a | FileCheck %s
// RUN: fa-run %s --entry=shift --in 100x48 --check --target=emulator:gfx942 | FileCheck %s
// CHECK: PASS
// RUN: not fa-run %s --entry=promised --in 100x48 --check --target=emulator:sm_80 2>&1 | FileCheck %s --check-prefix=FOUND
// RUN: not fa-run %s --entry=promised --in 100x48 --check --target=emulator:gfx942 2>&1 | FileCheck %s --check-prefix=FOUND
// FOUND: scatter.mlir:[[# @LINE + 41]]:{{[0-9]+}}: {{out of bounds|race}}: llvm.store

func.func @part(%x: tensor<100x48xf32>) -> tensor<60x40xf32> {
  %y = tensor.extract_slice %x[8, 4] [60, 40] [1, 1] : tensor<100x48xf32> to tensor<60x40xf32>
  return %y : tensor<60x40xf32>
}

tile.kernel @shift(%x: memref<100x48xf32, strided<[?, 1]>> {tile.access = #tile.access<in>}, %y: memref<60x40xf32, strided<[?, 1]>> {tile.access = #tile.access<out>})
    attributes {grid = affine_map<() -> (7)>, grid_sizes = array<i64>, reference = @part} {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c8 = arith.constant 8 : index
  %m = tile.program_id 0
  %row = arith.muli %m, %c16 : index
  %t = tile.load %x[%row, %c0] : memref<100x48xf32, strided<[?, 1]>> -> tensor<16x64xf32>
  %to = arith.subi %row, %c8 : index
  %first = tile.broadcast %to : index -> tensor<16x64xindex>
  %i0 = tile.iota dim 0 : tensor<16x64xindex>
  %i = arith.addi %i0, %first : tensor<16x64xindex>
  %j0 = tile.iota dim 1 : tensor<16x64xindex>
  %left = arith.constant dense<4> : tensor<16x64xindex>
  %j = arith.subi %j0, %left : tensor<16x64xindex>
  tile.scatter %t, %y[%i, %j] : tensor<16x64xf32>, memref<60x40xf32, strided<[?, 1]>>, (tensor<16x64xindex>, tensor<16x64xindex>)
  tile.return
}

tile.kernel @promised(%x: memref<100x48xf32, strided<[?, 1]>> {tile.access = #tile.access<in>}, %y: memref<60x40xf32, strided<[?, 1]>> {tile.access = #tile.access<out>})
    attributes {grid = affine_map<() -> (7)>, grid_sizes = array<i64>, reference = @part} {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c8 = arith.constant 8 : index
  %m = tile.program_id 0
  %row = arith.muli %m, %c16 : index
  %t = tile.load %x[%row, %c0] : memref<100x48xf32, strided<[?, 1]>> -> tensor<16x64xf32>
  %to = arith.subi %row, %c8 : index
  %first = tile.broadcast %to : index -> tensor<16x64xindex>
  %i0 = tile.iota dim 0 : tensor<16x64xindex>
  %i = arith.addi %i0, %first : tensor<16x64xindex>
  %j0 = tile.iota dim 1 : tensor<16x64xindex>
  %left = arith.constant dense<4> : tensor<16x64xindex>
  %j = arith.subi %j0, %left : tensor<16x64xindex>
  tile.scatter %t, %y[%i, %j] in_bounds : tensor<16x64xf32>, memref<60x40xf32, strided<[?, 1]>>, (tensor<16x64xindex>, tensor<16x64xindex>)
  tile.return
}
