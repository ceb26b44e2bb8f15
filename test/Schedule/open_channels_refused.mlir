// Kernels that stay as they are, and why.
// RUN: fa-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(tgpu-plan-kernels{machine=sm_90a constraints="stages=2 schedule=roles"},tgpu-open-channels)' | FileCheck %s
// CHECK-NOT: tgpu.warp_specialize

!kv = memref<?x64xf16, strided<[?, 1]>>
!out = memref<?x64xf32, strided<[?, 1]>>

// expected-remark @below {{is not warp-specialized: tiles have 16 rows, where a multiple of 64 was expected}}
tile.kernel @rows(%x: !kv {tile.access = #tile.access<in>, tile.alignment = 16 : i64}, %o: !out {tile.access = #tile.access<out>}, %n: index)
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %q = tile.load %x[%c0, %c0] : !kv -> tensor<16x64xf16>
  %z = arith.constant dense<0.0> : tensor<16x64xf32>
  %r = scf.for %i = %c0 to %n step %c64 iter_args(%acc = %z) -> tensor<16x64xf32> {
    %k = tile.load %x[%i, %c0] : !kv -> tensor<64x64xf16>
    %s = tile.dot %q, %k transpose_b acc %acc : tensor<16x64xf16>, tensor<64x64xf16> -> tensor<16x64xf32>
    scf.yield %s : tensor<16x64xf32>
  }
  tile.store %r, %o[%c0, %c0] : tensor<16x64xf32>, !out
  tile.return
}
// -----
!kv = memref<?x64xf16, strided<[?, 1]>>
!out = memref<?x64xf32, strided<[?, 1]>>
// expected-remark @below {{is not warp-specialized: uses an argument whose rows need not begin at multiples of 16 bytes}}
tile.kernel @alignment(%x: !kv {tile.access = #tile.access<in>}, %o: !out {tile.access = #tile.access<out>}, %n: index)
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %q = tile.load %x[%c0, %c0] : !kv -> tensor<64x64xf16>
  %z = arith.constant dense<0.0> : tensor<64x64xf32>
  %r = scf.for %i = %c0 to %n step %c64 iter_args(%acc = %z) -> tensor<64x64xf32> {
    %k = tile.load %x[%i, %c0] : !kv -> tensor<64x64xf16>
    %s = tile.dot %q, %k transpose_b acc %acc : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
    scf.yield %s : tensor<64x64xf32>
  }
  tile.store %r, %o[%c0, %c0] : tensor<64x64xf32>, !out
  tile.return
}
// -----
!kv = memref<?x64xf16, strided<[?, 1]>>
!out = memref<?x64xf32, strided<[?, 1]>>
// A view whose rows end early leaves what the map would read.
// expected-remark @below {{is not warp-specialized: uses a view that ends before its argument does}}
tile.kernel @ends_early(%x: !kv {tile.access = #tile.access<in>, tile.alignment = 16 : i64}, %o: !out {tile.access = #tile.access<out>}, %n: index)
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %rows = memref.dim %x, %c0 : !kv
  %q = tile.load %x[%c0, %c0] : !kv -> tensor<64x64xf16>
  %view = memref.subview %x[0, 0] [%rows, 32] [1, 1] : !kv to memref<?x32xf16, strided<[?, 1]>>
  %z = arith.constant dense<0.0> : tensor<64x64xf32>
  %r = scf.for %i = %c0 to %n step %c64 iter_args(%acc = %z) -> tensor<64x64xf32> {
    %k = tile.load %view[%i, %c0] : memref<?x32xf16, strided<[?, 1]>> -> tensor<64x64xf16>
    %s = tile.dot %q, %k transpose_b acc %acc : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
    scf.yield %s : tensor<64x64xf32>
  }
  tile.store %r, %o[%c0, %c0] : tensor<64x64xf32>, !out
  tile.return
}
// -----
!kv = memref<?x64xf32, strided<[?, 1]>>
// expected-remark @below {{is not warp-specialized: a dot is not of f16 or bf16 with f32 results}}
tile.kernel @f32(%x: !kv {tile.access = #tile.access<in>, tile.alignment = 16 : i64}, %o: !kv {tile.access = #tile.access<out>}, %n: index)
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %q = tile.load %x[%c0, %c0] : !kv -> tensor<64x64xf32>
  %z = arith.constant dense<0.0> : tensor<64x64xf32>
  %r = scf.for %i = %c0 to %n step %c64 iter_args(%acc = %z) -> tensor<64x64xf32> {
    %k = tile.load %x[%i, %c0] : !kv -> tensor<64x64xf32>
    %s = tile.dot %q, %k transpose_b acc %acc : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
    scf.yield %s : tensor<64x64xf32>
  }
  tile.store %r, %o[%c0, %c0] : tensor<64x64xf32>, !kv
  tile.return
}
// -----
!kv = memref<?x64xf16, strided<[?, 1]>>
!out = memref<?x64xf32, strided<[?, 1]>>
// expected-remark @below {{is not warp-specialized: 'tile.transpose' makes other rows of rows}}
tile.kernel @mixed(%x: !kv {tile.access = #tile.access<in>, tile.alignment = 16 : i64}, %o: !out {tile.access = #tile.access<out>}, %n: index)
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %q = tile.load %x[%c0, %c0] : !kv -> tensor<64x64xf16>
  %z = arith.constant dense<0.0> : tensor<64x64xf32>
  %r = scf.for %i = %c0 to %n step %c64 iter_args(%acc = %z) -> tensor<64x64xf32> {
    %k = tile.load %x[%i, %c0] : !kv -> tensor<64x64xf16>
    %s = tile.dot %q, %k transpose_b acc %acc : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
    scf.yield %s : tensor<64x64xf32>
  }
  %t = tile.transpose %r [1, 0] : tensor<64x64xf32> -> tensor<64x64xf32>
  tile.store %t, %o[%c0, %c0] : tensor<64x64xf32>, !out
  tile.return
}
// -----
!kv = memref<?x64xf16, strided<[?, 1]>>
!out = memref<?x64xf32, strided<[?, 1]>>
// expected-remark @below {{is not warp-specialized: its rows are those of 4 warpgroups, where a block has registers for three}}
tile.kernel @four(%x: !kv {tile.access = #tile.access<in>, tile.alignment = 16 : i64}, %o: !out {tile.access = #tile.access<out>}, %n: index)
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %q = tile.load %x[%c0, %c0] : !kv -> tensor<256x64xf16>
  %z = arith.constant dense<0.0> : tensor<256x64xf32>
  %r = scf.for %i = %c0 to %n step %c64 iter_args(%acc = %z) -> tensor<256x64xf32> {
    %k = tile.load %x[%i, %c0] : !kv -> tensor<64x64xf16>
    %s = tile.dot %q, %k transpose_b acc %acc : tensor<256x64xf16>, tensor<64x64xf16> -> tensor<256x64xf32>
    scf.yield %s : tensor<256x64xf32>
  }
  tile.store %r, %o[%c0, %c0] : tensor<256x64xf32>, !out
  tile.return
}
// -----
!kv = memref<?x64xf16, strided<[?, 1]>>
!out = memref<?x64xf32, strided<[?, 1]>>
// One step counts for all channels.
// expected-remark @below {{is not warp-specialized: loops fetch different tiles}}
tile.kernel @loops(%x: !kv {tile.access = #tile.access<in>, tile.alignment = 16 : i64}, %o: !out {tile.access = #tile.access<out>}, %n: index)
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %q = tile.load %x[%c0, %c0] : !kv -> tensor<64x64xf16>
  %z = arith.constant dense<0.0> : tensor<64x64xf32>
  %r = scf.for %i = %c0 to %n step %c64 iter_args(%acc = %z) -> tensor<64x64xf32> {
    %k = tile.load %x[%i, %c0] : !kv -> tensor<64x64xf16>
    %s = tile.dot %q, %k transpose_b acc %acc : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
    scf.yield %s : tensor<64x64xf32>
  }
  %r2 = scf.for %i = %c0 to %n step %c64 iter_args(%acc = %r) -> tensor<64x64xf32> {
    %k = tile.load %x[%i, %c0] : !kv -> tensor<64x64xf16>
    %k2 = tile.load %x[%i, %c0] : !kv -> tensor<64x64xf16>
    %s1 = tile.dot %q, %k2 acc %acc : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
    %s = tile.dot %q, %k transpose_b acc %s1 : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
    scf.yield %s : tensor<64x64xf32>
  }
  tile.store %r2, %o[%c0, %c0] : tensor<64x64xf32>, !out
  tile.return
}
// -----
!pages = memref<?x?x?x64xf16, strided<[?, ?, ?, 1]>>
!rows = memref<?x64xf16, affine_map<(d0, d1)[s0] -> (d0 floordiv s0, d0 mod s0, d1)>>
!q = memref<?x64xf16, strided<[?, 1]>>
!out = memref<?x64xf32, strided<[?, 1]>>
!table = memref<?x?xi32, strided<[?, ?]>>
// Tiles that begin at any row lie in parts of pages, which no box is.
// expected-remark @below {{is not warp-specialized: uses rows of pages from anywhere on}}
tile.kernel @inside_of_pages(%x: !q {tile.access = #tile.access<in>, tile.alignment = 16 : i64}, %p: !pages {tile.access = #tile.access<in>, tile.alignment = 16 : i64}, %t: !table {tile.access = #tile.access<in>}, %o: !out {tile.access = #tile.access<out>}, %begin: index, %n: index)
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %q = tile.load %x[%c0, %c0] : !q -> tensor<64x64xf16>
  %view = tile.paged_view %p[%c0] through %t[%c0] limit %n : !pages, !table -> !rows
  %z = arith.constant dense<0.0> : tensor<64x64xf32>
  %r = scf.for %i = %begin to %n step %c64 iter_args(%acc = %z) -> tensor<64x64xf32> {
    %k = tile.load %view[%i, %c0] : !rows -> tensor<64x64xf16>
    %s = tile.dot %q, %k transpose_b acc %acc : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
    scf.yield %s : tensor<64x64xf32>
  }
  tile.store %r, %o[%c0, %c0] : tensor<64x64xf32>, !out
  tile.return
}
