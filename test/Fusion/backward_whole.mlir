// When programs own a KV head with all of its queries: where gradients of q, k
// and v are wanted together, and keys that one head sees are read for all.
// RUN: fa-opt %s "--tile-to-kernel=machine=cpu-256x16 variants=false" -split-input-file | FileCheck %s
// RUN: fa-opt %s "--tile-to-kernel=machine=sm_80 variants=false" -split-input-file | not grep _whole

!t = tensor<?x?x?x64xf16>
!l = tensor<?x?x?xf32>
// Lengths of a batch, behind which K and V may be anything.
// CHECK: tile.kernel @lengths_whole_dqkv(
// CHECK: tile.kernel @lengths_delta(
func.func @lengths(%q: !t, %k: !t, %v: !t, %n: tensor<?xi32>, %o: !t, %lse: !l, %do: !t, %c: f32) -> (!t, !t, !t) {
  %dq, %dk, %dv = tile.attention_backward %q, %k, %v, %o, %lse, %do scale %c captures(%n : tensor<?xi32>)
      : !t, !t, !t, !t, !l, !t dq !t dk !t dv !t
  score {}
  mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %lengths: tensor<?xi32>):
    %length = tensor.extract %lengths[%b] : tensor<?xi32>
    %end = arith.index_cast %length : i32 to index
    %m = arith.cmpi slt, %j, %end : index
    tile.yield %m : i1
  }
  derivative {}
  return %dq, %dk, %dv : !t, !t, !t
}

// -----

!t = tensor<?x?x?x64xf16>
!l = tensor<?x?x?xf32>
// Lengths of a head: of those behind the shortest one, NaN in K would be in dQ.
// CHECK-NOT: _whole
// CHECK: tile.kernel @heads_delta(
func.func @heads(%q: !t, %k: !t, %v: !t, %n: tensor<?xi32>, %o: !t, %lse: !l, %do: !t, %c: f32) -> (!t, !t, !t) {
  %dq, %dk, %dv = tile.attention_backward %q, %k, %v, %o, %lse, %do scale %c captures(%n : tensor<?xi32>)
      : !t, !t, !t, !t, !l, !t dq !t dk !t dv !t
  score {}
  mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %lengths: tensor<?xi32>):
    %length = tensor.extract %lengths[%h] : tensor<?xi32>
    %end = arith.index_cast %length : i32 to index
    %m = arith.cmpi slt, %j, %end : index
    tile.yield %m : i1
  }
  derivative {}
  return %dq, %dk, %dv : !t, !t, !t
}

// -----

!t = tensor<?x?x?x64xf16>
!l = tensor<?x?x?xf32>
// CHECK-NOT: _whole
// CHECK: tile.kernel @two_delta(
func.func @two(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !l, %do: !t, %c: f32) -> (!t, !t) {
  %dk, %dv = tile.attention_backward %q, %k, %v, %o, %lse, %do scale %c
      : !t, !t, !t, !t, !l, !t dk !t dv !t
  score {}
  mask {}
  derivative {}
  return %dk, %dv : !t, !t
}
