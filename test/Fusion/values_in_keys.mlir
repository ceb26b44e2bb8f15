// RUN: fa-opt %s --split-input-file --tile-online-softmax --tile-to-kernel='machine=sm_80 constraints="splits=1"' --canonicalize --cse | FileCheck %s

!q = tensor<?x?x?x576xbf16>
!v = tensor<?x?x?x512xbf16>

// Values are most of the keys' columns: a tile of keys is loaded once and multiplied with twice, and what the last 64
// columns add up to is not stored.
// CHECK-LABEL: tile.kernel @attention_decode(
// CHECK-COUNT-1: tile.load
// CHECK: scf.for
// CHECK: %[[K:.*]] = tile.load {{.*}} -> tensor<16x576xbf16>
// CHECK-NOT: tile.load
// CHECK: tile.dot %{{.*}}, %[[K]] transpose_b
// CHECK: tile.dot %{{.*}}, %[[K]] acc {{.*}} -> tensor<16x576xf32>
// CHECK: tile.store %{{.*}} : tensor<16x576xbf16>, memref<?x512xbf16
func.func @attention(%q: !q, %k: !q, %scale: f32) -> !v {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %k, %c0 : !q
  %h = tensor.dim %k, %c1 : !q
  %s = tensor.dim %k, %c2 : !q
  %v = tensor.extract_slice %k[0, 0, 0, 0] [%b, %h, %s, 512] [1, 1, 1, 1] : !q to !v
  %o = tile.attention %q, %k, %v scale %scale : !q, !q, !v -> !v score {} mask {}
  return %o : !v
}

// -----

!q = tensor<?x?x?x128xbf16>
!v = tensor<?x?x?x64xbf16>

// Half of them: loaded again.
// CHECK-LABEL: tile.kernel @attention_decode(
// CHECK: scf.for
// CHECK: tile.load {{.*}} -> tensor<{{.*}}x128xbf16>
// CHECK: tile.load {{.*}} -> tensor<{{.*}}x64xbf16>
func.func @attention(%q: !q, %k: !q, %scale: f32) -> !v {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %k, %c0 : !q
  %h = tensor.dim %k, %c1 : !q
  %s = tensor.dim %k, %c2 : !q
  %v = tensor.extract_slice %k[0, 0, 0, 0] [%b, %h, %s, 64] [1, 1, 1, 1] : !q to !v
  %o = tile.attention %q, %k, %v scale %scale : !q, !q, !v -> !v score {} mask {}
  return %o : !v
}

// -----

!q = tensor<?x?x?x64xbf16>
!v = tensor<?x?x?x56xbf16>

// Not the first columns.
// CHECK-LABEL: tile.kernel @attention_decode(
// CHECK: scf.for
// CHECK: tile.load {{.*}} -> tensor<{{.*}}x64xbf16>
// CHECK: tile.load {{.*}} -> tensor<{{.*}}x64xbf16>
func.func @attention(%q: !q, %k: !q, %scale: f32) -> !v {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %k, %c0 : !q
  %h = tensor.dim %k, %c1 : !q
  %s = tensor.dim %k, %c2 : !q
  %v = tensor.extract_slice %k[0, 0, 0, 8] [%b, %h, %s, 56] [1, 1, 1, 1] : !q to !v
  %o = tile.attention %q, %k, %v scale %scale : !q, !q, !v -> !v score {} mask {}
  return %o : !v
}
