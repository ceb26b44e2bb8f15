// Q, K and V are slices of one argument, as a projection leaves them: by a
// dimension of their own, by columns, by heads in groups. Nothing is moved.
// RUN: fa-opt --explain %s | FileCheck %s
// RUN: fa-run %s --entry=own_dim --in 2x50x3x4x32 --check | FileCheck %s --check-prefix=RAN
// RUN: fa-run %s --entry=columns --in 2x50x384 --check | FileCheck %s --check-prefix=RAN
// RUN: fa-run %s --entry=columns --in 2x1x384 --check | FileCheck %s --check-prefix=RAN
// RUN: fa-run %s --entry=heads --in 2x50x8x32 --check | FileCheck %s --check-prefix=RAN
// RUN: fa-run %s --entry=columns --in 2x20x384 --target=emulator:sm_80 --check | FileCheck %s --check-prefix=RAN
// RUN: fa-run %s --entry=heads --in 2x20x8x32 --target=emulator:sm_90a --check | FileCheck %s --check-prefix=RAN
// RUN: fa-run %s --entry=heads --in 2x1x8x32 --target=emulator:sm_80 --check | FileCheck %s --check-prefix=RAN
// RUN: fa-run %s --entry=heads --in 2x20x8x32 --target=emulator:gfx942 --check | FileCheck %s --check-prefix=RAN
// RAN-NOT: not fused
// RAN: PASS
// Rows begin at multiples of 16 bytes, K and V do not.
// RUN: fa-run %s --entry=askew --in 40x128 --target=emulator:sm_80 --check | FileCheck %s --check-prefix=RAN
// CHECK-COUNT-4: fused: softmax(Q Kᵀ) V is one attention

!own = tensor<2x50x3x4x32xf32>
!part = tensor<2x50x4x32xf32>
!q = tensor<2x4x50x32xf32>
!s = tensor<2x4x50x50xf32>
func.func @own_dim(%x: !own) -> !part {
  %q0 = tensor.extract_slice %x[0, 0, 0, 0, 0] [2, 50, 1, 4, 32] [1, 1, 1, 1, 1] : !own to !part
  %k0 = tensor.extract_slice %x[0, 0, 1, 0, 0] [2, 50, 1, 4, 32] [1, 1, 1, 1, 1] : !own to !part
  %v0 = tensor.extract_slice %x[0, 0, 2, 0, 0] [2, 50, 1, 4, 32] [1, 1, 1, 1, 1] : !own to !part
  %q = tile.transpose %q0 [0, 2, 1, 3] : !part -> !q
  %k = tile.transpose %k0 [0, 2, 1, 3] : !part -> !q
  %v = tile.transpose %v0 [0, 2, 1, 3] : !part -> !q
  %s = tile.dot %q, %k transpose_b : !q, !q -> !s
  %p = tile.softmax %s : !s
  %o = tile.dot %p, %v : !s, !q -> !q
  %r = tile.transpose %o [0, 2, 1, 3] : !q -> !part
  return %r : !part
}

!c = tensor<2x?x384xf32>
!cq = tensor<2x?x128xf32>
!ch = tensor<2x?x4x32xf32>
!qd = tensor<2x4x?x32xf32>
!sd = tensor<2x4x?x?xf32>
func.func @columns(%x: !c) -> !cq {
  %c1 = arith.constant 1 : index
  %n = tensor.dim %x, %c1 : !c
  %q0 = tensor.extract_slice %x[0, 0, 0] [2, %n, 128] [1, 1, 1] : !c to !cq
  %k0 = tensor.extract_slice %x[0, 0, 128] [2, %n, 128] [1, 1, 1] : !c to !cq
  %v0 = tensor.extract_slice %x[0, 0, 256] [2, %n, 128] [1, 1, 1] : !c to !cq
  %q1 = tensor.expand_shape %q0 [[0], [1], [2, 3]] output_shape [2, %n, 4, 32] : !cq into !ch
  %k1 = tensor.expand_shape %k0 [[0], [1], [2, 3]] output_shape [2, %n, 4, 32] : !cq into !ch
  %v1 = tensor.expand_shape %v0 [[0], [1], [2, 3]] output_shape [2, %n, 4, 32] : !cq into !ch
  %q = tile.transpose %q1 [0, 2, 1, 3] : !ch -> !qd
  %k = tile.transpose %k1 [0, 2, 1, 3] : !ch -> !qd
  %v = tile.transpose %v1 [0, 2, 1, 3] : !ch -> !qd
  %s = tile.dot %q, %k transpose_b : !qd, !qd -> !sd
  %p = tile.softmax %s : !sd
  %o = tile.dot %p, %v : !sd, !qd -> !qd
  %ot = tile.transpose %o [0, 2, 1, 3] : !qd -> !ch
  %r = tensor.collapse_shape %ot [[0], [1], [2, 3]] : !ch into !cq
  return %r : !cq
}

!h = tensor<2x?x8x32xf16>
!h4 = tensor<2x?x4x32xf16>
!h2 = tensor<2x?x2x32xf16>
!q4 = tensor<2x4x?x32xf16>
!k2 = tensor<2x2x?x32xf16>
!ph = tensor<2x4x?x?xf16>
func.func @heads(%x: !h) -> !h4 {
  %c1 = arith.constant 1 : index
  %n = tensor.dim %x, %c1 : !h
  %q0 = tensor.extract_slice %x[0, 0, 0, 0] [2, %n, 4, 32] [1, 1, 1, 1] : !h to !h4
  %k0 = tensor.extract_slice %x[0, 0, 4, 0] [2, %n, 2, 32] [1, 1, 1, 1] : !h to !h2
  %v0 = tensor.extract_slice %x[0, 0, 6, 0] [2, %n, 2, 32] [1, 1, 1, 1] : !h to !h2
  %q = tile.transpose %q0 [0, 2, 1, 3] : !h4 -> !q4
  %k = tile.transpose %k0 [0, 2, 1, 3] : !h2 -> !k2
  %v = tile.transpose %v0 [0, 2, 1, 3] : !h2 -> !k2
  %s = tile.dot %q, %k transpose_b : !q4, !k2 -> !sd
  %p = tile.softmax %s : !sd
  %w = arith.truncf %p : !sd to !ph
  %o = tile.dot %w, %v : !ph, !k2 -> !q4
  %r = tile.transpose %o [0, 2, 1, 3] : !q4 -> !h4
  return %r : !h4
}

!a = tensor<40x128xf16>
!aq = tensor<40x32xf16>
!as = tensor<40x40xf32>
!ap = tensor<40x40xf16>
func.func @askew(%x: !a) -> !aq {
  %q = tensor.extract_slice %x[0, 0] [40, 32] [1, 1] : !a to !aq
  %k = tensor.extract_slice %x[0, 36] [40, 32] [1, 1] : !a to !aq
  %v = tensor.extract_slice %x[0, 74] [40, 32] [1, 1] : !a to !aq
  %s = tile.dot %q, %k transpose_b : !aq, !aq -> !as
  %p = tile.softmax %s : !as
  %w = arith.truncf %p : !as to !ap
  %o = tile.dot %w, %v : !ap, !aq -> !aq
  return %o : !aq
}
