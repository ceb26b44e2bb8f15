// The smallest and the largest of what is read for each row: on a GPU each lane looks at every 32nd row, four at a time,
// and the last one again where there are no more; then the lanes compare, and
// all take what the first lane has, which ptxas knows to be the same for all: loops end by it. On the host it is a loop.
// RUN: fa-run %s --entry=extremes --arch=sm_80 --emit=llvm | FileCheck %s
// RUN: fa-run %s --entry=extremes --arch=gfx942 --emit=llvm | FileCheck %s --check-prefix=AMD
// RUN: fa-run %s --entry=sum --arch=sm_80 --emit=llvm | FileCheck %s --check-prefix=SUM

// CHECK: and i32 %{{.*}}, 31
// CHECK-COUNT-4: call i64 @llvm.smin.i64(i64 %{{.*}}, i64 %{{.*}})
// CHECK: add i64 %{{.*}}, 128
// CHECK-COUNT-10: @llvm.nvvm.shfl.sync.bfly.i32
// CHECK-COUNT-2: @llvm.nvvm.shfl.sync.idx.i32(i32 -1, i32 %{{.*}}, i32 0, i32 31)
// CHECK-COUNT-10: @llvm.nvvm.shfl.sync.bfly.i32
// CHECK-COUNT-2: @llvm.nvvm.shfl.sync.idx.i32(i32 -1, i32 %{{.*}}, i32 0, i32 31)
// CHECK-NOT: shfl
// CHECK: ret void
// AMD: and i32 %{{.*}}, 31
// AMD: add i64 %{{.*}}, 128
tile.kernel @extremes(%x: memref<?xi32, strided<[?]>> {tile.access = #tile.access<in>}, %n: index, %o: memref<2xi32> {tile.access = #tile.access<out>})
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %first = memref.load %x[%c0] : memref<?xi32, strided<[?]>>
  %init = arith.index_cast %first : i32 to index
  %found:2 = scf.for %i = %c1 to %n step %c1 iter_args(%low = %init, %high = %init) -> (index, index) {
    %e = memref.load %x[%i] : memref<?xi32, strided<[?]>>
    %v = arith.index_cast %e : i32 to index
    %l = arith.minsi %low, %v : index
    %h = arith.maxsi %high, %v : index
    scf.yield %l, %h : index, index
  }
  %l = arith.index_cast %found#0 : index to i32
  %h = arith.index_cast %found#1 : index to i32
  %lt = tile.broadcast %l : i32 -> tensor<1xi32>
  %ht = tile.broadcast %h : i32 -> tensor<1xi32>
  tile.store %lt, %o[%c0] : tensor<1xi32>, memref<2xi32>
  tile.store %ht, %o[%c1] : tensor<1xi32>, memref<2xi32>
  tile.return
}

// What depends on the order, or on how often a row is looked at, is done row by row.
// SUM-NOT: shfl
// SUM: ret void
tile.kernel @sum(%x: memref<?xi32, strided<[?]>> {tile.access = #tile.access<in>}, %n: index, %o: memref<1xi32> {tile.access = #tile.access<out>})
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %sum = scf.for %i = %c0 to %n step %c1 iter_args(%s = %c0) -> (index) {
    %e = memref.load %x[%i] : memref<?xi32, strided<[?]>>
    %v = arith.index_cast %e : i32 to index
    %t = arith.addi %s, %v : index
    scf.yield %t : index
  }
  %w = arith.index_cast %sum : index to i32
  %t = tile.broadcast %w : i32 -> tensor<1xi32>
  tile.store %t, %o[%c0] : tensor<1xi32>, memref<1xi32>
  tile.return
}
