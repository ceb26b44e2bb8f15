// RUN: fa-opt %s --convert-tile-to-host --canonicalize --cse | FileCheck %s --check-prefix=PLAIN
// RUN: fa-opt %s --convert-tile-to-host='pair-dots tile-dots' --canonicalize --cse | FileCheck %s

// Exponentials of P that is not rounded to bf16: of degree 5, by instructions of
// AVX512DQ where there are tile dots. PLAIN has two more multiply-adds, for the
// parts of x log2 e.
// CHECK-LABEL: func.func @softmax
// CHECK: scf.for %{{.*}} = %c0 to %c32 step %c1
// CHECK: arith.subf
// CHECK-NEXT: arith.mulf
// CHECK-NEXT: llvm.call_intrinsic "llvm.x86.avx512.mask.reduce.ps.512"
// CHECK-COUNT-5: vector.fma
// CHECK-NOT: vector.fma
// CHECK: llvm.call_intrinsic "llvm.x86.avx512.mask.scalef.ps.512"
// CHECK: arith.cmpf ugt
// PLAIN-LABEL: func.func @softmax
// PLAIN-NOT: llvm.x86.avx512
// PLAIN: scf.for %{{.*}} = %c0 to %c32 step %c1
// PLAIN: arith.subf
// PLAIN-COUNT-7: vector.fma
// PLAIN-NOT: vector.fma
// PLAIN: arith.shli
// PLAIN-NOT: llvm.x86.avx512
tile.kernel @softmax(%s: memref<16x32xf32> {tile.access = #tile.access<in>},
                     %o: memref<16x32xf32> {tile.access = #tile.access<out>})
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %low = arith.constant dense<0xFF800000> : tensor<16xf32>
  %zero = arith.constant dense<0.0> : tensor<16xf32>
  %x = tile.load %s[%c0, %c0] in_bounds : memref<16x32xf32> -> tensor<16x32xf32>
  %p, %alpha, %max, %sum = tile.online_softmax %x, %low, %zero : tensor<16x32xf32>, tensor<16xf32>
  tile.store %p, %o[%c0, %c0] : tensor<16x32xf32>, memref<16x32xf32>
  tile.return
}

// Powers of two that gradients compute, and score modifications may: of any
// number, and no calls of the library.
// CHECK-LABEL: func.func @powers
// CHECK-NOT: math.exp2
// CHECK: %[[X:.*]] = arith.mulf
// CHECK-NEXT: llvm.call_intrinsic "llvm.x86.avx512.mask.reduce.ps.512"(%[[X]],
// CHECK-COUNT-5: vector.fma
// CHECK-NOT: vector.fma
// CHECK: llvm.call_intrinsic "llvm.x86.avx512.mask.scalef.ps.512"
// CHECK: arith.cmpf ugt
// PLAIN-LABEL: func.func @powers
// PLAIN-NOT: math.exp2
// PLAIN: arith.cmpf ogt
// PLAIN: math.floor
// PLAIN-COUNT-5: vector.fma
// PLAIN-NOT: vector.fma
// PLAIN: arith.shli
// PLAIN: arith.cmpf uge
// PLAIN-NOT: math.exp2
tile.kernel @powers(%s: memref<16x32xf32> {tile.access = #tile.access<in>},
                    %o: memref<16x32xf32> {tile.access = #tile.access<out>})
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %x = tile.load %s[%c0, %c0] in_bounds : memref<16x32xf32> -> tensor<16x32xf32>
  %y = arith.mulf %x, %x : tensor<16x32xf32>
  %p = math.exp2 %y : tensor<16x32xf32>
  tile.store %p, %o[%c0, %c0] : tensor<16x32xf32>, memref<16x32xf32>
  tile.return
}
