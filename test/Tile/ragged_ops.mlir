// RUN: fa-opt %s | fa-opt | FileCheck %s
// RUN: fa-opt %s --emit-bytecode | fa-opt | FileCheck %s
// RUN: fa-opt %s --mlir-print-op-generic | fa-opt | FileCheck %s

// CHECK-LABEL: func.func @packed
// CHECK: tile.ragged %{{.*}} by %{{.*}} : tensor<8x?x128xbf16>, tensor<?xi32> -> tensor<?x8x?x128xbf16>
// CHECK: tile.pack %{{.*}} by %{{.*}} : tensor<?x8x?x128xbf16>, tensor<?xi32> -> tensor<8x?x128xbf16>
func.func @packed(%rows: tensor<8x?x128xbf16>, %offsets: tensor<?xi32>) -> tensor<8x?x128xbf16> {
  %q = tile.ragged %rows by %offsets : tensor<8x?x128xbf16>, tensor<?xi32> -> tensor<?x8x?x128xbf16>
  %r = tile.pack %q by %offsets : tensor<?x8x?x128xbf16>, tensor<?xi32> -> tensor<8x?x128xbf16>
  return %r : tensor<8x?x128xbf16>
}

// As many sequences as there are offsets, less one; rows of a number each.
// CHECK-LABEL: func.func @known
// CHECK: tile.ragged %{{.*}} by %{{.*}} {name = 1 : i64} : tensor<2x10xf32>, tensor<4xi32> -> tensor<3x2x10xf32>
// CHECK: tile.pack %{{.*}} by %{{.*}} : tensor<3x2x10xf32>, tensor<4xi32> -> tensor<2x10xf32>
func.func @known(%rows: tensor<2x10xf32>, %offsets: tensor<4xi32>) -> tensor<2x10xf32> {
  %q = tile.ragged %rows by %offsets {name = 1 : i64} : tensor<2x10xf32>, tensor<4xi32> -> tensor<3x2x10xf32>
  %r = tile.pack %q by %offsets : tensor<3x2x10xf32>, tensor<4xi32> -> tensor<2x10xf32>
  return %r : tensor<2x10xf32>
}

// CHECK-LABEL: func.func @slot
// CHECK: %{{.*}}, %{{.*}} = tile.sequence_of %{{.*}} in %{{.*}} rows 128 : memref<?xi32, strided<[?]>>
func.func @slot(%slot: index, %offsets: memref<?xi32, strided<[?]>>) -> (index, index) {
  %sequence, %first = tile.sequence_of %slot in %offsets rows 128 : memref<?xi32, strided<[?]>>
  return %sequence, %first : index, index
}
