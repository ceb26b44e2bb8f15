// K and V are shared along the first dimension: its heads go behind those that K has. Where these are to be one dimension
// with it, which they are not in memory, a kernel puts them behind each other first.
// RUN: fa-opt --explain %s | FileCheck %s
// RUN: fa-run %s --entry=group_first --in 2x2x3x50x32 --in 1x2x3x70x32 --in 1x2x3x70x32 --in 2x2x3x50x70 --check | FileCheck %s --check-prefix=COPIED
// RUN: fa-run %s --entry=batch_shared --in 2x3x50x32 --in 1x3x70x32 --in 1x3x70x32 --check | FileCheck %s --check-prefix=RAN
// RUN: not fa-run %s --entry=batch_shared --in 2x3x50x32 --in 2x3x70x32 --in 1x3x70x32 2>&1 | FileCheck %s --check-prefix=SIZE
// RAN-NOT: not fused
// RAN: PASS
// COPIED: kernel   @group_first_rest, grid
// COPIED: kernel   @group_first_attention, grid {{.*}}, after the one above
// COPIED: PASS
// COPIED: PASS
// SIZE: expected size

!q = tensor<2x2x3x50x32xf32>
!k = tensor<1x2x3x70x32xf32>
!s = tensor<2x2x3x50x70xf32>

// CHECK: fused: softmax(Q Kᵀ) V is one attention
// CHECK-NEXT: Q tensor<2x6x50x32xf32>, K tensor<2x3x70x32xf32>
func.func @group_first(%q: !q, %k: !k, %v: !k, %bias: !s) -> (!q, tensor<2x2x3x50xf32>) {
  %s = tile.dot %q, %k transpose_b : !q, !k -> !s
  %t = arith.addf %s, %bias : !s
  %p = tile.softmax %t : !s
  %l = tile.log_sum_exp %t : !s -> tensor<2x2x3x50xf32>
  %o = tile.dot %p, %v : !s, !k -> !q
  return %o, %l : !q, tensor<2x2x3x50xf32>
}

!q4 = tensor<2x3x50x32xf32>
!k4 = tensor<1x3x70x32xf32>

// CHECK: fused: softmax(Q Kᵀ) V is one attention
// CHECK-NEXT: Q tensor<3x2x50x32xf32>, K tensor<3x1x70x32xf32>
func.func @batch_shared(%q: !q4, %k: !k4, %v: !k4) -> !q4 {
  %s = tile.dot %q, %k transpose_b : !q4, !k4 -> tensor<2x3x50x70xf32>
  %p = tile.softmax %s : tensor<2x3x50x70xf32>
  %o = tile.dot %p, %v : tensor<2x3x50x70xf32>, !k4 -> !q4
  return %o : !q4
}
