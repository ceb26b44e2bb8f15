// Operations on whole tensors become loops in kernels that were not fused, and only there.
// RUN: fa-opt %s --convert-tile-to-linalg | FileCheck %s

#maps = affine_map<() -> (1)>

// CHECK-LABEL: tile.kernel @unfused
// CHECK-NOT: tile.dot
// CHECK: linalg.fill
// CHECK: linalg.generic {{.*}}iterator_types = ["parallel", "parallel", "reduction"]
// CHECK: %[[B:.*]] = tensor.extract
// CHECK: arith.mulf
// CHECK: arith.addf
// An exponential, as every elementwise operation, of elements.
// CHECK: linalg.generic {{.*}}iterator_types = ["parallel", "parallel"]
// CHECK: math.exp %{{.*}} : f32
// CHECK: linalg.generic {{.*}}iterator_types = ["parallel", "reduction"]
// CHECK: linalg.transpose
// CHECK: bufferization.materialize_in_destination
tile.kernel @unfused(%x: memref<?x64xf32, strided<[?, 1]>> {tile.access = #tile.access<in>}, %y: memref<?x?xf32, strided<[?, 1]>> {tile.access = #tile.access<out>}, %z: memref<?xf32, strided<[1]>> {tile.access = #tile.access<out>}) attributes {grid = #maps, grid_sizes = array<i64>, unfused} {
  %t = bufferization.to_tensor %x restrict : memref<?x64xf32, strided<[?, 1]>> to tensor<?x64xf32>
  %s = tile.dot %t, %t transpose_b : tensor<?x64xf32>, tensor<?x64xf32> -> tensor<?x?xf32>
  %e = math.exp %s : tensor<?x?xf32>
  %l = tile.reduce add %e dim 1 : tensor<?x?xf32> -> tensor<?xf32>
  %r = tile.transpose %e [1, 0] : tensor<?x?xf32> -> tensor<?x?xf32>
  bufferization.materialize_in_destination %r in writable %y : (tensor<?x?xf32>, memref<?x?xf32, strided<[?, 1]>>) -> ()
  bufferization.materialize_in_destination %l in writable %z : (tensor<?xf32>, memref<?xf32, strided<[1]>>) -> ()
  tile.return
}

// CHECK-LABEL: tile.kernel @fused
// CHECK-NOT: linalg
// CHECK: tile.dot
// CHECK: math.exp %{{.*}} : tensor<16x16xf32>
tile.kernel @fused(%x: memref<?x16xf32, strided<[?, 1]>> {tile.access = #tile.access<inout>}) attributes {grid = #maps, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %t = tile.load %x[%c0, %c0] : memref<?x16xf32, strided<[?, 1]>> -> tensor<16x16xf32>
  %s = tile.dot %t, %t transpose_b : tensor<16x16xf32>, tensor<16x16xf32> -> tensor<16x16xf32>
  %e = math.exp %s : tensor<16x16xf32>
  tile.store %e, %x[%c0, %c0] : tensor<16x16xf32>, memref<?x16xf32, strided<[?, 1]>>
  tile.return
}
