// A plan that is not the kernel's.
// RUN: fa-opt %s --split-input-file --verify-diagnostics --tgpu-open-channels

!rows = memref<?x64xf16, strided<[?, 1]>>
!out = memref<?x64xf32, strided<[?, 1]>>
// expected-error @below {{expected a kernel whose warps can be specialized as its plan says: groups of rows are 2, planned are 3}}
tile.kernel @groups(%x: !rows {tile.access = #tile.access<in>, tile.alignment = 16 : i64}, %o: !out {tile.access = #tile.access<out>}, %n: index)
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>,
                tgpu.plan = #tgpu.plan<tile 192x64, partitions [load w4 r32, compute*3 w4 r160 rows 64], slots {program 3, step 2}>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %q = tile.load %x[%c0, %c0] : !rows -> tensor<128x64xf16>
  %z = arith.constant dense<0.0> : tensor<128x64xf32>
  %r = scf.for %i = %c0 to %n step %c64 iter_args(%acc = %z) -> tensor<128x64xf32> {
    %k = tile.load %x[%i, %c0] : !rows -> tensor<64x64xf16>
    %s = tile.dot %q, %k transpose_b acc %acc : tensor<128x64xf16>, tensor<64x64xf16> -> tensor<128x64xf32>
    scf.yield %s : tensor<128x64xf32>
  }
  tile.store %r, %o[%c0, %c0] : tensor<128x64xf32>, !out
  tile.return
}
// -----
!rows = memref<?x64xf16, strided<[?, 1]>>
!out = memref<?x64xf32, strided<[?, 1]>>
// expected-error @below {{tiles that lie as scores do are 0, planned are 1}}
tile.kernel @scores(%x: !rows {tile.access = #tile.access<in>, tile.alignment = 16 : i64}, %o: !out {tile.access = #tile.access<out>}, %n: index)
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>,
                tgpu.plan = #tgpu.plan<tile 64x64, partitions [load w4, compute w4 rows 64], slots {program 1, step 2, scores [1]}>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %q = tile.load %x[%c0, %c0] : !rows -> tensor<64x64xf16>
  %z = arith.constant dense<0.0> : tensor<64x64xf32>
  %r = scf.for %i = %c0 to %n step %c64 iter_args(%acc = %z) -> tensor<64x64xf32> {
    %k = tile.load %x[%i, %c0] : !rows -> tensor<64x64xf16>
    %s = tile.dot %q, %k transpose_b acc %acc : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
    scf.yield %s : tensor<64x64xf32>
  }
  tile.store %r, %o[%c0, %c0] : tensor<64x64xf32>, !out
  tile.return
}
// -----
!rows = memref<?x64xf16, strided<[?, 1]>>
!out = memref<?x64xf32, strided<[?, 1]>>
// expected-error @below {{'tile.reduce' may move a tile between threads}}
tile.kernel @moves(%x: !rows {tile.access = #tile.access<in>, tile.alignment = 16 : i64}, %o: !out {tile.access = #tile.access<out>}, %n: index)
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>,
                tgpu.plan = #tgpu.plan<tile 64x64, partitions [load w4, compute w4 rows 64], slots {program 1, step 2}>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %q = tile.load %x[%c0, %c0] : !rows -> tensor<64x64xf16>
  %z = arith.constant dense<0.0> : tensor<64x64xf32>
  %r = scf.for %i = %c0 to %n step %c64 iter_args(%acc = %z) -> tensor<64x64xf32> {
    %k = tile.load %x[%i, %c0] : !rows -> tensor<64x64xf16>
    %s = tile.dot %q, %k transpose_b acc %acc : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
    %m = tile.reduce max %s dim 1 : tensor<64x64xf32> -> tensor<64xf32>
    %e = tile.expand_dims %m dim 1 : tensor<64xf32> -> tensor<64x1xf32>
    %b = tile.broadcast %e : tensor<64x1xf32> -> tensor<64x64xf32>
    scf.yield %b : tensor<64x64xf32>
  }
  tile.store %r, %o[%c0, %c0] : tensor<64x64xf32>, !out
  tile.return
}
