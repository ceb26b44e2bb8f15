// Rows of nothing but sentinels, as masks of padding make them: each is a score like any other, so that the row
// has the mean of V.
// RUN: fa-run %s --entry=f32 --in 2x2x20x64 --in 2x2x70x64 --in 2x2x70x64 --check --target=cpu | FileCheck %s
// RUN: fa-run %s --entry=f16 --in 2x2x20x64 --in 2x2x70x64 --in 2x2x70x64 --check --target=cpu | FileCheck %s
// RUN: fa-run %s --entry=f32 --in 2x2x20x64 --in 2x2x70x64 --in 2x2x70x64 --check --target=emulator:sm_80 | FileCheck %s
// RUN: fa-run %s --entry=f16 --in 2x2x20x64 --in 2x2x70x64 --in 2x2x70x64 --check --target=emulator:gfx942 | FileCheck %s
// CHECK: PASS

!q = tensor<2x2x20x64xf32>
!k = tensor<2x2x70x64xf32>
!s = tensor<2x2x20x70xf32>
!i = tensor<2x2x20x70xindex>
!b = tensor<2x2x20x70xi1>

// Rows below 5 have the lowest float, rows below 10 another sentinel.
func.func @f32(%q: !q, %k: !k, %v: !k) -> !q {
  %s = tile.dot %q, %k transpose_b : !q, !k -> !s
  %i = tile.iota dim 2 : !i
  %five = arith.constant dense<5> : !i
  %ten = arith.constant dense<10> : !i
  %lowest = arith.constant dense<0xFF7FFFFF> : !s
  %low = arith.constant dense<-3.14159e30> : !s
  %below10 = arith.cmpi slt, %i, %ten : !i
  %below5 = arith.cmpi slt, %i, %five : !i
  %x = arith.select %below10, %low, %s : !b, !s
  %y = arith.select %below5, %lowest, %x : !b, !s
  %p = tile.softmax %y : !s
  %o = tile.dot %p, %v : !s, !k -> !q
  return %o : !q
}

!qh = tensor<2x2x20x64xf16>
!kh = tensor<2x2x70x64xf16>
!sh = tensor<2x2x20x70xf16>

func.func @f16(%q: !qh, %k: !kh, %v: !kh) -> !qh {
  %s = tile.dot %q, %k transpose_b : !qh, !kh -> !s
  %i = tile.iota dim 2 : !i
  %five = arith.constant dense<5> : !i
  %ten = arith.constant dense<10> : !i
  %lowest = arith.constant dense<0xFF7FFFFF> : !s
  %low = arith.constant dense<-3.14159e30> : !s
  %below10 = arith.cmpi slt, %i, %ten : !i
  %below5 = arith.cmpi slt, %i, %five : !i
  %x = arith.select %below10, %low, %s : !b, !s
  %y = arith.select %below5, %lowest, %x : !b, !s
  %p = tile.softmax %y : !s
  %pt = arith.truncf %p : !s to !sh
  %o = tile.dot %pt, %v : !sh, !kh -> !q
  %ot = arith.truncf %o : !q to !qh
  return %ot : !qh
}
