// What a function has beside an attention goes into functions of its own, each called one time; what is cheap is made anew where it is read.
// RUN: fa-opt %s --tile-online-softmax --tile-split-function --split-input-file --verify-diagnostics | FileCheck %s
// The calls become kernels of one launch, with the same arguments and workspace; the function that puts tensors together is refused.
// RUN: not fa-opt %s --tile-online-softmax --tile-split-function --tile-to-kernel --split-input-file 2>/dev/null | FileCheck %s --check-prefix=KERNELS

!x = tensor<1x40x32xf32>
!w = tensor<1x32x32xf32>
!t = tensor<1x1x40x32xf32>
// The queries are computed, keys and values are views of arguments; the result is a residual's.
// CHECK-LABEL: func.func private @layer_attention(
// CHECK-SAME: %[[Q:[^:]*]]: tensor<1x40x32xf32>, %[[K:[^:]*]]: tensor<1x40x32xf32>) -> tensor<1x1x40x32xf32>
// CHECK-DAG: tile.expand_dims %[[Q]] dim 1
// CHECK-DAG: tile.expand_dims %[[K]] dim 1
// CHECK: tile.online_attention
// CHECK-LABEL: func.func private @layer_rest(
// CHECK-SAME: %[[X:[^:]*]]: tensor<1x40x32xf32>, %[[W:[^:]*]]: tensor<1x32x32xf32>) -> tensor<1x40x32xf32>
// CHECK-NEXT: %[[D:.*]] = tile.dot %[[X]], %[[W]]
// CHECK-NEXT: return %[[D]]
// CHECK-LABEL: func.func private @layer_rest_0(
// CHECK: tile.iota dim 1
// CHECK: arith.addf
// CHECK-LABEL: func.func @layer(
// CHECK-NEXT: %[[A:.*]] = call @layer_rest(%arg0, %arg1)
// CHECK-NEXT: %[[O:.*]] = call @layer_attention(%[[A]], %arg2)
// CHECK-NEXT: %[[Y:.*]] = call @layer_rest_0({{.*}}%[[O]]{{.*}})
// CHECK-NEXT: return %[[Y]]
// What is given is asked for rows without gaps, by the first kernel for all; a second launch does not ask.
// KERNELS-LABEL: tile.kernel @layer_rest(
// KERNELS-SAME: memref<1x40x32xf32, strided<[?, ?, 1]>> {tile.access = #tile.access<in>, tile.alignment = 16 : i64}
// KERNELS-SAME: memref<1x32x32xf32, strided<[?, ?, 1]>> {tile.access = #tile.access<in>, tile.alignment = 16 : i64}
// KERNELS-SAME: memref<?x1x40x32xf32, strided<[?, ?, ?, 1]>> {tile.access = #tile.access<out>, tile.alignment = 16 : i64, tile.workspace = affine_map<() -> (1, 40, 32)>}
// KERNELS-SAME: entry = "layer"
// KERNELS-SAME: tile.splits = 1
// KERNELS: tile.dot
// KERNELS-LABEL: tile.kernel @layer_attention(
// KERNELS-SAME: entry = "layer"
// KERNELS-SAME: tile.follows = @layer_rest
// KERNELS: memref.subview %{{.*}}[0, 0, 0, 0] [1, 1, 40, 32] [1, 1, 1, 1]
// KERNELS: tile.online_softmax
// KERNELS-LABEL: tile.kernel @layer_rest_0(
// KERNELS: tile.iota
// KERNELS-LABEL: tile.kernel @layer_rest_strided(
// KERNELS-SAME: memref<1x40x32xf32, strided<[?, ?, ?]>> {tile.access = #tile.access<in>}
// KERNELS-SAME: tile.splits = 1
// KERNELS-LABEL: tile.kernel @layer_attention_strided(
// KERNELS-SAME: tile.follows = @layer_rest_strided
// KERNELS-LABEL: tile.kernel @layer_rest_0_strided(
// expected-remark @+1 {{becomes several kernels, one for each attention: q is computed in the function, where a view of an argument is expected}}
func.func @layer(%x: !x, %w: !w, %k: !x) -> !x {
  %c = arith.constant 0.25 : f32
  %i = tile.iota dim 1 : tensor<1x40x32xindex>
  %i32 = arith.index_cast %i : tensor<1x40x32xindex> to tensor<1x40x32xi32>
  %f = arith.sitofp %i32 : tensor<1x40x32xi32> to !x
  %q = tile.dot %x, %w : !x, !w -> !x
  %q4 = tile.expand_dims %q dim 1 : !x -> !t
  %k4 = tile.expand_dims %k dim 1 : !x -> !t
  %o = tile.attention %q4, %k4, %k4 scale %c : !t, !t, !t -> !t score {} mask {}
  %o3 = tensor.collapse_shape %o [[0, 1], [2], [3]] : !t into !x
  %y = arith.addf %o3, %f : !x
  return %y : !x
}

// -----

!t = tensor<1x2x40x32xf32>
// Of two attentions the second reads what the first gives, which is returned as well: nothing else is computed but a copy.
// CHECK-LABEL: func.func @two(
// CHECK-NEXT: %[[O:.*]] = call @two_attention(%arg0, %arg1)
// CHECK-NEXT: %[[P:.*]] = call @two_attention_0(%[[O]], %arg1)
// CHECK-NEXT: %[[C:.*]] = call @two_rest{{.*}}(%[[O]])
// CHECK-NEXT: return %[[C]], %[[P]]
// KERNELS-LABEL: tile.kernel @two_attention(
// KERNELS-LABEL: tile.kernel @two_attention_0(
// KERNELS-SAME: tile.follows = @two_attention
// expected-remark @+1 {{becomes several kernels, one for each attention: the function has 2 attentions, where one is expected}}
func.func @two(%q: !t, %k: !t) -> (!t, !t) {
  %c = arith.constant 0.25 : f32
  %o = tile.attention %q, %k, %k scale %c : !t, !t, !t -> !t score {} mask {}
  %p = tile.attention %o, %k, %k scale %c : !t, !t, !t -> !t score {} mask {}
  return %o, %p : !t, !t
}

// -----

!t = tensor<1x2x40x32xf32>
// Side by side, on views of arguments alone, they hand nothing over.
// CHECK-LABEL: func.func @beside(
// CHECK-NEXT: %[[O:.*]] = call @beside_attention(%arg0, %arg1)
// CHECK-NEXT: %[[P:.*]] = call @beside_attention_0(%arg1, %arg0)
// CHECK-NEXT: return %[[O]], %[[P]]
// KERNELS-LABEL: tile.kernel @beside_attention(
// KERNELS-NOT: tile.workspace
// KERNELS-NOT: unfused
// KERNELS: tile.kernel @beside_attention_0(
// expected-remark @+1 {{becomes several kernels, one for each attention: the function has 2 attentions}}
func.func @beside(%q: !t, %k: !t) -> (!t, !t) {
  %c = arith.constant 0.25 : f32
  %o = tile.attention %q, %k, %k scale %c : !t, !t, !t -> !t score {} mask {}
  %p = tile.attention %k, %q, %q scale %c : !t, !t, !t -> !t score {} mask {}
  return %o, %p : !t, !t
}

// -----

!t = tensor<?x?x?x64xf16>
// One attention is left alone.
// CHECK-LABEL: func.func @one(
// CHECK-NOT: call
// CHECK: return
func.func @one(%q: !t, %k: !t, %c: f32) -> !t {
  %o = tile.attention %q, %k, %k scale %c : !t, !t, !t -> !t score {} mask {}
  return %o : !t
}

// -----

!t = tensor<?x?x?x?xf32>
// An attention that would be no kernel in a function of its own stays where it is.
// CHECK-LABEL: func.func @wide(
// CHECK-NOT: call
// CHECK: tile.online_attention
// CHECK: return
func.func @wide(%x: !t, %k: !t) -> !t {
  %c = arith.constant 0.25 : f32
  %q = math.tanh %x : !t
  // expected-remark @+1 {{this attention is no kernel of its own: q has a dynamic head dim}}
  %o = tile.attention %q, %k, %k scale %c : !t, !t, !t -> !t score {} mask {}
  return %o : !t
}

// -----

!t = tensor<1x2x?x32xf32>
// The size of what would be handed over is that of no argument.
// CHECK-LABEL: func.func @joined(
// CHECK-NOT: call
// CHECK: return
func.func @joined(%q: !t, %k: !t) -> !t {
  %c = arith.constant 0.25 : f32
  %j = tensor.concat dim(2) %k, %k : (!t, !t) -> !t
  %o = tile.attention %q, %j, %j scale %c : !t, !t, !t -> !t score {} mask {}
  return %o : !t
}

// -----

!t = tensor<1x2x40x32xf32>
// Nor does a function hand over what no argument can be, integers of 16 bits.
// CHECK-LABEL: func.func @narrow(
// CHECK-NOT: call
// CHECK: return
func.func @narrow(%x: tensor<1x2x40x32xf32>, %k: !t) -> (!t, !t) {
  %c = arith.constant 0.25 : f32
  %i = arith.fptosi %x : !t to tensor<1x2x40x32xi16>
  %q = arith.sitofp %i : tensor<1x2x40x32xi16> to !t
  %o = tile.attention %q, %k, %k scale %c : !t, !t, !t -> !t score {} mask {}
  %f = arith.sitofp %i : tensor<1x2x40x32xi16> to !t
  %y = arith.addf %o, %f : !t
  return %o, %y : !t, !t
}
