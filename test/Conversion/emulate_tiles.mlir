// Tiles of AMX become vectors of as many rows, what loops carry, too; a product
// is a call of one function, whose sums of the first and of the second elements
// of pairs are apart.
// RUN: fa-opt %s --emulate-tiles | FileCheck %s
// RUN: fa-opt %s --emulate-tiles | not grep -w amx

// CHECK-LABEL: func.func @product
// CHECK: %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : vector<16x16xf32>
// CHECK: %[[SUM:.*]] = scf.for {{.*}} iter_args(%[[OLD:.*]] = %[[ZERO]]) -> (vector<16x16xf32>)
// CHECK-COUNT-16: vector.load %arg0[{{.*}}] : memref<64x32xbf16>, vector<32xbf16>
// Pairs are integers in memory.
// CHECK: %[[PAIRS:.*]] = vector.load %arg1[{{.*}}] : memref<64x48xi32>, vector<16xi32>
// CHECK: vector.bitcast %[[PAIRS]] : vector<16xi32> to vector<32xbf16>
// CHECK: %[[NEW:.*]] = func.call @emulated_tile_product(%[[OLD]], %{{.*}}, %{{.*}}) : (vector<16x16xf32>, vector<16x32xbf16>, vector<16x32xbf16>) -> vector<16x16xf32>
// CHECK: scf.yield %[[NEW]]
// CHECK: %[[ROW:.*]] = vector.extract %[[SUM]][0]
// CHECK: vector.store %[[ROW]], %arg2
func.func @product(%a: memref<64x32xbf16>, %b: memref<64x48xi32>, %c: memref<16x16xf32>) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  %zero = amx.tile_zero : !amx.tile<16x16xf32>
  %sum = scf.for %k = %c0 to %c64 step %c16 iter_args(%old = %zero) -> (!amx.tile<16x16xf32>) {
    %x = amx.tile_load %a[%k, %c0] : memref<64x32xbf16> into !amx.tile<16x32xbf16>
    %y = amx.tile_load %b[%k, %c16] : memref<64x48xi32> into !amx.tile<16x32xbf16>
    %new = amx.tile_mulf %x, %y, %old : !amx.tile<16x32xbf16>, !amx.tile<16x32xbf16>, !amx.tile<16x16xf32>
    scf.yield %new : !amx.tile<16x16xf32>
  }
  amx.tile_store %c[%c0, %c0], %sum : memref<16x16xf32>, !amx.tile<16x16xf32>
  return
}

// CHECK: func.func private @emulated_tile_product
// CHECK-SAME: llvm.linkage = #llvm.linkage<weak_odr>
// CHECK-COUNT-512: vector.fma
// CHECK-NOT: vector.fma
