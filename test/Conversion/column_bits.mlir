// Columns from one limit of a row to another are bits of a word: a comparison of each with 0, none with a limit, and each
// element selected before the next bit is tested. One limit is compared with.
// RUN: fa-run %s --arch=sm_80 --emit=ptx | FileCheck %s

!mask = tensor<64x64xi1>
!out = memref<64x64xf32, strided<[64, 1]>>

// CHECK-LABEL: entry between(
// CHECK: mov.b32 %[[ONES:.*]], -1;
// CHECK: shl.b32 %{{.*}}, %[[ONES]],
// CHECK-NOT: setp.{{gt|lt|ge|le}}
// CHECK: and.b32 %{{.*}}, %[[WORD:.*]], 16384;
// CHECK-NEXT: setp.eq.b32 %{{.*}}, 0;
// CHECK-NEXT: selp.f32
// CHECK-NEXT: and.b32 %{{.*}}, %[[WORD]], 32768;
// CHECK-NEXT: setp.eq.b32 %{{.*}}, 0;
// CHECK-NEXT: selp.f32
// CHECK-NOT: setp.{{gt|lt|ge|le}}
// CHECK: ret;
tile.kernel @between(%o: !out {tile.access = #tile.access<out>}, %first: index, %end: index)
    attributes {entry = "bits", grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %j = tile.iota dim 1 : tensor<64x64xindex>
  %i = tile.iota dim 0 : tensor<64x64xindex>
  %f = tile.broadcast %first : index -> tensor<64x64xindex>
  %e = tile.broadcast %end : index -> tensor<64x64xindex>
  %from = arith.addi %i, %f : tensor<64x64xindex>
  %to = arith.addi %i, %e : tensor<64x64xindex>
  %a = arith.cmpi sge, %j, %from : tensor<64x64xindex>
  %b = arith.cmpi slt, %j, %to : tensor<64x64xindex>
  %m = arith.andi %a, %b : !mask
  %one = arith.constant dense<1.0> : tensor<64x64xf32>
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %t = arith.select %m, %one, %zero : !mask, tensor<64x64xf32>
  tile.store %t, %o[%c0, %c0] : tensor<64x64xf32>, !out
  tile.return
}

// CHECK-LABEL: entry below(
// CHECK-NOT: shl.b32 %{{.*}}, %{{.*}}, %
// CHECK-COUNT-32: setp.{{gt|lt|ge|le}}.s32
// CHECK: ret;
tile.kernel @below(%o: !out {tile.access = #tile.access<out>}, %end: index)
    attributes {entry = "below", grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %j = tile.iota dim 1 : tensor<64x64xindex>
  %i = tile.iota dim 0 : tensor<64x64xindex>
  %e = tile.broadcast %end : index -> tensor<64x64xindex>
  %to = arith.addi %i, %e : tensor<64x64xindex>
  %m = arith.cmpi slt, %j, %to : tensor<64x64xindex>
  %one = arith.constant dense<1.0> : tensor<64x64xf32>
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %t = arith.select %m, %one, %zero : !mask, tensor<64x64xf32>
  tile.store %t, %o[%c0, %c0] : tensor<64x64xf32>, !out
  tile.return
}
