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
