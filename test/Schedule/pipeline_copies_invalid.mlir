// RUN: fa-opt %s --verify-diagnostics --pass-pipeline='builtin.module(tile.kernel(tgpu-pipeline-copies{stages=1}))'

// expected-error @below {{expected at least 2 stages, found 1}}
tile.kernel @one() attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  tile.return
}
