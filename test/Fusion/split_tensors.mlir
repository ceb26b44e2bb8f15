// What is around attentions becomes functions that are one kernel of tiles each.
// RUN: fa-opt %s --tile-split-tensors --split-input-file --verify-diagnostics | FileCheck %s
// RUN: fa-opt %s --tile-split-tensors --tile-to-kernel --canonicalize --cse --split-input-file 2>/dev/null | FileCheck %s --check-prefix=KERNELS

!r = tensor<100x200xf32>
!l = tensor<100xf32>
!w = tensor<200x40xbf16>
// A dot with what is added to it is one, and its operand's conversion goes with it; a reduction takes along what only it reads.
// CHECK-LABEL: func.func private @rest_dot(
// CHECK-SAME: %[[X:[^:]*]]: tensor<100x200xf32>, %[[W:[^:]*]]: tensor<200x40xbf16>, %[[B:[^:]*]]: tensor<40xf32>) -> tensor<100x40xf32>
// CHECK-NEXT: %[[N:.*]] = arith.truncf %[[X]]
// CHECK-NEXT: %[[D:.*]] = tile.dot %[[N]], %[[W]]
// CHECK: %[[Y:.*]] = arith.addf %[[D]]
// CHECK-NEXT: return %[[Y]]
// CHECK-LABEL: func.func private @rest_sum(
// CHECK-SAME: %[[X:[^:]*]]: tensor<100x40xf32>) -> tensor<100xf32>
// CHECK-NEXT: %[[S:.*]] = arith.mulf %[[X]], %[[X]]
// CHECK-NEXT: %[[R:.*]] = tile.reduce add %[[S]] dim 1
// CHECK-NEXT: %[[T:.*]] = math.rsqrt %[[R]]
// CHECK-NEXT: return %[[T]]
// A sum that is repeated is read from memory.
// CHECK-LABEL: func.func private @rest_map(
// CHECK: %[[L:.*]] = tile.broadcast
// CHECK: %[[Y:.*]] = arith.mulf %{{.*}}, %[[L]]
// CHECK-NEXT: return %[[Y]]
// CHECK-LABEL: func.func @layer(
// CHECK-NEXT: %[[D:.*]] = call @rest_dot(%arg0, %arg1, %arg2)
// CHECK-NEXT: %[[S:.*]] = call @rest_sum(%[[D]])
// CHECK-NEXT: %[[Y:.*]] = call @rest_map(
// CHECK-NEXT: return %[[Y]]

// Of tiles of 64 the last ones are cut off; what is summed over is a loop.
// KERNELS-LABEL: tile.kernel @rest_dot(
// KERNELS-SAME: %[[X:[^:]*]]: memref<100x200xf32, strided<[?, 1]>> {tile.access = #tile.access<in>, tile.alignment = 16 : i64}
// KERNELS: %[[SUM:.*]] = scf.for %[[K:.*]] = %c0 to %c200 step %c64 iter_args(%[[ACC:.*]] = %{{.*}}) -> (tensor<64x64xf32>)
// KERNELS: tile.load %[[X]][%{{.*}}, %[[K]]] : memref<100x200xf32, strided<[?, 1]>> -> tensor<64x64xf32>
// KERNELS: arith.truncf
// KERNELS: tile.dot %{{.*}}, %{{.*}} acc %[[ACC]] : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
// KERNELS: %[[LINE:.*]] = tile.load {{.*}} : memref<40xf32, strided<[1]>> -> tensor<64xf32>
// KERNELS: tile.expand_dims %[[LINE]] dim 0
// KERNELS: %[[Y:.*]] = arith.addf %[[SUM]]
// KERNELS: tile.store %[[Y]]
// What is behind the end of a row does not count.
// KERNELS-LABEL: tile.kernel @rest_sum(
// KERNELS-SAME: tile.follows = @rest_dot
// KERNELS: arith.mulf
// KERNELS: arith.select
// KERNELS: tile.reduce add %{{.*}} dim 1 : tensor<64x64xf32> -> tensor<64xf32>
// KERNELS: math.rsqrt
// KERNELS-LABEL: tile.kernel @rest_map(
// KERNELS: tile.store {{.*}} : tensor<16x64xf32>
// A second launch takes any strides.
// KERNELS-LABEL: tile.kernel @rest_dot_strided(
// KERNELS-SAME: memref<100x200xf32, strided<[?, ?]>> {tile.access = #tile.access<in>}
func.func private @rest(%x: !r, %w: !w, %b: tensor<40xf32>) -> tensor<100x40xf32> {
  %n = arith.truncf %x : !r to tensor<100x200xbf16>
  %d = tile.dot %n, %w : tensor<100x200xbf16>, !w -> tensor<100x40xf32>
  %b1 = tile.expand_dims %b dim 0 : tensor<40xf32> -> tensor<1x40xf32>
  %b2 = tile.broadcast %b1 : tensor<1x40xf32> -> tensor<100x40xf32>
  %y = arith.addf %d, %b2 : tensor<100x40xf32>
  %s = arith.mulf %y, %y : tensor<100x40xf32>
  %r = tile.reduce add %s dim 1 : tensor<100x40xf32> -> !l
  %t = math.rsqrt %r : !l
  %t1 = tile.expand_dims %t dim 1 : !l -> tensor<100x1xf32>
  %t2 = tile.broadcast %t1 : tensor<100x1xf32> -> tensor<100x40xf32>
  %z = arith.mulf %y, %t2 : tensor<100x40xf32>
  return %z : tensor<100x40xf32>
}
func.func @layer(%x: !r, %w: !w, %b: tensor<40xf32>) -> tensor<100x40xf32> {
  %y = call @rest(%x, %w, %b) : (!r, !w, tensor<40xf32>) -> tensor<100x40xf32>
  return %y : tensor<100x40xf32>
}

// -----

// Reshapes are views with more dimensions, of any strides: rows and heads are never joined.
!x = tensor<2x37x48xf32>
!w = tensor<48x3x32xf32>
!h = tensor<2x3x37x32xf32>
// CHECK-LABEL: func.func private @heads(
// CHECK-LABEL: func.func @shapes(
// CHECK-NEXT: call @heads
// KERNELS-LABEL: tile.kernel @heads(
// KERNELS-SAME: %[[X:[^:]*]]: memref<2x37x48xf32, strided<[?, ?, 1]>>
// KERNELS-SAME: %[[W:[^:]*]]: memref<48x3x32xf32, strided<[?, ?, 1]>>
// KERNELS-SAME: %[[O:[^:]*]]: memref<2x3x37x32xf32, strided<[?, ?, ?, 1]>>
// KERNELS-NOT: collapse_shape
// KERNELS-DAG: memref.subview %[[X]][%{{.*}}, 0, 0] [1, 37, 48]
// KERNELS-DAG: memref.subview %[[W]][0, %{{.*}}, 0] [48, 1, 32]
// KERNELS-DAG: memref.subview %[[O]][%{{.*}}, %{{.*}}, 0, 0] [1, 1, 37, 32]
func.func private @heads(%x: !x, %w: !w) -> !h {
  %rows = tensor.collapse_shape %x [[0, 1], [2]] : !x into tensor<74x48xf32>
  %columns = tensor.collapse_shape %w [[0], [1, 2]] : !w into tensor<48x96xf32>
  %d = tile.dot %rows, %columns : tensor<74x48xf32>, tensor<48x96xf32> -> tensor<74x96xf32>
  %e = tensor.expand_shape %d [[0, 1], [2, 3]] output_shape [2, 37, 3, 32] : tensor<74x96xf32> into tensor<2x37x3x32xf32>
  %t = tile.transpose %e [0, 2, 1, 3] : tensor<2x37x3x32xf32> -> !h
  return %t : !h
}
func.func @shapes(%x: !x, %w: !w) -> !h {
  %y = call @heads(%x, %w) : (!x, !w) -> !h
  return %y : !h
}

// -----

!s = tensor<32x32xf32>
// A sum with itself transposed is read from memory.
// CHECK-LABEL: func.func private @both_dot(
// CHECK-LABEL: func.func private @both_map(
// CHECK: tile.transpose
// CHECK: arith.addf
func.func private @both(%x: !s, %w: !s) -> !s {
  %d = tile.dot %x, %w : !s, !s -> !s
  %t = tile.transpose %d [1, 0] : !s -> !s
  %y = arith.addf %d, %t : !s
  return %y : !s
}
func.func @symmetric(%x: !s, %w: !s) -> !s {
  %y = call @both(%x, %w) : (!s, !s) -> !s
  return %y : !s
}

// -----

!s = tensor<32x32xf32>
// Elements of a sum that are read at two places: no kernel of tiles, but one on whole tensors.
// CHECK-LABEL: func.func private @diagonal(
// KERNELS-LABEL: tile.kernel @diagonal(
// KERNELS-SAME: tile.not_fused = "'tile.dot' is read in two ways"
// KERNELS-SAME: unfused
// expected-remark @+1 {{a part around attentions runs unfused, on whole tensors: 'tile.dot' is read in two ways}}
func.func private @diagonal(%x: !s, %w: !s) -> !s {
  %d = tile.dot %x, %w : !s, !s -> !s
  %n = math.tanh %d : !s
  %t = tile.transpose %d [1, 0] : !s -> !s
  %y = arith.addf %n, %t : !s
  return %y : !s
}
func.func @symmetric(%x: !s, %w: !s) -> !s {
  %y = call @diagonal(%x, %w) : (!s, !s) -> !s
  return %y : !s
}

// -----

!s = tensor<32x32xf32>
// What nothing reads is no part.
// CHECK-LABEL: func.func private @dead_dot(
// CHECK-LABEL: func.func private @dead_sum(
// CHECK-LABEL: func.func @unread(
// CHECK-NEXT: call @dead_dot
// CHECK-NEXT: call @dead_sum
// CHECK-NEXT: return
func.func private @dead(%x: !s, %w: !s) -> tensor<32xf32> {
  %t = math.tanh %x : !s
  %e = math.exp %t : !s
  %d = tile.dot %x, %w : !s, !s -> !s
  %r = tile.reduce max %d dim 0 : !s -> tensor<32xf32>
  return %r : tensor<32xf32>
}
func.func @unread(%x: !s, %w: !s) -> tensor<32xf32> {
  %y = call @dead(%x, %w) : (!s, !s) -> tensor<32xf32>
  return %y : tensor<32xf32>
}
