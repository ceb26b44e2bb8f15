// RUN: fa-opt %s --split-input-file --verify-diagnostics --tile-online-softmax --tile-to-kernel

!rows = tensor<8x?x64xf32>
!batch = tensor<?x8x?x64xf32>

// expected-remark @+1 {{runs unfused, on whole tensors: k and v are packed by different offsets}}
func.func @two_offsets(%q: !batch, %k: !rows, %v: !rows, %x: tensor<?xi32>, %y: tensor<?xi32>, %scale: f32) -> !batch {
  // expected-error @+1 {{has sizes that cannot be checked against the arguments before a launch}}
  %ks = tile.ragged %k by %x : !rows, tensor<?xi32> -> !batch
  %vs = tile.ragged %v by %y : !rows, tensor<?xi32> -> !batch
  %o = tile.attention %q, %ks, %vs scale %scale : !batch, !batch, !batch -> !batch score {} mask {}
  return %o : !batch
}

// -----

!rows = tensor<8x?x64xf32>
!batch = tensor<?x8x?x64xf32>

// expected-remark @+1 {{runs unfused, on whole tensors: its result is not packed as its queries are}}
func.func @padded_result(%q: !rows, %k: !batch, %v: !batch, %offsets: tensor<?xi32>, %scale: f32) -> !batch {
  // expected-error @+1 {{has sizes that cannot be checked against the arguments before a launch}}
  %qs = tile.ragged %q by %offsets : !rows, tensor<?xi32> -> !batch
  %o = tile.attention %qs, %k, %v scale %scale : !batch, !batch, !batch -> !batch score {} mask {}
  return %o : !batch
}

// -----

!rows = tensor<8x?x64xf32>
!batch = tensor<?x8x?x64xf32>

// The batch of K is two dimensions of an argument: none of them has one element
// less than there are offsets.
// expected-remark @+1 {{runs unfused, on whole tensors: offsets of sequences are used with a tensor one of whose dimensions is several of an argument}}
func.func @joined_batch(%q: !rows, %k: tensor<?x?x8x?x64xf32>, %v: tensor<?x?x8x?x64xf32>, %offsets: tensor<?xi32>, %scale: f32) -> !rows {
  // expected-error @+1 {{has sizes that cannot be checked against the arguments before a launch}}
  %qs = tile.ragged %q by %offsets : !rows, tensor<?xi32> -> !batch
  %ks = tensor.collapse_shape %k [[0, 1], [2], [3], [4]] : tensor<?x?x8x?x64xf32> into !batch
  %vs = tensor.collapse_shape %v [[0, 1], [2], [3], [4]] : tensor<?x?x8x?x64xf32> into !batch
  %o = tile.attention %qs, %ks, %vs scale %scale : !batch, !batch, !batch -> !batch score {} mask {}
  %r = tile.pack %o by %offsets : !batch, tensor<?xi32> -> !rows
  return %r : !rows
}
