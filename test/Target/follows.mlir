// A kernel follows the one that it names.
// RUN: not fa-run %s --arch=sm_80 --emit=ptx 2>&1 | FileCheck %s
// RUN: sed 's/@none/@first/' %s > %t.mlir && fa-run %t.mlir --arch=sm_80 --emit=ptx | FileCheck %s --check-prefix=NAMED
// CHECK: @second: expected to follow @first, found @none
// NAMED: .visible .entry first
// NAMED: .visible .entry second
tile.kernel @whole(%x: memref<?xf32> {tile.access = #tile.access<in>})
    attributes {entry = "all", grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  tile.return
}
tile.kernel @first(%x: memref<?xf32> {tile.access = #tile.access<in>})
    attributes {entry = "all", grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  tile.return
}
tile.kernel @second(%x: memref<?xf32> {tile.access = #tile.access<in>})
    attributes {entry = "all", grid = affine_map<() -> (1)>, grid_sizes = array<i64>, tile.follows = @none} {
  tile.return
}
