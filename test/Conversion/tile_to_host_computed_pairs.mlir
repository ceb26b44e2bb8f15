// What is computed and rounded for products is written in pairs of bf16: for a
// product that reads it on the left neighbours along a row, [k/2][m]; for one
// that reads it on the right neighbours along a column, [n][k/2]. A tile of a
// transposed view has each two columns side by side.
// RUN: fa-opt %s --convert-tile-to-host=pair-dots=true --canonicalize --cse | FileCheck %s
// The twin: without products of pairs.
// RUN: fa-opt %s --convert-tile-to-host --canonicalize --cse | not FileCheck %s

// CHECK-LABEL: func.func @gradients
// The left operand of dQᵀ: 24 pairs of 48 keys by 64 columns.
// CHECK: %[[KEYS:.*]] = memref.view %{{.*}} to memref<24x64xi32>
// CHECK: %[[TURNED:.*]] = memref.transpose
// CHECK: %[[EVEN:.*]] = vector.load %[[TURNED]]
// CHECK: arith.select %{{.*}}, %[[EVEN]], %{{.*}} : vector<16xbf16>
// CHECK: %[[ODD:.*]] = vector.load %[[TURNED]]
// A key that is none is a zero beside the last one.
// CHECK: arith.select %{{.*}}, %[[ODD]], %{{.*}} : vector<16xbf16>
// CHECK: vector.interleave
// CHECK: vector.store %{{.*}}, %[[KEYS]]
// dSᵀ for dK, where it is on the left: 16 pairs of 32 queries.
// CHECK: %[[PAIRS:.*]] = memref.view %{{.*}} to memref<16x48xi32>
// CHECK-COUNT-3: vector.store %{{.*}}, %[[PAIRS]]
// The same for dQᵀ, where it is on the right: 48 rows are three registers, two narrowed at once, one alone.
// CHECK: %[[COLUMNS:.*]] = memref.view %{{.*}} to memref<32x32xi32>
// CHECK: llvm.call_intrinsic "llvm.x86.avx512bf16.cvtne2ps2bf16.512"
// CHECK-NEXT: vector.bitcast
// CHECK-NEXT: vector.store %{{.*}}, %[[COLUMNS]][%{{.*}}, %c0]
// CHECK: llvm.call_intrinsic "llvm.x86.avx512bf16.cvtne2ps2bf16.512"(%[[LAST:.*]], %[[LAST]])
// CHECK-NEXT: vector.bitcast
// CHECK-NEXT: vector.store %{{.*}}, %[[COLUMNS]][%{{.*}}, %c16]
// CHECK: vector.load %[[PAIRS]]
// CHECK: x86vector.avx512.dot
// CHECK: vector.load %[[KEYS]]
// CHECK: memref.load %[[COLUMNS]]
// CHECK: x86vector.avx512.dot
// CHECK-NOT: vector.fma
tile.kernel @gradients(%s: memref<48x32xf32> {tile.access = #tile.access<in>}, %q: memref<32x64xbf16> {tile.access = #tile.access<in>},
                       %k: memref<?x64xbf16> {tile.access = #tile.access<in>}, %dk: memref<48x64xf32> {tile.access = #tile.access<out>},
                       %dqt: memref<64x32xf32> {tile.access = #tile.access<out>})
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %t = memref.transpose %k (i, j) -> (j, i) : memref<?x64xbf16> to memref<64x?xbf16, strided<[1, 64]>>
  %kt = tile.load %t[%c0, %c0] : memref<64x?xbf16, strided<[1, 64]>> -> tensor<64x48xbf16>
  %x = tile.load %s[%c0, %c0] in_bounds : memref<48x32xf32> -> tensor<48x32xf32>
  %y = arith.mulf %x, %x : tensor<48x32xf32>
  %ds = arith.truncf %y : tensor<48x32xf32> to tensor<48x32xbf16>
  %qs = tile.load %q[%c0, %c0] in_bounds : memref<32x64xbf16> -> tensor<32x64xbf16>
  %a = tile.dot %ds, %qs : tensor<48x32xbf16>, tensor<32x64xbf16> -> tensor<48x64xf32>
  %b = tile.dot %kt, %ds : tensor<64x48xbf16>, tensor<48x32xbf16> -> tensor<64x32xf32>
  tile.store %a, %dk[%c0, %c0] : tensor<48x64xf32>, memref<48x64xf32>
  tile.store %b, %dqt[%c0, %c0] : tensor<64x32xf32>, memref<64x32xf32>
  tile.return
}
