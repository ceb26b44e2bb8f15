// An attribute that the dialect does not have.
tile.kernel @misspelt(%y: memref<?xf32, strided<[?]>> {tile.access = #tile.access<out>})
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>, tile.few_programms = 1 : i64} {
  tile.return
}
