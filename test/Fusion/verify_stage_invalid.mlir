// What does not belong to a stage is an error at its place; verify_stage.mlir has programs that do.
// RUN: split-file %s %t
// RUN: fa-opt %t/s0.mlir --verify-diagnostics --tile-verify-stage=stage=S0
// RUN: fa-opt %t/s1.mlir --verify-diagnostics --tile-verify-stage=stage=S1
// RUN: fa-opt %t/s2.mlir --verify-diagnostics --tile-verify-stage=stage=S2
// RUN: fa-opt %t/s3.mlir --verify-diagnostics --tile-verify-stage=stage=S3

//--- s0.mlir
// expected-error @below {{'tile.kernel' op not at stage S0 (graph): 'tile.kernel' belongs to S3}}
tile.kernel @early() attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  tile.return
}
func.func @finalized(%o: tensor<64x64xf32>, %m: tensor<64xf32>) -> tensor<64x64xf32> {
  // expected-error @below {{'tile.online_finalize' op not at stage S0 (graph): 'tile.online_finalize' belongs to S2}}
  %r, %lse = tile.online_finalize %o, %m, %m : tensor<64x64xf32>, tensor<64xf32>
  return %r : tensor<64x64xf32>
}

//--- s1.mlir
!rows = tensor<?x?x?x64xf32>
!scores = tensor<?x?x?x?xf32>
func.func @unfused(%q: !rows, %k: !rows, %v: !rows) -> !rows {
  %s = tile.dot %q, %k transpose_b : !rows, !rows -> !scores
  // expected-error @below {{'tile.softmax' op not at stage S1 (attention): expected this softmax between two dots to be fused, or to say why it is not}}
  %p = tile.softmax %s : !scores
  %o = tile.dot %p, %v : !scores, !rows -> !rows
  return %o : !rows
}

//--- s2.mlir
!rows = tensor<?x?x?x64xf32>
func.func @offline(%q: !rows, %k: !rows, %v: !rows, %scale: f32) -> !rows {
  // expected-error @below {{'tile.attention' op not at stage S2 (online): expected online attention, found 'tile.attention'}}
  %o = tile.attention %q, %k, %v scale %scale : !rows, !rows, !rows -> !rows score {} mask {}
  return %o : !rows
}

//--- s3.mlir
!memory = memref<?x64xf32, strided<[?, 1]>>
tile.kernel @kernel(%x: !memory {tile.access = #tile.access<inout>}, %n: index) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %f = arith.constant 0.0 : f32
  // expected-error @below {{'tensor.splat' op not at stage S3 (kernel): expected tiles of static sizes, found tensor<?xf32>}}
  %t = tensor.splat %f[%n] : tensor<?xf32>
  // expected-error @below {{'memref.store' op not at stage S3 (kernel): expected memory to be touched by loads, stores, gathers, scatters and fetches}}
  memref.store %f, %x[%c0, %c0] : !memory
  tile.return
}
// A producer's fetch is a load.
!channel = !tgpu.channel<2 x 64x64xf32, #tgpu.layout<swizzled 64x64 bytes 4>>
tile.kernel @specialized(%x: !memory {tile.access = #tile.access<in>, tile.alignment = 16}) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %k = tgpu.channel : !channel
  tgpu.warp_specialize consumers 1 producer {
  ^bb0(%n: index, %steps: index):
    tgpu.fetch %x[%c0, %c0] dims [0, 1] to %k, %steps : !memory, !channel
    tgpu.passed %steps
  } consumer {
  ^bb0(%n: index, %steps: index):
    tgpu.passed %steps
  }
  tile.return
}
