// Gradients of tensors that have no kernel.
// RUN: fa-opt %s --tile-to-kernel -split-input-file --verify-diagnostics

!t = tensor<?x?x?x64xf16>
!l = tensor<?x?x?xf32>
// expected-error @below {{gradients of an attention do not run unfused: the tensor whose gradient is wanted is read at a computed place in one dimension and beside it at another one, or at queries or keys, where batches and heads are expected}}
func.func @two_places(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !l, %do: !t, %c: f32, %table: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %dt = tile.attention_backward %q, %k, %v, %o, %lse, %do scale %c captures(%table : tensor<?x?xf32>)
      : !t, !t, !t, !t, !l, !t dcaptures [0] (tensor<?x?xf32>)
  score {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %x: tensor<?x?xf32>):
    %d = arith.subi %i, %j : index
    %e2 = arith.subi %j, %i : index
    %e = tensor.extract %x[%d, %e2] : tensor<?x?xf32>
    %m = arith.addf %s, %e : f32
    tile.yield %m : f32
  }
  mask {} derivative {}
  effects {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %x: tensor<?x?xf32>):
    %one = arith.constant 1.0 : f32
    tile.yield %one : f32
  }
  return %dt : tensor<?x?xf32>
}
// -----
!t = tensor<?x?x?x64xf16>
!l = tensor<?x?x?xf32>
// expected-error @below {{gradients of an attention do not run unfused: the tensor whose gradient is wanted is read at a computed place in one dimension and beside it at another one, or at queries or keys, where batches and heads are expected}}
func.func @beside_query(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !l, %do: !t, %c: f32, %table: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %dt = tile.attention_backward %q, %k, %v, %o, %lse, %do scale %c captures(%table : tensor<?x?xf32>)
      : !t, !t, !t, !t, !l, !t dcaptures [0] (tensor<?x?xf32>)
  score {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %x: tensor<?x?xf32>):
    %d = arith.subi %i, %j : index
    %e = tensor.extract %x[%i, %d] : tensor<?x?xf32>
    %m = arith.addf %s, %e : f32
    tile.yield %m : f32
  }
  mask {} derivative {}
  effects {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %x: tensor<?x?xf32>):
    %one = arith.constant 1.0 : f32
    tile.yield %one : f32
  }
  return %dt : tensor<?x?xf32>
}
// -----
!t = tensor<?x?x?x64xf16>
!l = tensor<?x?x?xf32>
// expected-error @below {{gradients of an attention do not run unfused: the tensor whose gradient is wanted is read at a place that is computed from the score}}
func.func @from_score(%q: !t, %k: !t, %v: !t, %o: !t, %lse: !l, %do: !t, %c: f32, %table: tensor<?xf32>) -> tensor<?xf32> {
  %dt = tile.attention_backward %q, %k, %v, %o, %lse, %do scale %c captures(%table : tensor<?xf32>)
      : !t, !t, !t, !t, !l, !t dcaptures [0] (tensor<?xf32>)
  score {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %x: tensor<?xf32>):
    %n = arith.fptosi %s : f32 to i32
    %p = arith.index_cast %n : i32 to index
    %e = tensor.extract %x[%p] : tensor<?xf32>
    %m = arith.addf %s, %e : f32
    tile.yield %m : f32
  }
  mask {} derivative {}
  effects {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %x: tensor<?xf32>):
    %one = arith.constant 1.0 : f32
    tile.yield %one : f32
  }
  return %dt : tensor<?xf32>
}
// -----
!rows = tensor<8x?x64xf16>
!t = tensor<?x8x?x64xf16>
!l = tensor<?x8x?xf32>
// Packed sequences: what belongs together by other offsets, or not packed.
// expected-error @below {{gradients of an attention do not run unfused: the output, the log-sum-exp or a gradient is not packed as the queries are}}
func.func @other_offsets(%q: !rows, %k: !t, %v: !t, %o: !rows, %lse: !l, %do: !t, %c: f32, %x: tensor<?xi32>, %y: tensor<?xi32>) -> !rows {
  %qs = tile.ragged %q by %x : !rows, tensor<?xi32> -> !t
  %os = tile.ragged %o by %y : !rows, tensor<?xi32> -> !t
  %dq = tile.attention_backward %qs, %k, %v, %os, %lse, %do scale %c
      : !t, !t, !t, !t, !l, !t dq !t
  score {} mask {} derivative {}
  %r = tile.pack %dq by %x : !t, tensor<?xi32> -> !rows
  return %r : !rows
}
// -----
!rows = tensor<8x?x64xf16>
!t = tensor<?x8x?x64xf16>
!l = tensor<?x8x?xf32>
// expected-error @below {{gradients of an attention do not run unfused: the values or a gradient are not packed as the keys are}}
func.func @padded_gradient(%q: !t, %k: !rows, %v: !rows, %o: !t, %lse: !l, %do: !t, %c: f32, %x: tensor<?xi32>) -> !t {
  %ks = tile.ragged %k by %x : !rows, tensor<?xi32> -> !t
  %vs = tile.ragged %v by %x : !rows, tensor<?xi32> -> !t
  %dk = tile.attention_backward %q, %ks, %vs, %o, %lse, %do scale %c
      : !t, !t, !t, !t, !l, !t dk !t
  score {} mask {} derivative {}
  return %dk : !t
}
// -----
!rows = tensor<8x?x64xf16>
!t = tensor<?x8x?x64xf16>
!l = tensor<?x8x?xf32>
// What scores read beside packed keys.
// expected-error @below {{gradients of an attention do not run unfused: a tensor whose gradient is wanted is read at sequences, queries, keys or a computed place of packed sequences, where heads alone are expected}}
func.func @along_keys(%q: !t, %k: !rows, %v: !rows, %o: !t, %lse: !l, %do: !t, %c: f32, %x: tensor<?xi32>, %table: tensor<?xf32>) -> tensor<?xf32> {
  %ks = tile.ragged %k by %x : !rows, tensor<?xi32> -> !t
  %vs = tile.ragged %v by %x : !rows, tensor<?xi32> -> !t
  %ds = tile.attention_backward %q, %ks, %vs, %o, %lse, %do scale %c captures(%table : tensor<?xf32>)
      : !t, !t, !t, !t, !l, !t dcaptures [0] (tensor<?xf32>)
  score {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %z: tensor<?xf32>):
    %e = tensor.extract %z[%j] : tensor<?xf32>
    %m = arith.addf %s, %e : f32
    tile.yield %m : f32
  }
  mask {} derivative {}
  effects {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %z: tensor<?xf32>):
    %one = arith.constant 1.0 : f32
    tile.yield %one : f32
  }
  return %ds : tensor<?xf32>
}
