// Tensors become buffers, and copies between them loops: there is no library that copies.
// RUN: fa-opt %s --split-input-file --bufferize-unfused | FileCheck %s

// CHECK-LABEL: func.func @tensors(
// CHECK-NOT: tensor<
// CHECK: %[[BUFFER:.*]] = memref.alloc
// CHECK: linalg.generic {{.*}} ins(%{{.*}} : memref<?xf32, strided<[?]>>) outs(%[[BUFFER]] : memref<?xf32>)
// CHECK-NOT: memref.copy
// CHECK: linalg.copy ins(%[[BUFFER]] : memref<?xf32>) outs(%arg1 : memref<?xf32, strided<[?]>>)
// CHECK-NOT: tensor<
func.func @tensors(%x: memref<?xf32, strided<[?]>>, %y: memref<?xf32, strided<[?]>>) {
  %c0 = arith.constant 0 : index
  %t = bufferization.to_tensor %x restrict : memref<?xf32, strided<[?]>> to tensor<?xf32>
  %n = tensor.dim %t, %c0 : tensor<?xf32>
  %e = tensor.empty(%n) : tensor<?xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%t : tensor<?xf32>) outs(%e : tensor<?xf32>) {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %a : f32
    linalg.yield %s : f32
  } -> tensor<?xf32>
  bufferization.materialize_in_destination %r in writable %y : (tensor<?xf32>, memref<?xf32, strided<[?]>>) -> ()
  return
}
// -----
// Where no operation gives a tensor nothing is done, not even a copy changed.
// CHECK-LABEL: func.func @buffers(
// CHECK: memref.copy
func.func @buffers(%x: memref<8xf32>, %y: memref<8xf32>) {
  memref.copy %x, %y : memref<8xf32> to memref<8xf32>
  return
}
