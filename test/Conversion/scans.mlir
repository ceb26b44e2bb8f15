// Scans and reductions of what lies in lanes and registers: of each total one shuffle for each bit of a lane, of 64 bits two.
// RUN: fa-run %s --entry=scan --arch=sm_80 --emit=llvm | FileCheck %s --check-prefix=SCAN
// RUN: fa-run %s --entry=sums --arch=sm_80 --emit=llvm | FileCheck %s --check-prefix=SUMS
// RUN: fa-run %s --entry=scan --arch=gfx942 --emit=llvm | FileCheck %s --check-prefix=AMD

// Two registers that are 32 apart: five bits of lanes, and then the second gets the total of the first. A
// wave of 64 lanes has six such bits, two of them beyond what a row of lanes exchanges.
// SCAN-LABEL: define {{.*}} @scan(
// SCAN-COUNT-10: @llvm.nvvm.shfl.sync.bfly.i32
// SCAN-NOT: shfl
// SCAN: ret void
// AMD-LABEL: define {{.*}} @scan(
// AMD: @llvm.amdgcn.update.dpp.i32
// AMD-COUNT-2: call i32 @llvm.amdgcn.ds.bpermute
// AMD-NOT: call i32 @llvm.amdgcn.{{update.dpp|ds.bpermute}}
// AMD: ret void
tile.kernel @scan(%x: memref<64xi32> {tile.access = #tile.access<in>}, %y: memref<64xi32> {tile.access = #tile.access<out>})
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %a = tile.load %x[%c0] in_bounds : memref<64xi32> -> tensor<64xi32>
  %s = tile.scan add %a dim 0 : tensor<64xi32>
  tile.store %s, %y[%c0] : tensor<64xi32>, memref<64xi32>
  tile.return
}

// SUMS-LABEL: define {{.*}} @sums(
// SUMS-COUNT-10: @llvm.nvvm.shfl.sync.bfly.i32
// SUMS-NOT: shfl
// SUMS: ret void
tile.kernel @sums(%x: memref<1x64xi64> {tile.access = #tile.access<in>}, %y: memref<1xi64> {tile.access = #tile.access<out>})
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %a = tile.load %x[%c0, %c0] in_bounds : memref<1x64xi64> -> tensor<1x64xi64>
  %s = tile.reduce add %a dim 1 : tensor<1x64xi64> -> tensor<1xi64>
  tile.store %s, %y[%c0] : tensor<1xi64>, memref<1xi64>
  tile.return
}
