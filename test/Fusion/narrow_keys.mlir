// RUN: fa-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(tile-fuse-attention))' | FileCheck %s
// RUN: fa-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(tile-fuse-attention),tile-online-softmax,tile-to-kernel)' | FileCheck %s --check-prefix=KERNEL

!q = tensor<?x?x?x64xf16>
!qw = tensor<?x?x?x64xf32>
!n = tensor<?x?x?x64xf8E4M3FN>
!s = tensor<?x?x?x?xf32>
!h = tensor<?x?x?x?xf16>
!c = tensor<?x?xf32>

// Scales of K and V by element, where they are the same along keys and columns.
// CHECK-LABEL: func.func @scaled(
// CHECK-SAME: %[[Q:.*]]: tensor<?x?x?x64xf16>, %[[K:.*]]: tensor<?x?x?x64xf8E4M3FN>, %[[V:.*]]: tensor<?x?x?x64xf8E4M3FN>, %[[KS:.*]]: tensor<?x?xf32>, %[[VS:.*]]: tensor<?x?xf32>)
// CHECK-NOT: arith.extf
// CHECK: tile.attention %[[Q]], %[[K]], %[[V]] scale %{{.*}} key_scales %[[KS]] : tensor<?x?xf32> value_scales %[[VS]] : tensor<?x?xf32>
// CHECK-SAME: : tensor<?x?x?x64xf16>, tensor<?x?x?x64xf8E4M3FN>, tensor<?x?x?x64xf8E4M3FN> -> tensor<?x?x?x64xf16>

// A scale is read once a program; elements are widened, and no more is done to
// them.
// KERNEL-LABEL: tile.kernel @scaled
// KERNEL-SAME: memref<?x?x?x64xf8E4M3FN
// KERNEL: %[[C:.*]] = memref.load %{{.*}} : memref<?x?xf32
// KERNEL: scf.for
// KERNEL: %[[KT:.*]] = tile.load {{.*}} -> tensor<128x64xf8E4M3FN>
// KERNEL: %[[KW:.*]] = arith.extf %[[KT]] : tensor<128x64xf8E4M3FN> to tensor<128x64xf16>
// KERNEL: tile.dot %{{.*}}, %[[KW]] transpose_b
// KERNEL: arith.truncf %{{.*}} : tensor<{{.*}}xf32> to tensor<{{.*}}xf16>
// KERNEL: tile.online_finalize
// KERNEL: %[[VC:.*]] = memref.load %{{.*}} : memref<?x?xf32
// KERNEL: tile.broadcast %[[VC]]
func.func @scaled(%q: !q, %k: !n, %v: !n, %ks: !c, %vs: !c) -> !q {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %k, %c0 : !n
  %h = tensor.dim %k, %c1 : !n
  %j = tensor.dim %k, %c2 : !n
  %qw = arith.extf %q : !q to !qw
  %kw = arith.extf %k : !n to !qw
  %k1 = tile.expand_dims %ks dim 2 : !c -> tensor<?x?x1xf32>
  %k2 = tile.expand_dims %k1 dim 3 : tensor<?x?x1xf32> -> tensor<?x?x1x1xf32>
  %k3 = tile.broadcast %k2 sizes %b, %h, %j : tensor<?x?x1x1xf32> -> !qw
  %kd = arith.mulf %kw, %k3 : !qw
  %vw = arith.extf %v : !n to !qw
  %v1 = tile.expand_dims %vs dim 2 : !c -> tensor<?x?x1xf32>
  %v2 = tile.expand_dims %v1 dim 3 : tensor<?x?x1xf32> -> tensor<?x?x1x1xf32>
  %v3 = tile.broadcast %v2 sizes %b, %h, %j : tensor<?x?x1x1xf32> -> !qw
  %vd = arith.mulf %vw, %v3 : !qw
  %s = tile.dot %qw, %kd transpose_b : !qw, !qw -> !s
  %p = tile.softmax %s : !s
  %pn = arith.truncf %p : !s to !h
  %pw = arith.extf %pn : !h to !s
  %o = tile.dot %pw, %vd : !s, !qw -> !qw
  %on = arith.truncf %o : !qw to !q
  return %on : !q
}

// -----

!q = tensor<?x?x?x64xbf16>
!n = tensor<?x?x?x64xf8E4M3FN>
!s = tensor<?x?x?x?xf32>
!h = tensor<?x?x?x?xbf16>

// Without scales, in Q's type.
// CHECK-LABEL: func.func @widened
// CHECK: tile.attention %{{.*}} scale %{{.*}} : tensor<?x?x?x64xbf16>, tensor<?x?x?x64xf8E4M3FN>, tensor<?x?x?x64xf8E4M3FN> -> tensor<?x?x?x64xbf16>
// KERNEL-LABEL: tile.kernel @widened
// KERNEL: arith.extf %{{.*}} : tensor<128x64xf8E4M3FN> to tensor<128x64xbf16>
func.func @widened(%q: !q, %k: !n, %v: !n) -> !q {
  %kw = arith.extf %k : !n to !q
  %vw = arith.extf %v : !n to !q
  %s = tile.dot %q, %kw transpose_b : !q, !q -> !s
  %p = tile.softmax %s : !s
  %pn = arith.truncf %p : !s to !h
  %o = tile.dot %pn, %vw : !h, !q -> tensor<?x?x?x64xf32>
  %on = arith.truncf %o : tensor<?x?x?x64xf32> to !q
  return %on : !q
}

// -----

!n = tensor<?x?x?x64xf8E4M3FN>
!w = tensor<?x?x?x64xf32>
!s = tensor<?x?x?x?xf32>
!h = tensor<?x?x?x?xbf16>
!c = tensor<?x?xf32>

// Q of 8 bits is widened to what P is rounded to, where its tile is loaded, and
// two factors of keys, of which one is that of the queries, are two scales.
// CHECK-LABEL: func.func @queries(
// CHECK-SAME: %[[Q:.*]]: tensor<?x?x?x64xf8E4M3FN>, %[[K:.*]]: tensor<?x?x?x64xf8E4M3FN>, %[[V:.*]]: tensor<?x?x?x64xf8E4M3FN>, %[[KS:.*]]: tensor<?x?xf32>, %[[QS:.*]]: tensor<?x?xf32>)
// CHECK: %[[QW:.*]] = arith.extf %[[Q]] : tensor<?x?x?x64xf8E4M3FN> to tensor<?x?x?x64xbf16>
// CHECK: tile.attention %[[QW]], %[[K]], %[[V]] scale %{{.*}} key_scales %[[KS]], %[[QS]] : tensor<?x?xf32>, tensor<?x?xf32> :
// KERNEL-LABEL: tile.kernel @queries
// KERNEL-SAME: memref<?x?x?x64xf8E4M3FN
// KERNEL: memref.load %{{.*}} : memref<?x?xf32
// KERNEL: %[[ONE:.*]] = arith.mulf
// KERNEL: memref.load %{{.*}} : memref<?x?xf32
// KERNEL: arith.mulf %[[ONE]]
// KERNEL: %[[QT:.*]] = tile.load {{.*}} -> tensor<[[M:[0-9]+]]x64xf8E4M3FN>
// KERNEL: %[[QTW:.*]] = arith.extf %[[QT]] : tensor<[[M]]x64xf8E4M3FN> to tensor<[[M]]x64xbf16>
// KERNEL: scf.for
// KERNEL: tile.dot %[[QTW]], %{{.*}} transpose_b
func.func @queries(%q: !n, %k: !n, %v: !n, %ks: !c, %qs: !c) -> tensor<?x?x?x64xf16> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %qw = arith.extf %q : !n to !w
  %kw = arith.extf %k : !n to !w
  %b = tensor.dim %kw, %c0 : !w
  %h = tensor.dim %kw, %c1 : !w
  %j = tensor.dim %kw, %c2 : !w
  %k1 = tile.expand_dims %ks dim 2 : !c -> tensor<?x?x1xf32>
  %k2 = tile.expand_dims %k1 dim 3 : tensor<?x?x1xf32> -> tensor<?x?x1x1xf32>
  %k3 = tile.broadcast %k2 sizes %b, %h, %j : tensor<?x?x1x1xf32> -> !w
  %q1 = tile.expand_dims %qs dim 2 : !c -> tensor<?x?x1xf32>
  %q2 = tile.expand_dims %q1 dim 3 : tensor<?x?x1xf32> -> tensor<?x?x1x1xf32>
  %q3 = tile.broadcast %q2 sizes %b, %h, %j : tensor<?x?x1x1xf32> -> !w
  %kd = arith.mulf %kw, %k3 : !w
  %kq = arith.mulf %kd, %q3 : !w
  %s = tile.dot %qw, %kq transpose_b : !w, !w -> !s
  %p = tile.softmax %s : !s
  %pn = arith.truncf %p : !s to !h
  %vw = arith.extf %v : !n to tensor<?x?x?x64xbf16>
  %o = tile.dot %pn, %vw : !h, tensor<?x?x?x64xbf16> -> !w
  %on = arith.truncf %o : !w to tensor<?x?x?x64xf16>
  return %on : tensor<?x?x?x64xf16>
}

// -----

!q = tensor<?x?x?x64xbf16>
!n = tensor<?x?x?x64xf8E5M2>
!e = tensor<?x?x?x64xf8E4M3FN>
!s = tensor<?x?x?x?xf32>
!h = tensor<?x?x?x?xbf16>

// Each has a format of its own.
// CHECK-LABEL: func.func @formats
// CHECK: tile.attention %{{.*}} scale %{{.*}} : tensor<?x?x?x64xbf16>, tensor<?x?x?x64xf8E4M3FN>, tensor<?x?x?x64xf8E5M2> -> tensor<?x?x?x64xbf16>
// KERNEL-LABEL: tile.kernel @formats
// KERNEL: arith.extf %{{.*}} : tensor<{{[0-9]+}}x64xf8E5M2> to tensor<{{[0-9]+}}x64xbf16>
// KERNEL: arith.extf %{{.*}} : tensor<{{[0-9]+}}x64xf8E4M3FN> to tensor<{{[0-9]+}}x64xbf16>
// KERNEL: arith.extf %{{.*}} : tensor<{{[0-9]+}}x64xf8E5M2> to tensor<{{[0-9]+}}x64xbf16>
func.func @formats(%q: !n, %k: !e, %v: !n) -> !q {
  %qw = arith.extf %q : !n to !q
  %kw = arith.extf %k : !e to !q
  %vw = arith.extf %v : !n to !q
  %s = tile.dot %qw, %kw transpose_b : !q, !q -> !s
  %p = tile.softmax %s : !s
  %pn = arith.truncf %p : !s to !h
  %o = tile.dot %pn, %vw : !h, !q -> tensor<?x?x?x64xf32>
  %on = arith.truncf %o : tensor<?x?x?x64xf32> to !q
  return %on : !q
}
