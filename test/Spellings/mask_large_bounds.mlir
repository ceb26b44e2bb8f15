// Bounds that no sequence reaches: the largest number stands for "no bound", and a number that 1 or i added to it
// would wrap is evaluated for each element.
// RUN: fa-run %s --entry=below_largest --in 1x2x20x64 --in 1x2x30x64 --in 1x2x30x64 --check | FileCheck %s
// RUN: fa-run %s --entry=above_smallest --in 1x2x20x64 --in 1x2x30x64 --in 1x2x30x64 --check | FileCheck %s
// RUN: fa-run %s --entry=wide_window --in 1x2x20x64 --in 1x2x30x64 --in 1x2x30x64 --check | FileCheck %s
// RUN: fa-run %s --entry=below_largest --in 1x2x20x64 --in 1x2x30x64 --in 1x2x30x64 --check --target=emulator:sm_80 | FileCheck %s
// CHECK: PASS

!q = tensor<1x2x20x64xf32>
!k = tensor<1x2x30x64xf32>
!s = tensor<1x2x20x30xf32>
!i = tensor<1x2x20x30xindex>

func.func @below_largest(%q: !q, %k: !k, %v: !k) -> !q {
  %s = tile.dot %q, %k transpose_b : !q, !k -> !s
  %j = tile.iota dim 3 : !i
  %bound = arith.constant dense<9223372036854775807> : !i
  %c = arith.cmpi sle, %j, %bound : !i
  %ninf = arith.constant dense<0xFF800000> : !s
  %x = arith.select %c, %s, %ninf : tensor<1x2x20x30xi1>, !s
  %p = tile.softmax %x : !s
  %o = tile.dot %p, %v : !s, !k -> !q
  return %o : !q
}

func.func @above_smallest(%q: !q, %k: !k, %v: !k) -> !q {
  %s = tile.dot %q, %k transpose_b : !q, !k -> !s
  %j = tile.iota dim 3 : !i
  %bound = arith.constant dense<-9223372036854775808> : !i
  %c = arith.cmpi sgt, %j, %bound : !i
  %ninf = arith.constant dense<0xFF800000> : !s
  %x = arith.select %c, %s, %ninf : tensor<1x2x20x30xi1>, !s
  %p = tile.softmax %x : !s
  %o = tile.dot %p, %v : !s, !k -> !q
  return %o : !q
}

// j - (2^63 - 40) <= i, where no element wraps but the bound would.
func.func @wide_window(%q: !q, %k: !k, %v: !k) -> !q {
  %s = tile.dot %q, %k transpose_b : !q, !k -> !s
  %i = tile.iota dim 2 : !i
  %j = tile.iota dim 3 : !i
  %wide = arith.constant dense<9223372036854775768> : !i
  %far = arith.subi %j, %wide : !i
  %c = arith.cmpi sle, %far, %i : !i
  %ninf = arith.constant dense<0xFF800000> : !s
  %x = arith.select %c, %s, %ninf : tensor<1x2x20x30xi1>, !s
  %p = tile.softmax %x : !s
  %o = tile.dot %p, %v : !s, !k -> !q
  return %o : !q
}
