// Rows of nothing but sentinels, as masks of padding make them: each is a score like any other, so that the row
// has the mean of V.
// RUN: fa-run %s --entry=f32 --in 2x2x20x64 --in 2x2x70x64 --in 2x2x70x64 --check --target=cpu | FileCheck %s
// RUN: fa-run %s --entry=f16 --in 2x2x20x64 --in 2x2x70x64 --in 2x2x70x64 --check --target=cpu | FileCheck %s
// RUN: fa-run %s --entry=f32 --in 2x2x20x64 --in 2x2x70x64 --in 2x2x70x64 --check --target=emulator:sm_80 | FileCheck %s
// RUN: fa-run %s --entry=f16 --in 2x2x20x64 --in 2x2x70x64 --in 2x2x70x64 --check --target=emulator:gfx942 | FileCheck %s
// RUN: fa-run %s --entry=decode --in 2x2x1x64 --in 2x2x70x64 --in 2x2x70x64 --check --target=cpu | FileCheck %s
// RUN: fa-run %s --entry=decode --in 2x2x1x64 --in 2x2x70x64 --in 2x2x70x64 --check --target=emulator:sm_80 --splits=3 | FileCheck %s
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

!q1 = tensor<2x2x1x64xf32>
!s1 = tensor<2x2x1x70xf32>
!i1x = tensor<2x2x1x70xindex>

// One row, and no key is before the first.
func.func @decode(%q: !q1, %k: !k, %v: !k) -> !q1 {
  %s = tile.dot %q, %k transpose_b : !q1, !k -> !s1
  %j = tile.iota dim 3 : !i1x
  %zero = arith.constant dense<0> : !i1x
  %before = arith.cmpi slt, %j, %zero : !i1x
  %lowest = arith.constant dense<0xFF7FFFFF> : !s1
  %x = arith.select %before, %s, %lowest : tensor<2x2x1x70xi1>, !s1
  %p = tile.softmax %x : !s1
  %o = tile.dot %p, %v : !s1, !k -> !q1
  return %o : !q1
}
