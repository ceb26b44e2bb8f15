// An attention that was found is no kernel yet: the report says of a function
// that runs on whole tensors, or not at all, what keeps it from being one.
// RUN: fa-opt --explain %s | FileCheck %s
// CHECK: 3 fused, 0 not
// CHECK-NEXT: :[[@LINE+8]]:1: becomes several kernels, one for each attention: q is computed in the function
// CHECK-NEXT: :[[@LINE+22]]:1: runs unfused, on whole tensors: k is computed in the function
// CHECK-NEXT: :[[@LINE+22]]:{{[0-9]+}}: refused: 'tensor.concat' op has sizes that cannot be checked

!q = tensor<1x2x20x16xf32>
!k = tensor<1x2x40x16xf32>
!s = tensor<1x2x20x20xf32>
!w = tensor<1x2x20x40xf32>
func.func @computed(%q0: !q, %k: !q, %v: !q) -> !q {
  %q = math.tanh %q0 : !q
  %s = tile.dot %q, %k transpose_b : !q, !q -> !s
  %p = tile.softmax %s : !s
  %o = tile.dot %p, %v : !s, !q -> !q
  return %o : !q
}

func.func @kernel(%q: !q, %k: !q, %v: !q) -> !q {
  %s = tile.dot %q, %k transpose_b : !q, !q -> !s
  %p = tile.softmax %s : !s
  %o = tile.dot %p, %v : !s, !q -> !q
  return %o : !q
}

func.func @joined(%q: !q, %k0: !q, %k1: !q) -> !q {
  %k = tensor.concat dim(2) %k0, %k1 : (!q, !q) -> !k
  %s = tile.dot %q, %k transpose_b : !q, !k -> !w
  %p = tile.softmax %s : !w
  %o = tile.dot %p, %k : !w, !k -> !q
  return %o : !q
}
