// Merges one behind the other rescale the state once: an exponential for it and one for each split. A state that something else reads is
// computed, and rescaled by the merge behind it.
// RUN: fa-run %s --entry=chain --arch=sm_80 --emit=ptx | FileCheck %s --check-prefix=CHAIN
// RUN: fa-run %s --entry=read_between --arch=sm_80 --emit=ptx | FileCheck %s --check-prefix=BETWEEN

!block = memref<4x32xf32>
!rows = memref<4xf32>

// CHAIN-LABEL: entry chain(
// CHAIN-COUNT-4: ex2.approx
// CHAIN-NOT: ex2.approx
// CHAIN: ret;
tile.kernel @chain(%o: !block {tile.access = #tile.access<in>}, %m: !rows {tile.access = #tile.access<in>}, %out: !block {tile.access = #tile.access<out>})
    attributes {entry = "chain", grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %acc = arith.constant dense<0.0> : tensor<1x32xf32>
  %max = arith.constant dense<0xFF800000> : tensor<1xf32>
  %sum = arith.constant dense<0.0> : tensor<1xf32>
  %0 = tile.load %o[%c0, %c0] in_bounds : !block -> tensor<1x32xf32>
  %1 = tile.load %m[%c0] in_bounds : !rows -> tensor<1xf32>
  %2 = tile.load %m[%c1] in_bounds : !rows -> tensor<1xf32>
  %3 = tile.load %m[%c2] in_bounds : !rows -> tensor<1xf32>
  %a1, %m1, %s1 = tile.online_merge %acc, %max, %sum with %0, %1, %2 : tensor<1x32xf32>, tensor<1xf32>
  %a2, %m2, %s2 = tile.online_merge %a1, %m1, %s1 with %0, %2, %3 : tensor<1x32xf32>, tensor<1xf32>
  %a3, %m3, %s3 = tile.online_merge %a2, %m2, %s2 with %0, %3, %1 : tensor<1x32xf32>, tensor<1xf32>
  tile.store %a3, %out[%c0, %c0] : tensor<1x32xf32>, !block
  tile.return
}

// BETWEEN-LABEL: entry read_between(
// BETWEEN-COUNT-5: ex2.approx
// BETWEEN-NOT: ex2.approx
// BETWEEN: ret;
tile.kernel @read_between(%o: !block {tile.access = #tile.access<in>}, %m: !rows {tile.access = #tile.access<in>}, %out: !block {tile.access = #tile.access<out>})
    attributes {entry = "read_between", grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %acc = arith.constant dense<0.0> : tensor<1x32xf32>
  %max = arith.constant dense<0xFF800000> : tensor<1xf32>
  %sum = arith.constant dense<0.0> : tensor<1xf32>
  %0 = tile.load %o[%c0, %c0] in_bounds : !block -> tensor<1x32xf32>
  %1 = tile.load %m[%c0] in_bounds : !rows -> tensor<1xf32>
  %2 = tile.load %m[%c1] in_bounds : !rows -> tensor<1xf32>
  %3 = tile.load %m[%c2] in_bounds : !rows -> tensor<1xf32>
  %a1, %m1, %s1 = tile.online_merge %acc, %max, %sum with %0, %1, %2 : tensor<1x32xf32>, tensor<1xf32>
  tile.store %a1, %out[%c1, %c0] : tensor<1x32xf32>, !block
  %a2, %m2, %s2 = tile.online_merge %a1, %m1, %s1 with %0, %2, %3 : tensor<1x32xf32>, tensor<1xf32>
  %a3, %m3, %s3 = tile.online_merge %a2, %m2, %s2 with %0, %3, %1 : tensor<1x32xf32>, tensor<1xf32>
  tile.store %a3, %out[%c0, %c0] : tensor<1x32xf32>, !block
  tile.return
}
