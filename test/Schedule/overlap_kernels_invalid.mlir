// RUN: fa-opt %s --tgpu-overlap-kernels --verify-diagnostics

// expected-error @below {{expects to follow a kernel of its module, found @none}}
tile.kernel @merge(%x: memref<?xf32> {tile.access = #tile.access<in>})
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>, tile.follows = @none} {
  tile.return
}
