// Functions that are called go where they are called from, of programs and of kernels written by hand. A call that is left is refused.
// RUN: split-file %s %t
// RUN: fa-opt --explain %t/program.mlir | FileCheck %s --check-prefix=PROGRAM
// PROGRAM: scale: a value known at launch
// PROGRAM: 1 fused, 0 not
// RUN: fa-run %t/program.mlir --in 1x2x50x64 --in 1x2x70x64 --in 1x2x70x64 --in 0.125 --target=cpu --check | FileCheck %s --check-prefix=RAN
// RAN: PASS
// RUN: fa-run %t/kernel.mlir --in 21.0 --target=cpu --out %t/y.npy
// RUN: od -A n -t f4 -j 128 -N 4 %t/y.npy | FileCheck %s --check-prefix=KERNEL
// KERNEL: 42
// RUN: not fa-run %t/declared.mlir --in 64 --emit=kernel 2>&1 | FileCheck %s --check-prefix=LEFT
// RUN: not fa-run %t/recursive.mlir --in 21.0 --emit=ptx --arch=sm_80 2>&1 | FileCheck %s --check-prefix=LEFT
// LEFT: 'func.call' op expected @{{elsewhere|forever}} to be inlined, found a function that has no body or calls itself

//--- program.mlir
!rows = tensor<?x?x?x64xf16>
!scores = tensor<?x?x?x?xf32>
func.func private @scaled(%q: !rows, %k: !rows, %scale: f32) -> !scores {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %q, %c0 : !rows
  %h = tensor.dim %q, %c1 : !rows
  %m = tensor.dim %q, %c2 : !rows
  %n = tensor.dim %k, %c2 : !rows
  %qk = tile.dot %q, %k transpose_b : !rows, !rows -> !scores
  %sc = tile.broadcast %scale sizes %b, %h, %m, %n : f32 -> !scores
  %s0 = arith.mulf %qk, %sc : !scores
  return %s0 : !scores
}
func.func @attention(%q: !rows, %k: !rows, %v: !rows, %scale: f32) -> !rows {
  %s0 = func.call @scaled(%q, %k, %scale) : (!rows, !rows, f32) -> !scores
  %p = tile.softmax %s0 : !scores
  %ph = arith.truncf %p : !scores to tensor<?x?x?x?xf16>
  %ow = tile.dot %ph, %v : tensor<?x?x?x?xf16>, !rows -> tensor<?x?x?x64xf32>
  %o = arith.truncf %ow : tensor<?x?x?x64xf32> to !rows
  return %o : !rows
}

//--- kernel.mlir
func.func private @twice(%x: f32) -> f32 {
  %r = arith.addf %x, %x : f32
  return %r : f32
}
tile.kernel @first(%n: f32, %y: memref<64xf32> {tile.access = #tile.access<out>})
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %x = func.call @twice(%n) : (f32) -> f32
  %all = tile.broadcast %x : f32 -> tensor<64xf32>
  tile.store %all, %y[%c0] : tensor<64xf32>, memref<64xf32>
  tile.return
}

//--- declared.mlir
func.func private @elsewhere(%x: tensor<64xf32>) -> tensor<64xf32>
func.func @program(%x: tensor<64xf32>) -> tensor<64xf32> {
  %y = func.call @elsewhere(%x) : (tensor<64xf32>) -> tensor<64xf32>
  return %y : tensor<64xf32>
}

//--- recursive.mlir
func.func private @forever(%x: f32) -> f32 {
  %r = func.call @forever(%x) : (f32) -> f32
  return %r : f32
}
tile.kernel @first(%n: f32, %y: memref<64xf32> {tile.access = #tile.access<out>})
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %x = func.call @forever(%n) : (f32) -> f32
  %all = tile.broadcast %x : f32 -> tensor<64xf32>
  tile.store %all, %y[%c0] : tensor<64xf32>, memref<64xf32>
  tile.return
}
