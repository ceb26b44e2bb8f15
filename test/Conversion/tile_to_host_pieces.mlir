// RUN: fa-opt %s --convert-tile-to-host="pair-dots=true tile-dots=true" --canonicalize --cse | FileCheck %s
// RUN: fa-opt %s --convert-tile-to-host="pair-dots=true" --canonicalize --cse | FileCheck %s --check-prefix=NONE
// RUN: sed s/f16/bf16/g %s | fa-opt --convert-tile-to-host="pair-dots=true tile-dots=true" --canonicalize --cse | not FileCheck %s

// f16 by products of tiles of bf16, two pieces of each operand, which lie one
// behind the other: 2 x 32 lines of pairs of queries, which are taken apart in
// place, 2 x 128 keys. Pieces are
// of f32, the first cut off, one unit less than where it would end. A step is
// four products of pieces, of which neighbours share one: ten loads for
// sixteen.
// NONE-NOT: amx.
// CHECK-LABEL: func.func @scores
// CHECK: %[[Q:.*]] = memref.view %{{.*}} to memref<64x80xi32>
// CHECK: vector.store %{{.*}}, %[[Q]][%{{.*}}, %{{.*}}] : memref<64x80xi32>
// CHECK: scf.for %[[PAIR:.*]] = %c0 to %c32 step %c1
// CHECK: scf.for %[[ROW:.*]] = %c0 to %c64 step %c16
// CHECK: vector.load %[[Q]][%[[PAIR]], %[[ROW]]] : memref<64x80xi32>
// CHECK: %[[SOME:.*]] = arith.cmpf une, %[[X:.*]], %{{.*}} : vector<16xf32>
// CHECK: %[[LESS:.*]] = arith.addi %[[BITS:.*]], %{{.*}} : vector<16xi32>
// CHECK: %[[CUT:.*]] = arith.andi %[[LESS]], %{{.*}} : vector<16xi32>
// CHECK: %[[UPPER:.*]] = arith.select %[[SOME]], %[[CUT]], %[[BITS]]
// CHECK: %[[FIRST:.*]] = vector.bitcast %[[UPPER]] : vector<16xi32> to vector<16xf32>
// CHECK: arith.subf %[[X]], %[[FIRST]]
// CHECK: vector.store %{{.*}}, %[[Q]][%[[PAIR:.*]], %[[ROW:.*]]] : memref<64x80xi32>
// CHECK: %[[SECOND:.*]] = arith.addi %[[PAIR]], %c32
// CHECK: vector.store %{{.*}}, %[[Q]][%[[SECOND]], %[[ROW]]] : memref<64x80xi32>
// CHECK: %[[K:.*]] = memref.view %{{.*}} to memref<256x64xbf16>
// CHECK: %[[R:.*]] = memref.view %{{.*}} to memref<128x80xf32>
// CHECK-COUNT-4: amx.tile_zero
// CHECK: scf.for %{{.*}} step %c32
// CHECK-COUNT-2: amx.tile_load %[[Q]]
// CHECK: %[[K1:.*]] = amx.tile_load %[[K]]
// CHECK-NEXT: amx.tile_mulf %[[K1]]
// CHECK-NEXT: amx.tile_mulf %[[K1]]
// CHECK: %[[K2:.*]] = amx.tile_load %[[K]]
// CHECK-NEXT: amx.tile_mulf %[[K2]]
// CHECK-NEXT: amx.tile_mulf %[[K2]]
// CHECK: %[[K3:.*]] = amx.tile_load %[[K]]
// CHECK-NEXT: amx.tile_mulf %[[K3]]
// CHECK-NEXT: amx.tile_mulf %[[K3]]
// CHECK: %[[K4:.*]] = amx.tile_load %[[K]]
// CHECK-NEXT: amx.tile_mulf %[[K4]]
// CHECK-NEXT: amx.tile_mulf %[[K4]]
// CHECK-COUNT-2: amx.tile_load %[[Q]]
// CHECK-NEXT: amx.tile_mulf %[[K3]]
// CHECK-NEXT: amx.tile_mulf %[[K3]]
// CHECK-NEXT: amx.tile_mulf %[[K4]]
// CHECK-NEXT: amx.tile_mulf %[[K4]]
// CHECK: amx.tile_load %[[K]]
// CHECK-COUNT-2: amx.tile_mulf
// CHECK: amx.tile_load %[[K]]
// CHECK-COUNT-2: amx.tile_mulf
// CHECK-NEXT: scf.yield
// CHECK-COUNT-4: amx.tile_store %[[R]]
tile.kernel @scores(%q: memref<?x64xf16> {tile.access = #tile.access<in>},
                    %k: memref<?x64xf16> {tile.access = #tile.access<in>},
                    %s: memref<?x128xf32> {tile.access = #tile.access<out>})
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %a = tile.load %q[%c0, %c0] : memref<?x64xf16> -> tensor<64x64xf16>
  %b = tile.load %k[%c0, %c0] in_bounds : memref<?x64xf16> -> tensor<128x64xf16>
  %r = tile.dot %a, %b transpose_b : tensor<64x64xf16>, tensor<128x64xf16> -> tensor<64x128xf32>
  tile.store %r, %s[%c0, %c0] : tensor<64x128xf32>, memref<?x128xf32>
  tile.return
}

// P in two pieces of its f32 value, V transposed in two. Three products: not
// those of the second pieces, of which P's is cut off.
// CHECK-LABEL: func.func @softmax
// CHECK: %[[P:.*]] = memref.view %{{.*}} to memref<64x80xi32>
// CHECK: llvm.call_intrinsic "llvm.x86.avx512.mask.scalef.ps.512"
// CHECK: llvm.call_intrinsic "llvm.x86.avx512.mask.scalef.ps.512"
// CHECK-COUNT-2: vector.fma
// CHECK: llvm.call_intrinsic "llvm.x86.avx512.pternlog.d.512"
// CHECK: vector.store %{{.*}}, %[[P]]
// CHECK: vector.store %{{.*}}, %[[P]]
// CHECK: %[[V:.*]] = memref.view %{{.*}} to memref<128x48xi32>
// CHECK: amx.tile_zero
// CHECK-COUNT-2: amx.tile_load %[[P]]
// CHECK: amx.tile_load %[[V]]
// CHECK-COUNT-2: amx.tile_mulf
// CHECK: amx.tile_load %[[V]]
// CHECK-COUNT-2: amx.tile_mulf
// CHECK-COUNT-2: amx.tile_load %[[P]]
// CHECK-COUNT-4: amx.tile_mulf
// CHECK: amx.tile_load %[[V]]
// CHECK-COUNT-2: amx.tile_mulf
// CHECK: amx.tile_load %[[V]]
// CHECK-COUNT-2: amx.tile_mulf
// CHECK-NEXT: scf.yield
tile.kernel @softmax(%q: memref<?x64xf16> {tile.access = #tile.access<in>},
                     %k: memref<?x64xf16> {tile.access = #tile.access<in>},
                     %v: memref<?x64xf16> {tile.access = #tile.access<in>},
                     %scale: f32,
                     %o: memref<?x64xf32> {tile.access = #tile.access<out>})
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %low = arith.constant dense<0xFF800000> : tensor<64xf32>
  %zero = arith.constant dense<0.0> : tensor<64xf32>
  %a = tile.load %q[%c0, %c0] in_bounds : memref<?x64xf16> -> tensor<64x64xf16>
  %b = tile.load %k[%c0, %c0] in_bounds : memref<?x64xf16> -> tensor<64x64xf16>
  %d = tile.dot %a, %b transpose_b : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
  %f = tile.broadcast %scale : f32 -> tensor<64x64xf32>
  %s = arith.mulf %d, %f : tensor<64x64xf32>
  %p, %alpha, %max, %sum = tile.online_softmax %s, %low, %zero : tensor<64x64xf32>, tensor<64xf32>
  %n = arith.truncf %p : tensor<64x64xf32> to tensor<64x64xf16>
  %w = tile.load %v[%c0, %c0] in_bounds : memref<?x64xf16> -> tensor<64x64xf16>
  %r = tile.dot %n, %w : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf32>
  tile.store %r, %o[%c0, %c0] : tensor<64x64xf32>, memref<?x64xf32>
  tile.return
}

// No place for a zero beside the last step of the contraction: by f32, as bf16.
// CHECK-LABEL: func.func @odd
// CHECK-NOT: amx.
// CHECK: vector.fma
tile.kernel @odd(%q: memref<?x63xf16> {tile.access = #tile.access<in>},
                    %k: memref<?x63xf16> {tile.access = #tile.access<in>},
                    %s: memref<?x128xf32> {tile.access = #tile.access<out>})
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %a = tile.load %q[%c0, %c0] : memref<?x63xf16> -> tensor<64x63xf16>
  %b = tile.load %k[%c0, %c0] in_bounds : memref<?x63xf16> -> tensor<128x63xf16>
  %r = tile.dot %a, %b transpose_b : tensor<64x63xf16>, tensor<128x63xf16> -> tensor<64x128xf32>
  tile.store %r, %s[%c0, %c0] : tensor<64x128xf32>, memref<?x128xf32>
  tile.return
}
