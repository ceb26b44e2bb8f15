// What a slice leaves of a dimension has a size that no rule compares with
// another one's, and a size that a launch gives is not compared with anything.
// RUN: rm -rf %t && split-file %s %t
// RUN: not fa-run %t/beside_dynamic.mlir --in 1x1x9x16 --in 1x1x90x16 --in 1x1x70x16 --check 2>&1 | FileCheck %s --check-prefix=BESIDE
// BESIDE: a slice of an argument is used with a tensor whose size is known at launch only
// RUN: not fa-run %t/some_of_dynamic.mlir --in 1x1x9x16 --in 1x1x90x16 --in 90 --check 2>&1 | FileCheck %s --check-prefix=SOME
// SOME: k is computed in the function, where a view of an argument is expected
// SOME: 'tensor.extract_slice' op has sizes that cannot be checked
// With constant sizes the same runs.
// RUN: fa-run %t/constant.mlir --in 1x1x9x16 --in 1x1x90x16 --in 1x1x80x16 --check | FileCheck %s --check-prefix=RAN
// RAN-NOT: not fused
// RAN: PASS

//--- beside_dynamic.mlir
!b = tensor<1x1x?x16xf32>
!b90 = tensor<1x1x90x16xf32>
func.func @beside_dynamic(%q: !b, %k0: !b90, %v: !b) -> !b {
  %k1 = tensor.extract_slice %k0[0, 0, 0, 0] [1, 1, 80, 16] [1, 1, 1, 1] : !b90 to tensor<1x1x80x16xf32>
  %s = tile.dot %q, %k1 transpose_b : !b, tensor<1x1x80x16xf32> -> tensor<1x1x?x80xf32>
  %p = tile.softmax %s : tensor<1x1x?x80xf32>
  %o = tile.dot %p, %v : tensor<1x1x?x80xf32>, !b -> !b
  return %o : !b
}

//--- some_of_dynamic.mlir
!b = tensor<1x1x?x16xf32>
!bs = tensor<1x1x?x?xf32>
func.func @some_of_dynamic(%q: !b, %k0: !b, %n: index) -> !b {
  %k = tensor.extract_slice %k0[0, 0, 0, 0] [1, 1, %n, 16] [1, 1, 1, 1] : !b to !b
  %s = tile.dot %q, %k transpose_b : !b, !b -> !bs
  %p = tile.softmax %s : !bs
  %o = tile.dot %p, %k : !bs, !b -> !b
  return %o : !b
}

//--- constant.mlir
!b = tensor<1x1x?x16xf32>
!k = tensor<1x1x80x16xf32>
!s = tensor<1x1x?x80xf32>
func.func @constant(%q: !b, %k0: tensor<1x1x90x16xf32>, %v: !k) -> !b {
  %k = tensor.extract_slice %k0[0, 0, 7, 0] [1, 1, 80, 16] [1, 1, 1, 1] : tensor<1x1x90x16xf32> to !k
  %s = tile.dot %q, %k transpose_b : !b, !k -> !s
  %p = tile.softmax %s : !s
  %o = tile.dot %p, %v : !s, !k -> !b
  return %o : !b
}
