// A kernel that another one of its entry follows counts on rows that lie close;
// the last, which takes what is left, and a kernel by itself do not.
// RUN: fa-opt %s --tgpu-limit-row-steps | FileCheck %s
// RUN: fa-opt %s --pass-pipeline='builtin.module(tgpu-limit-row-steps{limit=4096})' | FileCheck %s --check-prefix=LESS

!view = memref<?x16xf16, strided<[?, 1]>>

// CHECK-LABEL: tile.kernel @aligned
// CHECK-SAME: tgpu.row_step_limit = 16777216
// LESS-LABEL: tile.kernel @aligned
// LESS-SAME: tgpu.row_step_limit = 4096
tile.kernel @aligned(%x: !view {tile.access = #tile.access<in>})
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>, entry = "f"} {
  tile.return
}

// CHECK-LABEL: tile.kernel @alone
// CHECK-NOT: row_step_limit
tile.kernel @alone(%x: !view {tile.access = #tile.access<in>})
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  tile.return
}

// CHECK-LABEL: tile.kernel @any
// CHECK-NOT: row_step_limit
tile.kernel @any(%x: !view {tile.access = #tile.access<in>})
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>, entry = "f"} {
  tile.return
}
