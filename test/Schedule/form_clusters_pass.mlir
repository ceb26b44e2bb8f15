// The pass alone; form_clusters.mlir has the kernels that it is for.
// RUN: fa-opt %s --tgpu-form-clusters | FileCheck %s --check-prefixes=CHECK,ASKED
// RUN: sed 's/, cluster 2>/>/' %s | fa-opt --tgpu-form-clusters | FileCheck %s --check-prefixes=CHECK,PLAIN

!tiles = !tgpu.channel<2 x 64x64xf16, #tgpu.layout<swizzled 64x64 bytes 2>>
!keys = memref<?x?x64xf16, strided<[?, ?, 1]>>
#map = affine_map<() -> (1, 1)>

// Keys follow from the head alone and are fetched together; the channel that
// follows from the place on the first axis stays a block's.
// CHECK-LABEL: tile.kernel @same(
// ASKED-SAME: tgpu.cluster = 2 : i64
// PLAIN-NOT: tgpu.cluster
// ASKED: tgpu.channel shared
// ASKED-NEXT: tgpu.channel : <
// PLAIN-NOT: tgpu.channel shared
tile.kernel @same(%x: !keys {tile.access = #tile.access<in>, tile.alignment = 16}, %end: index) attributes {grid = #map, grid_sizes = array<i64>, tgpu.plan = #tgpu.plan<tile 64x64, partitions [load w4, compute w4 rows 64], slots {program 1, step 2}, persistent, cluster 2>, tgpu.persistent} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %h = tile.program_id 1
  %m = tile.program_id 0
  %k = tgpu.channel : !tiles
  %q = tgpu.channel : !tiles
  tgpu.warp_specialize consumers 1 producer {
  ^bb0(%n: index, %steps: index):
    tgpu.acquire %q, %n : !tiles
    tgpu.fetch %x[%h, %m, %c0] dims [1, 2] to %q, %n : !keys, !tiles
    scf.for %j = %c0 to %end step %c64 {
      tgpu.acquire %k, %steps : !tiles
      tgpu.fetch %x[%h, %j, %c0] dims [1, 2] to %k, %steps : !keys, !tiles
    }
    tgpu.passed %steps
  } consumer {
  ^bb0(%n: index, %steps: index):
    tgpu.passed %steps
  }
  tile.return
}

// As many tiles as a program's place says are not the same for all of a cluster.
// CHECK-LABEL: tile.kernel @causal(
// CHECK-NOT: tgpu.cluster
// CHECK-NOT: tgpu.channel shared
tile.kernel @causal(%x: !keys {tile.access = #tile.access<in>, tile.alignment = 16}) attributes {grid = #map, grid_sizes = array<i64>, tgpu.plan = #tgpu.plan<tile 64x64, partitions [load w4, compute w4 rows 64], slots {program 1, step 2}, persistent, cluster 2>, tgpu.persistent} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %h = tile.program_id 1
  %m = tile.program_id 0
  %end = arith.muli %m, %c64 : index
  %k = tgpu.channel : !tiles
  tgpu.warp_specialize consumers 1 producer {
  ^bb0(%n: index, %steps: index):
    scf.for %j = %c0 to %end step %c64 {
      tgpu.acquire %k, %steps : !tiles
      tgpu.fetch %x[%h, %j, %c0] dims [1, 2] to %k, %steps : !keys, !tiles
    }
    tgpu.passed %steps
  } consumer {
  ^bb0(%n: index, %steps: index):
    tgpu.passed %steps
  }
  tile.return
}

// A kernel that is there to be a cluster goes where it cannot be one: here it is
// not persistent. The one that asks for four blocks gets them.
// CHECK-NOT: tile.kernel @gone(
// CHECK-LABEL: tile.kernel @four(
// CHECK-SAME: tgpu.cluster = 4 : i64
// CHECK: tgpu.channel shared
tile.kernel @gone(%end: index) attributes {grid = #map, grid_sizes = array<i64>, tgpu.plan = #tgpu.plan<tile 64x64, partitions [load w4, compute w4 rows 64], slots {program 1, step 2}, persistent, cluster 8>, tile.cluster = 8 : i64} {
  tile.return
}
tile.kernel @four(%x: !keys {tile.access = #tile.access<in>, tile.alignment = 16}) attributes {grid = #map, grid_sizes = array<i64>, tgpu.plan = #tgpu.plan<tile 64x64, partitions [load w4, compute w4 rows 64], slots {program 1, step 2}, persistent, cluster 4>, tgpu.persistent, tile.cluster = 4 : i64} {
  %c0 = arith.constant 0 : index
  %h = tile.program_id 1
  %k = tgpu.channel : !tiles
  tgpu.warp_specialize consumers 1 producer {
  ^bb0(%n: index, %steps: index):
    tgpu.acquire %k, %n : !tiles
    tgpu.fetch %x[%h, %c0, %c0] dims [1, 2] to %k, %n : !keys, !tiles
    tgpu.passed %steps
  } consumer {
  ^bb0(%n: index, %steps: index):
    tgpu.passed %steps
  }
  tile.return
}
