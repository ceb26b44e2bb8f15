// RUN: fa-opt %s --convert-tile-to-host="pair-dots=true tile-dots=true" --canonicalize --cse | FileCheck %s
// RUN: fa-opt %s --convert-tile-to-host="pair-dots=true" --canonicalize --cse | FileCheck %s --check-prefix=NONE
// RUN: sed s/128x/96x/g %s | fa-opt --convert-tile-to-host="pair-dots=true tile-dots=true" --canonicalize --cse | FileCheck %s --check-prefix=NONE
// RUN: sed s/128x/96x/g %s | fa-opt --convert-tile-to-host="pair-dots=true tile-dots=true" --canonicalize --cse | not FileCheck %s

// f32 by products of tiles of bf16, three pieces of each operand, from 128 rows
// on. Squares of Q's columns lie in the lines of its first and second piece
// until they are taken apart; pairs in Q and K are of columns a register apart.
// Infinity is 1, 0 and infinity; the middle piece of others is rounded. A step
// is the six largest products of pieces, of which neighbours share one:
// fourteen loads for twenty-four.
// NONE-NOT: amx.
// NONE: vector.fma
// NONE-NOT: amx.
// CHECK-LABEL: func.func @scores
// CHECK: %[[Q:.*]] = memref.view %{{.*}} to memref<144x144xi32>
// What fills the last step of the contraction.
// CHECK: scf.for %{{.*}} = %c0 to %c144 step %c1
// CHECK: vector.store %{{.*}}, %[[Q]]
// CHECK: scf.for %{{.*}} = %c0 to %c128 step %c16
// CHECK: scf.for %[[COLUMN:.*]] = %c0 to %c80 step %c16
// CHECK: %[[IN:.*]] = arith.remui %[[COLUMN]], %c32
// CHECK: %[[SIDE:.*]] = arith.divui %[[IN]], %c16
// CHECK: arith.muli %[[SIDE]], %c48
// CHECK: scf.for %[[PAIR:.*]] = %c0 to %c48 step %c1
// CHECK: scf.for %[[ROW:.*]] = %c0 to %c128 step %c16
// CHECK: %[[BITS:.*]] = vector.load %[[Q]][%[[PAIR]], %[[ROW]]]
// CHECK: %[[X:.*]] = vector.bitcast %[[BITS]] : vector<16xi32> to vector<16xf32>
// CHECK: %[[BEHIND:.*]] = arith.addi %[[PAIR]], %c48
// CHECK: vector.load %[[Q]][%[[BEHIND]], %[[ROW]]]
// CHECK: %[[SIZE:.*]] = math.absf %[[X]]
// CHECK: %[[INFINITE:.*]] = arith.cmpf oeq, %[[SIZE]]
// CHECK: %[[HIGH:.*]] = arith.select %[[INFINITE]]
// CHECK: %[[HIGHEST:.*]] = vector.bitcast %[[HIGH]] : vector<16xi32> to vector<16xf32>
// CHECK: %[[REST:.*]] = arith.subf %[[X]], %[[HIGHEST]]
// CHECK: %[[RESTBITS:.*]] = vector.bitcast %[[REST]]
// CHECK: %[[UP:.*]] = arith.addi %[[RESTBITS]]
// CHECK: %[[CUT:.*]] = arith.andi %[[UP]]
// CHECK: %[[MIDDLE:.*]] = arith.select %[[INFINITE]], %{{.*}}, %[[CUT]]
// CHECK: %[[SECOND:.*]] = vector.bitcast %[[MIDDLE]]
// CHECK: arith.subf %[[REST]], %[[SECOND]]
// CHECK-COUNT-3: llvm.call_intrinsic "llvm.x86.avx512.pternlog.d.512"
// CHECK: vector.store %{{.*}}, %[[Q]][%[[PAIR]], %[[ROW]]]
// CHECK: vector.store %{{.*}}, %[[Q]][%[[BEHIND]], %[[ROW]]]
// CHECK: %[[LAST:.*]] = arith.addi %[[PAIR]], %c96
// CHECK: vector.store %{{.*}}, %[[Q]][%[[LAST]], %[[ROW]]]
// CHECK: %[[K:.*]] = memref.view %{{.*}} to memref<384x96xbf16>
// CHECK: vector.load %[[MEMORY:.*]][%[[KEY:.*]], %[[AT:.*]]] : memref<?x80xf32>, vector<16xf32>
// CHECK: %[[NEXT:.*]] = arith.addi %[[AT]], %c16
// CHECK: vector.load %[[MEMORY]][%[[KEY]], %[[NEXT]]] : memref<?x80xf32>, vector<16xf32>
// CHECK-COUNT-3: vector.store %{{.*}}, %[[K]]
// CHECK-COUNT-4: amx.tile_zero
// CHECK: scf.for %{{.*}} = %c0 to %c96 step %c32
// The smallest of Q by the largest of K.
// CHECK-COUNT-2: amx.tile_load %[[Q]]
// CHECK: amx.tile_load %[[K]]
// CHECK-COUNT-2: amx.tile_mulf
// CHECK: amx.tile_load %[[K]]
// CHECK-COUNT-2: amx.tile_mulf
// The middle one of Q by both larger ones of K.
// CHECK-COUNT-2: amx.tile_load %[[Q]]
// CHECK-NEXT: amx.tile_mulf
// CHECK-COUNT-3: amx.tile_mulf
// CHECK: amx.tile_load %[[K]]
// CHECK-COUNT-2: amx.tile_mulf
// CHECK: amx.tile_load %[[K]]
// CHECK-COUNT-2: amx.tile_mulf
// The largest of Q by all of K, the largest of these last.
// CHECK-COUNT-2: amx.tile_load %[[Q]]
// CHECK-NEXT: amx.tile_mulf
// CHECK-COUNT-3: amx.tile_mulf
// CHECK: amx.tile_load %[[K]]
// CHECK-COUNT-2: amx.tile_mulf
// CHECK: amx.tile_load %[[K]]
// CHECK-COUNT-2: amx.tile_mulf
// CHECK: amx.tile_load %[[K]]
// CHECK-COUNT-2: amx.tile_mulf
// CHECK: amx.tile_load %[[K]]
// CHECK-COUNT-2: amx.tile_mulf
// CHECK-NEXT: scf.yield
tile.kernel @scores(%q: memref<?x80xf32> {tile.access = #tile.access<in>},
                    %k: memref<?x80xf32> {tile.access = #tile.access<in>},
                    %s: memref<?x128xf32> {tile.access = #tile.access<out>})
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %a = tile.load %q[%c0, %c0] : memref<?x80xf32> -> tensor<128x80xf32>
  %b = tile.load %k[%c0, %c0] in_bounds : memref<?x80xf32> -> tensor<128x80xf32>
  %r = tile.dot %a, %b transpose_b : tensor<128x80xf32>, tensor<128x80xf32> -> tensor<128x128xf32>
  tile.store %r, %s[%c0, %c0] : tensor<128x128xf32>, memref<?x128xf32>
  tile.return
}

// P in three pieces of its f32 value, which is finite. V transposed in three:
// the even rows of a block to the lines of the first piece, the odd ones to
// those of the second.
// CHECK-LABEL: func.func @softmax
// CHECK: %[[P:.*]] = memref.view %{{.*}} to memref<96x144xi32>
// CHECK: llvm.call_intrinsic "llvm.x86.avx512.mask.scalef.ps.512"
// CHECK: llvm.call_intrinsic "llvm.x86.avx512.mask.scalef.ps.512"
// CHECK-NOT: math.absf
// CHECK-COUNT-3: llvm.call_intrinsic "llvm.x86.avx512.pternlog.d.512"
// CHECK-COUNT-3: vector.store %{{.*}}, %[[P]]
// CHECK: %[[V:.*]] = memref.view %{{.*}} to memref<192x48xi32>
// CHECK: scf.for %[[ODD:.*]] = %c0 to %c2 step %c1
// CHECK: vector.load %{{.*}}[%[[ODD]], %{{.*}}] : memref<32x64xf32
// CHECK: %[[THIRD:.*]] = arith.addi %[[ODD]], %c2
// CHECK: vector.load %{{.*}}[%[[THIRD]], %{{.*}}] : memref<32x64xf32
// CHECK: arith.muli %[[ODD]], %c64
// CHECK-COUNT-16: vector.store %{{.*}}, %[[V]]
// CHECK: math.absf
// CHECK-COUNT-3: vector.store %{{.*}}, %[[V]]
// CHECK: amx.tile_zero
// CHECK-COUNT-24: amx.tile_mulf
// CHECK-NEXT: scf.yield
tile.kernel @softmax(%q: memref<?x64xf32> {tile.access = #tile.access<in>},
                     %k: memref<?x64xf32> {tile.access = #tile.access<in>},
                     %v: memref<?x64xf32> {tile.access = #tile.access<in>},
                     %scale: f32,
                     %o: memref<?x64xf32> {tile.access = #tile.access<out>})
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %low = arith.constant dense<0xFF800000> : tensor<128xf32>
  %zero = arith.constant dense<0.0> : tensor<128xf32>
  %a = tile.load %q[%c0, %c0] in_bounds : memref<?x64xf32> -> tensor<128x64xf32>
  %b = tile.load %k[%c0, %c0] in_bounds : memref<?x64xf32> -> tensor<64x64xf32>
  %d = tile.dot %a, %b transpose_b : tensor<128x64xf32>, tensor<64x64xf32> -> tensor<128x64xf32>
  %f = tile.broadcast %scale : f32 -> tensor<128x64xf32>
  %s = arith.mulf %d, %f : tensor<128x64xf32>
  %p, %alpha, %max, %sum = tile.online_softmax %s, %low, %zero : tensor<128x64xf32>, tensor<128xf32>
  %w = tile.load %v[%c0, %c0] in_bounds : memref<?x64xf32> -> tensor<64x64xf32>
  %r = tile.dot %p, %w : tensor<128x64xf32>, tensor<64x64xf32> -> tensor<128x64xf32>
  tile.store %r, %o[%c0, %c0] : tensor<128x64xf32>, memref<?x64xf32>
  tile.return
}
