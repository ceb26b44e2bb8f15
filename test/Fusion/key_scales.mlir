// RUN: fa-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(tile-fuse-attention))' | FileCheck %s
// RUN: fa-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(tile-fuse-attention),tile-online-softmax,tile-to-kernel)' | FileCheck %s --check-prefix=KERNEL

!q = tensor<?x?x?x64xbf16>
!w = tensor<?x?x?x64xf32>
!n = tensor<?x?x?x64xf8E4M3FN>
!s = tensor<?x?x?x?xf32>
!h = tensor<?x?x?x?xbf16>
!c = tensor<?x?x?xf32>

// Scales of 32 keys each: repeated, as far as there are keys.
// CHECK-LABEL: func.func @blocks(
// CHECK-SAME: %[[Q:.*]]: tensor<?x?x?x64xbf16>, %[[K:.*]]: tensor<?x?x?x64xf8E4M3FN>, %[[V:.*]]: tensor<?x?x?x64xf8E4M3FN>, %[[KS:.*]]: tensor<?x?x?xf32>, %[[VS:.*]]: tensor<?x?x?xf32>)
// CHECK-NOT: arith.extf
// CHECK: tile.attention %[[Q]], %[[K]], %[[V]] scale %{{.*}} key_scales %[[KS]] : tensor<?x?x?xf32> value_scales %[[VS]] : tensor<?x?x?xf32> {scale_keys = 32 : i64}

// A tile of 128 keys has four of them or five. Scores and P are multiplied with
// that of their column, and there are enough of them for all keys.
// KERNEL-LABEL: tile.kernel @blocks(
// KERNEL-SAME: rules = [
// KERNEL-SAME: #tile.size_rule<covers 3[2], 1[2] * 32>
// KERNEL-SAME: #tile.size_rule<covers 4[2], 1[2] * 32>
// KERNEL: scf.for
// KERNEL: %[[DOT:.*]] = tile.dot %{{.*}} transpose_b
// KERNEL: %[[IN:.*]] = arith.constant dense<32> : tensor<128xi32>
// KERNEL: %[[AT:.*]] = arith.divui %{{.*}}, %[[IN]]
// KERNEL: %[[PLACE:.*]] = arith.index_cast %[[AT]]
// KERNEL: tile.gather %{{.*}}[%[[PLACE]]] : memref<?xf32
// KERNEL: %[[ROW:.*]] = tile.broadcast %{{.*}} : tensor<1x128xf32> -> tensor<128x128xf32>
// KERNEL: %[[SCORES:.*]] = arith.mulf %[[DOT]], %[[ROW]]
// KERNEL: %[[P:.*]], %{{.*}}, %{{.*}}, %{{.*}} = tile.online_softmax
// KERNEL: tile.gather
// KERNEL: %[[COLUMN:.*]] = tile.broadcast %{{.*}} : tensor<1x128xf32> -> tensor<128x128xf32>
// KERNEL: %[[WEIGHTS:.*]] = arith.mulf %[[P]], %[[COLUMN]]
// KERNEL: arith.truncf %[[WEIGHTS]]
func.func @blocks(%q: !q, %k: !n, %v: !n, %ks: !c, %vs: !c) -> !q {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %k, %c0 : !n
  %h = tensor.dim %k, %c1 : !n
  %j = tensor.dim %k, %c2 : !n
  %m = tensor.dim %ks, %c2 : !c
  %qw = arith.extf %q : !q to !w
  %kw = arith.extf %k : !n to !w
  %k1 = tile.expand_dims %ks dim 3 : !c -> tensor<?x?x?x1xf32>
  %k2 = tile.broadcast %k1 sizes %b, %h, %m : tensor<?x?x?x1xf32> -> tensor<?x?x?x32xf32>
  %k3 = tensor.collapse_shape %k2 [[0], [1], [2, 3]] : tensor<?x?x?x32xf32> into !c
  %k4 = tensor.extract_slice %k3[0, 0, 0] [%b, %h, %j] [1, 1, 1] : !c to !c
  %k5 = tile.expand_dims %k4 dim 3 : !c -> tensor<?x?x?x1xf32>
  %k6 = tile.broadcast %k5 sizes %b, %h, %j : tensor<?x?x?x1xf32> -> !w
  %kd = arith.mulf %kw, %k6 : !w
  %vw = arith.extf %v : !n to !w
  %v1 = tile.expand_dims %vs dim 3 : !c -> tensor<?x?x?x1xf32>
  %v2 = tile.broadcast %v1 sizes %b, %h, %m : tensor<?x?x?x1xf32> -> tensor<?x?x?x32xf32>
  %v3 = tensor.collapse_shape %v2 [[0], [1], [2, 3]] : tensor<?x?x?x32xf32> into !c
  %v4 = tensor.extract_slice %v3[0, 0, 0] [%b, %h, %j] [1, 1, 1] : !c to !c
  %v5 = tile.expand_dims %v4 dim 3 : !c -> tensor<?x?x?x1xf32>
  %v6 = tile.broadcast %v5 sizes %b, %h, %j : tensor<?x?x?x1xf32> -> !w
  %vd = arith.mulf %vw, %v6 : !w
  %s = tile.dot %qw, %kd transpose_b : !w, !w -> !s
  %p = tile.softmax %s : !s
  %pn = arith.truncf %p : !s to !h
  %pw = arith.extf %pn : !h to !s
  %o = tile.dot %pw, %vd : !s, !w -> !w
  %on = arith.truncf %o : !w to !q
  return %on : !q
}

// -----

!q = tensor<?x?x?x64xf16>
!w = tensor<?x?x?x64xf32>
!n = tensor<?x?x?x64xf8E4M3FN>
!s = tensor<?x?x?x?xf32>
!h = tensor<?x?x?x?xf16>
!c = tensor<?x?x?xf32>

// One for each key, beside one of values for each head.
// CHECK-LABEL: func.func @tokens(
// CHECK: tile.attention %{{.*}} key_scales %{{.*}} : tensor<?x?x?xf32> value_scales %{{.*}} : tensor<?x?xf32> {scale_keys = 1 : i64}
// KERNEL-LABEL: tile.kernel @tokens(
// KERNEL: scf.for
// KERNEL: tile.load %{{.*}} : memref<?xf32, {{.*}} -> tensor<128xf32>
// KERNEL: %[[P:.*]], %{{.*}}, %{{.*}}, %{{.*}} = tile.online_softmax
// KERNEL: arith.truncf %[[P]] :
// KERNEL: tile.online_finalize
// KERNEL: memref.load %{{.*}} : memref<?x?xf32
func.func @tokens(%q: !q, %k: !n, %v: !n, %ks: !c, %vs: tensor<?x?xf32>) -> !q {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %k, %c0 : !n
  %h = tensor.dim %k, %c1 : !n
  %j = tensor.dim %k, %c2 : !n
  %qw = arith.extf %q : !q to !w
  %kw = arith.extf %k : !n to !w
  %k5 = tile.expand_dims %ks dim 3 : !c -> tensor<?x?x?x1xf32>
  %k6 = tile.broadcast %k5 sizes %b, %h, %j : tensor<?x?x?x1xf32> -> !w
  %kd = arith.mulf %kw, %k6 : !w
  %vw = arith.extf %v : !n to !w
  %v1 = tile.expand_dims %vs dim 2 : tensor<?x?xf32> -> tensor<?x?x1xf32>
  %v2 = tile.expand_dims %v1 dim 3 : tensor<?x?x1xf32> -> tensor<?x?x1x1xf32>
  %v3 = tile.broadcast %v2 sizes %b, %h, %j : tensor<?x?x1x1xf32> -> !w
  %vd = arith.mulf %vw, %v3 : !w
  %s = tile.dot %qw, %kd transpose_b : !w, !w -> !s
  %p = tile.softmax %s : !s
  %pn = arith.truncf %p : !s to !h
  %pw = arith.extf %pn : !h to !s
  %o = tile.dot %pw, %vd : !s, !w -> !w
  %on = arith.truncf %o : !w to !q
  return %on : !q
}

// -----

!q = tensor<?x?x?x64xbf16>
!w = tensor<?x?x?x64xf32>
!n = tensor<?x?x?x64xf8E4M3FN>
!s = tensor<?x?x?x?xf32>
!h = tensor<?x?x?x?xbf16>
!c = tensor<?x?x?xf32>

// The same by one operation, which says nothing of how many there have to be. A
// tile of 128 keys has at most two of 128, which are read as
// numbers at the start of a step.
// CHECK-LABEL: func.func @repeated(
// CHECK: tile.attention %{{.*}} key_scales %{{.*}} : tensor<?x?x?xf32> value_scales %{{.*}} : tensor<?x?x?xf32> {scale_keys = 128 : i64}
// KERNEL-LABEL: tile.kernel @repeated(
// KERNEL: scf.for
// KERNEL: %[[FIRST:.*]] = memref.load %{{.*}} : memref<?xf32
// KERNEL: %[[NEXT:.*]] = memref.load %{{.*}} : memref<?xf32
// KERNEL: tile.dot %{{.*}} transpose_b
// KERNEL: %[[TO:.*]] = tile.broadcast %[[FIRST]] : f32 -> tensor<128xf32>
// KERNEL: %[[FROM:.*]] = tile.broadcast %[[NEXT]] : f32 -> tensor<128xf32>
// KERNEL: arith.select %{{.*}}, %[[TO]], %[[FROM]] : tensor<128xi1>, tensor<128xf32>
func.func @repeated(%q: !q, %k: !n, %v: !n, %ks: !c, %vs: !c) -> !q {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %k, %c0 : !n
  %h = tensor.dim %k, %c1 : !n
  %j = tensor.dim %k, %c2 : !n
  %qw = arith.extf %q : !q to !w
  %kw = arith.extf %k : !n to !w
  %k4 = tile.repeat %ks times 128 sizes %b, %h, %j : !c -> !c
  %k5 = tile.expand_dims %k4 dim 3 : !c -> tensor<?x?x?x1xf32>
  %k6 = tile.broadcast %k5 sizes %b, %h, %j : tensor<?x?x?x1xf32> -> !w
  %kd = arith.mulf %kw, %k6 : !w
  %vw = arith.extf %v : !n to !w
  %v4 = tile.repeat %vs times 128 sizes %b, %h, %j : !c -> !c
  %v5 = tile.expand_dims %v4 dim 3 : !c -> tensor<?x?x?x1xf32>
  %v6 = tile.broadcast %v5 sizes %b, %h, %j : tensor<?x?x?x1xf32> -> !w
  %vd = arith.mulf %vw, %v6 : !w
  %s = tile.dot %qw, %kd transpose_b : !w, !w -> !s
  %p = tile.softmax %s : !s
  %pn = arith.truncf %p : !s to !h
  %pw = arith.extf %pn : !h to !s
  %o = tile.dot %pw, %vd : !s, !w -> !w
  %on = arith.truncf %o : !w to !q
  return %on : !q
}
