// What looks like a softmax, a broadcast or a reduction and is none: it runs as
// it is written.
// RUN: fa-run %s --entry=other_axis --in 1x2x16x16 --in 1x2x16x16 --in 1x2x16x16 --check | FileCheck %s
// RUN: fa-run %s --entry=sum_of_columns --in 1x2x16x16 --in 1x2x16x16 --in 1x2x16x16 --check | FileCheck %s
// RUN: fa-run %s --entry=divided_along_columns --in 1x2x16x16 --in 1x2x16x16 --in 1x2x16x16 --check | FileCheck %s
// RUN: fa-run %s --entry=other_shift --in 1x2x16x16 --in 1x2x16x16 --check | FileCheck %s
// RUN: fa-run %s --entry=first_column --in 8x6 --in 8x6 --check | FileCheck %s
// RUN: fa-run %s --entry=compound --in 8x6 --check | FileCheck %s
// RUN: fa-run %s --entry=outer --in 8x6 --in 6 --check | FileCheck %s
// CHECK: {{no attention found|not fused: one program on whole tensors}}
// CHECK: PASS
// CHECK-NOT: FAIL

!t = tensor<1x2x16x16xf32>
!r = tensor<1x2x16xf32>
!row = tensor<1x2x1x16xf32>
!col = tensor<1x2x16x1xf32>

// The maximum of row i is subtracted from column i.
func.func @other_axis(%q: !t, %k: !t, %v: !t) -> !t {
  %s = tile.dot %q, %k transpose_b : !t, !t -> !t
  %m = tile.reduce max %s dim 3 : !t -> !r
  %m1 = tile.expand_dims %m dim 2 : !r -> !row
  %mb = tile.broadcast %m1 : !row -> !t
  %x = arith.subf %s, %mb : !t
  %e = math.exp %x : !t
  %l = tile.reduce add %e dim 3 : !t -> !r
  %l1 = tile.expand_dims %l dim 3 : !r -> !col
  %lb = tile.broadcast %l1 : !col -> !t
  %p = arith.divf %e, %lb : !t
  %o = tile.dot %p, %v : !t, !t -> !t
  return %o : !t
}

// The sum of row i divides column i.
func.func @sum_of_columns(%q: !t, %k: !t, %v: !t) -> !t {
  %s = tile.dot %q, %k transpose_b : !t, !t -> !t
  %m = tile.reduce max %s dim 3 : !t -> !r
  %m1 = tile.expand_dims %m dim 3 : !r -> !col
  %mb = tile.broadcast %m1 : !col -> !t
  %x = arith.subf %s, %mb : !t
  %e = math.exp %x : !t
  %l = tile.reduce add %e dim 3 : !t -> !r
  %l1 = tile.expand_dims %l dim 2 : !r -> !row
  %lb = tile.broadcast %l1 : !row -> !t
  %p = arith.divf %e, %lb : !t
  %o = tile.dot %p, %v : !t, !t -> !t
  return %o : !t
}

// The same after the dot with V.
func.func @divided_along_columns(%q: !t, %k: !t, %v: !t) -> !t {
  %s = tile.dot %q, %k transpose_b : !t, !t -> !t
  %m = tile.reduce max %s dim 3 : !t -> !r
  %m1 = tile.expand_dims %m dim 3 : !r -> !col
  %mb = tile.broadcast %m1 : !col -> !t
  %x = arith.subf %s, %mb : !t
  %e = math.exp %x : !t
  %l = tile.reduce add %e dim 3 : !t -> !r
  %u = tile.dot %e, %v : !t, !t -> !t
  %l1 = tile.expand_dims %l dim 2 : !r -> !row
  %lb = tile.broadcast %l1 : !row -> !t
  %o = arith.divf %u, %lb : !t
  return %o : !t
}

// What is subtracted is not what is added to the logarithm.
func.func @other_shift(%q: !t, %k: !t) -> !r {
  %s = tile.dot %q, %k transpose_b : !t, !t -> !t
  %m = tile.reduce max %s dim 3 : !t -> !r
  %one = arith.constant dense<1.0> : !r
  %zero = arith.constant dense<0.0> : !r
  %big = arith.cmpf ogt, %m, %one : !r
  %g = arith.select %big, %zero, %m : tensor<1x2x16xi1>, !r
  %m1 = tile.expand_dims %g dim 3 : !r -> !col
  %mb = tile.broadcast %m1 : !col -> !t
  %x = arith.subf %s, %mb : !t
  %e = math.exp %x : !t
  %l = tile.reduce add %e dim 3 : !t -> !r
  %log = math.log %l : !r
  %lse = arith.addf %log, %m : !r
  return %lse : !r
}

// A dimension that is read at 0 and is not of size 1.
#id = affine_map<(i, j) -> (i, j)>
func.func @first_column(%x: tensor<8x6xf32>, %y: tensor<8x6xf32>) -> tensor<8x6xf32> {
  %e = tensor.empty() : tensor<8x6xf32>
  %r = linalg.generic {indexing_maps = [#id, affine_map<(i, j) -> (i, 0)>, #id], iterator_types = ["parallel", "parallel"]} ins(%x, %y : tensor<8x6xf32>, tensor<8x6xf32>) outs(%e : tensor<8x6xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %c = arith.addf %a, %b : f32
    linalg.yield %c : f32
  } -> tensor<8x6xf32>
  return %r : tensor<8x6xf32>
}

// A sum whose terms contain what was summed before.
func.func @compound(%x: tensor<8x6xf32>) -> tensor<8xf32> {
  %one = arith.constant dense<1.0> : tensor<8xf32>
  %r = linalg.generic {indexing_maps = [#id, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<8x6xf32>) outs(%one : tensor<8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %m = arith.mulf %a, %o : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// A dimension of the result that no operand of the product has.
func.func @outer(%x: tensor<8x6xf32>, %y: tensor<6xf32>) -> tensor<8x4xf32> {
  %zero = arith.constant dense<0.0> : tensor<8x4xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, n, k) -> (i, k)>, affine_map<(i, n, k) -> (k)>, affine_map<(i, n, k) -> (i, n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %y : tensor<8x6xf32>, tensor<6xf32>) outs(%zero : tensor<8x4xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<8x4xf32>
  return %r : tensor<8x4xf32>
}
