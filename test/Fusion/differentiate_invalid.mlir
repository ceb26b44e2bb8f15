// What is not differentiated is an error at its place.
// RUN: fa-opt %s --split-input-file --verify-diagnostics --tile-differentiate

// expected-error @below {{expected 'tile.vjp_wrt' to list numbers below 2 of arguments of floating point, each once, found 2}}
func.func @number(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> attributes {tile.vjp_wrt = array<i64: 0, 2>} {
  return %x : tensor<8xf32>
}
// -----
// expected-error @below {{expected 'tile.vjp_wrt' to list numbers below 2 of arguments of floating point, each once, found 1}}
func.func @twice(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> attributes {tile.vjp_wrt = array<i64: 1, 1>} {
  return %x : tensor<8xf32>
}
// -----
// expected-error @below {{expected 'tile.vjp_of' to list numbers below 1 of results of floating point, each once, found 0}}
func.func @integers(%x: tensor<8xf32>, %y: tensor<8xi32>) -> tensor<8xi32> attributes {tile.vjp_wrt = array<i64: 0>, tile.vjp_of = array<i64: 0>} {
  return %y : tensor<8xi32>
}
// -----
// expected-error @below {{expected a function of one block to differentiate, found a declaration}}
func.func private @declared(tensor<8xf32>) -> tensor<8xf32> attributes {tile.vjp_wrt = array<i64: 0>}
// -----
// expected-error @below {{expected a function of one block to differentiate, found several}}
func.func @blocks(%x: tensor<8xf32>) -> tensor<8xf32> attributes {tile.vjp_wrt = array<i64: 0>} {
  cf.br ^end
^end:
  return %x : tensor<8xf32>
}
// -----
func.func @unknown(%x: tensor<8xf32>) -> tensor<8xf32> attributes {tile.vjp_wrt = array<i64: 0>} {
  // expected-error @below {{gradients: expected an operation with a known derivative, found 'math.cbrt'}}
  %y = math.cbrt %x : tensor<8xf32>
  return %y : tensor<8xf32>
}
// -----
func.func @bits(%x: tensor<8xf32>) -> tensor<8xf32> attributes {tile.vjp_wrt = array<i64: 0>} {
  // expected-error @below {{gradients: expected an operation with a known derivative, found 'arith.bitcast'}}
  %y = arith.bitcast %x : tensor<8xf32> to tensor<8xi32>
  %z = arith.bitcast %y : tensor<8xi32> to tensor<8xf32>
  return %z : tensor<8xf32>
}
// -----
func.func @largest(%x: tensor<8x4xf32>) -> tensor<8xf32> attributes {tile.vjp_wrt = array<i64: 0>} {
  // expected-error @below {{gradients: expected a reduction that adds, found another}}
  %y = tile.reduce max %x dim 1 : tensor<8x4xf32> -> tensor<8xf32>
  return %y : tensor<8xf32>
}
// -----
!t = tensor<?x?x?x64xf16>
!l = tensor<?x?x?xf32>
func.func @twice_read(%q: !t, %k: !t, %v: !t, %c: f32, %table: tensor<?xf32>) -> (!t, !l)
    attributes {tile.vjp_wrt = array<i64: 4>, tile.vjp_of = array<i64: 0>} {
  // expected-error @below {{gradients: of what an attention captures, those of numbers are derived that scores read, and of tensors of which each score reads one element}}
  %o, %lse = tile.attention %q, %k, %v scale %c captures(%table : tensor<?xf32>) : !t, !t, !t -> !t lse !l score {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %x: tensor<?xf32>):
    %e = tensor.extract %x[%i] : tensor<?xf32>
    %f = tensor.extract %x[%j] : tensor<?xf32>
    %m = arith.addf %e, %f : f32
    %n = arith.addf %s, %m : f32
    tile.yield %n : f32
  } mask {}
  return %o, %lse : !t, !l
}
// -----
!t = tensor<?x?x?x64xf16>
!l = tensor<?x?x?xf32>
func.func @unread(%q: !t, %k: !t, %v: !t, %c: f32, %x: f32) -> (!t, !l)
    attributes {tile.vjp_wrt = array<i64: 4>, tile.vjp_of = array<i64: 0>} {
  // expected-error @below {{gradients: of what an attention captures, those of numbers are derived that scores read}}
  %o, %lse = tile.attention %q, %k, %v scale %c captures(%x : f32) : !t, !t, !t -> !t lse !l score {} mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %y: f32):
    %zero = arith.constant 0.0 : f32
    %m = arith.cmpf ogt, %y, %zero : f32
    tile.yield %m : i1
  }
  return %o, %lse : !t, !l
}
// -----
!t = tensor<?x?x?x64xf16>
!l = tensor<?x?x?xf32>
func.func @region(%q: !t, %k: !t, %v: !t, %c: f32) -> (!t, !l)
    attributes {tile.vjp_wrt = array<i64: 0>, tile.vjp_of = array<i64: 0>} {
  %o, %lse = tile.attention %q, %k, %v scale %c : !t, !t, !t -> !t lse !l score {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index):
    // expected-error @below {{expected an operation with a known derivative in the scores of an attention whose gradients are wanted, found 'math.cbrt'}}
    %t = math.cbrt %s : f32
    tile.yield %t : f32
  } mask {}
  return %o, %lse : !t, !l
}
// -----
!t = tensor<?x?x?x64xf16>
!l = tensor<?x?x?xf32>
func.func @bits_of_scores(%q: !t, %k: !t, %v: !t, %c: f32) -> (!t, !l)
    attributes {tile.vjp_wrt = array<i64: 0>, tile.vjp_of = array<i64: 0>} {
  %o, %lse = tile.attention %q, %k, %v scale %c : !t, !t, !t -> !t lse !l score {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index):
    %t = arith.bitcast %s : f32 to i32
    // expected-error @below {{expected an operation with a known derivative in the scores of an attention whose gradients are wanted, found 'arith.bitcast'}}
    %u = arith.bitcast %t : i32 to f32
    tile.yield %u : f32
  } mask {}
  return %o, %lse : !t, !l
}
