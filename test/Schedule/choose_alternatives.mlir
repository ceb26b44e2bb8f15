// A kernel whose plan specializes its warps takes the place of its alternative, unless another needs that one.
// RUN: fa-opt %s --tgpu-choose-alternatives | FileCheck %s

// CHECK-NOT: tile.kernel @plain
// CHECK-LABEL: tile.kernel @specialized(
// CHECK-NOT: tile.kernel @plain
tile.kernel @plain() attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  tile.return
}
tile.kernel @specialized() attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>, tile.alternative = @plain, tgpu.plan = #tgpu.plan<tile 64x64, partitions [load w4, compute w4 rows 64], slots {program 1, step 2}>} {
  tile.return
}

// Otherwise it goes, and with it what merges what it leaves, but no other one.
// CHECK-LABEL: tile.kernel @some_short(
// CHECK-NOT: tile.kernel @some_long
// CHECK-LABEL: tile.kernel @some(
tile.kernel @some_short() attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>, tile.alternative = @some, tgpu.plan = #tgpu.plan<tile 64x64, partitions [load w4, compute w4 rows 64], slots {program 1, step 2}>} {
  tile.return
}
tile.kernel @some_long() attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>, tile.alternative = @some} {
  tile.return
}
tile.kernel @some_long_merge() attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>, tile.follows = @some_long} {
  tile.return
}
tile.kernel @some() attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  tile.return
}

// Both have them.
// CHECK-LABEL: tile.kernel @all_short(
// CHECK-LABEL: tile.kernel @all_long(
// CHECK-NOT: tile.kernel
tile.kernel @all_short() attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>, tile.alternative = @all, tgpu.plan = #tgpu.plan<tile 64x64, partitions [load w4, compute w4 rows 64], slots {program 1, step 2}>} {
  tile.return
}
tile.kernel @all_long() attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>, tile.alternative = @all, tgpu.plan = #tgpu.plan<tile 64x64, partitions [load w4, compute w4 rows 64], slots {program 1, step 2}>} {
  tile.return
}
tile.kernel @all() attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  tile.return
}

// What another follows in its launch is followed by the alternative that takes its place, which the launch then begins with.
// CHECK-NOT: tile.kernel @chain_roles(
// CHECK-LABEL: tile.kernel @chain(
// CHECK-NOT: tile.follows
// CHECK-SAME: tile.splits = 1
// CHECK-LABEL: tile.kernel @chain_rest(
// CHECK-SAME: tile.follows = @chain
tile.kernel @chain_roles() attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>, tile.alternative = @chain, tile.splits = 1 : i64} {
  tile.return
}
tile.kernel @chain() attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>, tile.follows = @chain_roles} {
  tile.return
}
tile.kernel @chain_rest() attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>, tile.follows = @chain_roles} {
  tile.return
}
