// One head, [S, D].
// RUN: fa-opt --explain %s | FileCheck %s
// RUN: fa-run %s --in 50x32 --in 70x32 --in 70x32 --check | FileCheck %s --check-prefix=RAN
// CHECK: fused: softmax(Q Kᵀ) V is one attention
// RAN-NOT: not fused
// RAN: PASS

func.func @f(%q: tensor<?x32xf32>, %k: tensor<?x32xf32>, %v: tensor<?x32xf32>) -> tensor<?x32xf32> {
  %s = tile.dot %q, %k transpose_b : tensor<?x32xf32>, tensor<?x32xf32> -> tensor<?x?xf32>
  %p = tile.softmax %s : tensor<?x?xf32>
  %o = tile.dot %p, %v : tensor<?x?xf32>, tensor<?x32xf32> -> tensor<?x32xf32>
  return %o : tensor<?x32xf32>
}
