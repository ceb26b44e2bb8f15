// A fault that there is not, and one that a program has no place for.
// RUN: split-file %s %t
// RUN: fa-opt %t/unknown.mlir --verify-diagnostics --pass-pipeline='builtin.module(tgpu-mutate{fault=drop-everything})'
// RUN: fa-opt %t/schedule.mlir --verify-diagnostics --pass-pipeline='builtin.module(tgpu-mutate{fault=drop-wait})'
// RUN: fa-opt %t/thread.mlir --verify-diagnostics --pass-pipeline='builtin.module(tgpu-mutate{fault=wrong-bytes})'

//--- unknown.mlir
// expected-error @below {{expected a fault of drop-wait, drop-commit, }}
module {}

//--- schedule.mlir
// expected-error @below {{found no place for 'drop-wait', expected a program at S7 that has one}}
module {
  tile.kernel @f() attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
    tile.return
  }
}

//--- thread.mlir
// expected-error @below {{found no place for 'wrong-bytes', expected a program at S8 that has one}}
module {
  llvm.func @f(%words: !llvm.ptr) attributes {nvvm.kernel} {
    llvm.return
  }
}
