// What is refused still runs and is right, and the report says what it is.
// RUN: fa-opt --explain %s | FileCheck %s
// RUN: fa-run %s --entry=kept_probabilities --in 2x3x20x16 --in 2x3x30x16 --in 2x3x30x16 --check | FileCheck %s --check-prefix=RAN
// RUN: fa-run %s --entry=other_dimension --in 1x2x20x16 --in 1x2x20x16 --in 1x2x20x16 --check | FileCheck %s --check-prefix=RAN
// RUN: fa-run %s --entry=shared_by_batches --in 4x4x16x16 --in 2x4x16x16 --in 2x4x16x16 --check | FileCheck %s --check-prefix=RAN
// RUN: fa-run %s --entry=sink_of_rows --in 2x4x16x16 --in 2x4x16x16 --in 2x4x16x16 --in 2x4x16 --check | FileCheck %s --check-prefix=RAN
// RUN: fa-run %s --entry=scores_read --in 1x2x20x16 --in 1x2x20x16 --in 1x2x20x16 --check | FileCheck %s --check-prefix=RAN
// RUN: fa-run %s --entry=no_dot --in 1x2x20x20 --in 1x2x20x16 --check | FileCheck %s --check-prefix=RAN
// RUN: fa-run %s --entry=heads_as_rows --in 2x4x24x16 --in 2x4x40x16 --in 2x24x40x16 --check | FileCheck %s --check-prefix=RAN
// RUN: fa-run %s --entry=dot_between --in 1x2x16x16 --in 1x2x16x16 --in 1x2x16x16 --check | FileCheck %s --check-prefix=RAN
// RUN: fa-run %s --entry=wide_probabilities --in 1x2x20x16 --in 1x2x20x16 --in 1x2x20x16 --check | FileCheck %s --check-prefix=RAN
// RUN: fa-run %s --entry=projected --in 20x16 --in 16x16 --in 20x16 --check | FileCheck %s --check-prefix=RAN
// RUN: fa-run %s --entry=linalg_left --in 20x16 --check | FileCheck %s --check-prefix=RAN
// RUN: not fa-run %s --entry=projected --in 20x16 --in 15x16 --in 20x16 2>&1 | FileCheck %s --check-prefix=SIZES
// RAN: {{no attention found|not fused: one program on whole tensors}}
// RAN: PASS
// SIZES: expected size

!q = tensor<?x?x?x16xf32>
!s = tensor<?x?x?x?xf32>

// CHECK: not fused: the probabilities are read by more than one operation
func.func @kept_probabilities(%q: !q, %k: !q, %v: !q) -> (!q, !s) {
  %s = tile.dot %q, %k transpose_b : !q, !q -> !s
  %p = tile.softmax %s : !s
  %o = tile.dot %p, %v : !s, !q -> !q
  return %o, %p : !q, !s
}

// CHECK: not fused: the softmax is not over the last dimension
func.func @other_dimension(%q: !q, %k: !q, %v: !q) -> !q {
  %s = tile.dot %q, %k transpose_b : !q, !q -> !s
  %p = tile.softmax %s dim 2 : !s
  %o = tile.dot %p, %v : !s, !q -> !q
  return %o : !q
}

// CHECK: not fused: K is shared along dimension 0, which is not the heads'
func.func @shared_by_batches(%q: tensor<4x4x16x16xf32>, %k: tensor<2x4x16x16xf32>, %v: tensor<2x4x16x16xf32>) -> tensor<4x4x16x16xf32> {
  %s = tile.dot %q, %k transpose_b : tensor<4x4x16x16xf32>, tensor<2x4x16x16xf32> -> tensor<4x4x16x16xf32>
  %p = tile.softmax %s : tensor<4x4x16x16xf32>
  %o = tile.dot %p, %v : tensor<4x4x16x16xf32>, tensor<2x4x16x16xf32> -> tensor<4x4x16x16xf32>
  return %o : tensor<4x4x16x16xf32>
}

// CHECK: not fused: the sink is not one number for each head
func.func @sink_of_rows(%q: tensor<2x4x16x16xf32>, %k: tensor<2x4x16x16xf32>, %v: tensor<2x4x16x16xf32>, %x: tensor<2x4x16xf32>) -> tensor<2x4x16x16xf32> {
  %s = tile.dot %q, %k transpose_b : tensor<2x4x16x16xf32>, tensor<2x4x16x16xf32> -> tensor<2x4x16x16xf32>
  %p = tile.softmax %s sink %x : tensor<2x4x16x16xf32>, tensor<2x4x16xf32>
  %o = tile.dot %p, %v : tensor<2x4x16x16xf32>, tensor<2x4x16x16xf32> -> tensor<2x4x16x16xf32>
  return %o : tensor<2x4x16x16xf32>
}

// CHECK: not fused: the scores are read by another operation than the softmax
func.func @scores_read(%q: !q, %k: !q, %v: !q) -> (!q, !s) {
  %s = tile.dot %q, %k transpose_b : !q, !q -> !s
  %p = tile.softmax %s : !s
  %t = math.tanh %s : !s
  %o = tile.dot %p, %v : !s, !q -> !q
  return %o, %t : !q, !s
}

// CHECK: not fused: the scores do not come from a tile.dot through elementwise operations
func.func @no_dot(%s: !s, %v: !q) -> !q {
  %p = tile.softmax %s : !s
  %o = tile.dot %p, %v : !s, !q -> !q
  return %o : !q
}

// Rows of one product would have keys of their own: K is not shared along what becomes the rows.
// CHECK: not fused: 'tile.transpose' between the dot and the softmax is not what the dot gives of other views of its operands
func.func @heads_as_rows(%q: tensor<2x4x24x16xf32>, %k: tensor<2x4x40x16xf32>, %v: tensor<2x24x40x16xf32>) -> tensor<2x24x4x16xf32> {
  %s = tile.dot %q, %k transpose_b : tensor<2x4x24x16xf32>, tensor<2x4x40x16xf32> -> tensor<2x4x24x40xf32>
  %t = tile.transpose %s [0, 2, 1, 3] : tensor<2x4x24x40xf32> -> tensor<2x24x4x40xf32>
  %p = tile.softmax %t : tensor<2x24x4x40xf32>
  %o = tile.dot %p, %v : tensor<2x24x4x40xf32>, tensor<2x24x40x16xf32> -> tensor<2x24x4x16xf32>
  return %o : tensor<2x24x4x16xf32>
}

// CHECK: not fused: 'tile.dot' between the dot and the softmax is not elementwise
func.func @dot_between(%q: !q, %k: !q, %v: !q) -> !q {
  %s = tile.dot %q, %k transpose_b : !q, !q -> !s
  %t = tile.transpose %s [0, 1, 3, 2] : !s -> !s
  %u = arith.addf %s, %t : !s
  %p = tile.softmax %u : !s
  %o = tile.dot %p, %v : !s, !q -> !q
  return %o : !q
}

// CHECK: not fused: the probabilities and V have different element types
func.func @wide_probabilities(%q: tensor<?x?x?x16xf16>, %k: tensor<?x?x?x16xf16>, %v: tensor<?x?x?x16xf16>) -> !q {
  %s = tile.dot %q, %k transpose_b : tensor<?x?x?x16xf16>, tensor<?x?x?x16xf16> -> !s
  %p = tile.softmax %s : !s
  %o = tile.dot %p, %v : !s, tensor<?x?x?x16xf16> -> !q
  return %o : !q
}

// Q is computed in the function, with a head dimension that is known at launch alone.
// CHECK: fused: softmax(Q Kᵀ) V is one attention
func.func @projected(%x: tensor<?x16xf16>, %w: tensor<?x16xf16>, %kv: tensor<?x16xf16>) -> tensor<?x16xf32> {
  %q0 = tile.dot %x, %w transpose_b : tensor<?x16xf16>, tensor<?x16xf16> -> tensor<?x?xf32>
  %q = arith.truncf %q0 : tensor<?x?xf32> to tensor<?x?xf16>
  %s = tile.dot %q, %kv transpose_b : tensor<?x?xf16>, tensor<?x16xf16> -> tensor<?x?xf32>
  %p = tile.softmax %s : tensor<?x?xf32>
  %pt = arith.truncf %p : tensor<?x?xf32> to tensor<?x?xf16>
  %o = tile.dot %pt, %kv : tensor<?x?xf16>, tensor<?x16xf16> -> tensor<?x16xf32>
  return %o : tensor<?x16xf32>
}

// A body that is not elementwise stays in linalg.
#id = affine_map<(i, j) -> (i, j)>
func.func @linalg_left(%x: tensor<20x16xf32>) -> tensor<20x16xf32> {
  %e = tensor.empty() : tensor<20x16xf32>
  %zero = arith.constant 0.0 : f32
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<20x16xf32>) -> tensor<20x16xf32>
  %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<20x16xf32>) outs(%z : tensor<20x16xf32>) {
  ^bb0(%a: f32, %o: f32):
    %i = linalg.index 1 : index
    %f = arith.index_cast %i : index to i32
    %g = arith.sitofp %f : i32 to f32
    %b = arith.mulf %a, %g : f32
    %c = arith.addf %b, %o : f32
    linalg.yield %c : f32
  } -> tensor<20x16xf32>
  return %y : tensor<20x16xf32>
}

// CHECK: 1 fused, 9 not
