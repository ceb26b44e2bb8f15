// Numbers of rows and keys are constants, as NumPy's arange makes them: an interval of keys nevertheless. Of numbers that are
// no sequence a table is read, which no kernel has.
// RUN: fa-opt --explain %s | FileCheck %s
// RUN: fa-run %s --entry=sequence --in 2x3x8x32 --in 2x3x8x32 --in 2x3x8x32 --check | FileCheck %s --check-prefix=RAN
// RUN: fa-run %s --entry=squares --in 2x3x8x32 --in 2x3x8x32 --in 2x3x8x32 --check | FileCheck %s --check-prefix=UNFUSED
// RUN: not fa-run %s --entry=sequence --in 2x3x9x32 --in 2x3x8x32 --in 2x3x8x32 2>&1 | FileCheck %s --check-prefix=SIZE
// CHECK: an interval of keys: 0 lower and 1 upper bounds of the row; nothing is evaluated between them
// CHECK: reads from outside: tensor<1x1x1x8xi32>
// CHECK: 2 fused, 0 not
// CHECK: a tensor that the scores read is computed in the function, where a view of an argument is expected
// RAN-NOT: not fused
// RAN: PASS
// UNFUSED: not fused
// UNFUSED: PASS
// SIZE: expected size

!q = tensor<2x3x8x32xf32>
!s = tensor<2x3x8x8xf32>
!b = tensor<2x3x8x8xi1>

func.func @sequence(%q: !q, %k: !q, %v: !q) -> !q {
  %s = tile.dot %q, %k transpose_b : !q, !q -> !s
  %n = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7]> : tensor<8xi32>
  %more = arith.constant dense<[2, 3, 4, 5, 6, 7, 8, 9]> : tensor<8xi32>
  %i = tensor.expand_shape %more [[0, 1, 2, 3]] output_shape [1, 1, 8, 1] : tensor<8xi32> into tensor<1x1x8x1xi32>
  %j = tensor.expand_shape %n [[0, 1, 2, 3]] output_shape [1, 1, 1, 8] : tensor<8xi32> into tensor<1x1x1x8xi32>
  %ib = tile.broadcast %i : tensor<1x1x8x1xi32> -> tensor<2x3x8x8xi32>
  %jb = tile.broadcast %j : tensor<1x1x1x8xi32> -> tensor<2x3x8x8xi32>
  %c = arith.cmpi sle, %jb, %ib : tensor<2x3x8x8xi32>
  %low = arith.constant dense<-2.38197633e38> : !s
  %x = arith.select %c, %s, %low : !b, !s
  %p = tile.softmax %x : !s
  %o = tile.dot %p, %v : !s, !q -> !q
  return %o : !q
}

func.func @squares(%q: !q, %k: !q, %v: !q) -> !q {
  %s = tile.dot %q, %k transpose_b : !q, !q -> !s
  %n = arith.constant dense<[0, 1, 4, 9, 16, 25, 36, 49]> : tensor<8xi32>
  %i = tensor.expand_shape %n [[0, 1, 2, 3]] output_shape [1, 1, 8, 1] : tensor<8xi32> into tensor<1x1x8x1xi32>
  %j = tensor.expand_shape %n [[0, 1, 2, 3]] output_shape [1, 1, 1, 8] : tensor<8xi32> into tensor<1x1x1x8xi32>
  %ib = tile.broadcast %i : tensor<1x1x8x1xi32> -> tensor<2x3x8x8xi32>
  %jb = tile.broadcast %j : tensor<1x1x1x8xi32> -> tensor<2x3x8x8xi32>
  %c = arith.cmpi sle, %jb, %ib : tensor<2x3x8x8xi32>
  %low = arith.constant dense<0xFF800000> : !s
  %x = arith.select %c, %s, %low : !b, !s
  %p = tile.softmax %x : !s
  %o = tile.dot %p, %v : !s, !q -> !q
  return %o : !q
}
