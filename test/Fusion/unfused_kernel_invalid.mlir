// What is not fused becomes a kernel too, if it is one block that gives tensors.
// RUN: fa-opt %s --split-input-file --verify-diagnostics --tile-online-softmax --tile-split-function --tile-to-kernel

// expected-remark @+2 {{runs unfused, on whole tensors}}
// expected-error @below {{expected results that are tensors, found 'f32'}}
func.func @scalar(%x: tensor<64xf32>, %y: f32) -> f32 {
  return %y : f32
}
// -----
// expected-remark @+2 {{runs unfused, on whole tensors}}
// expected-error @below {{expected a body of one block, found 2}}
func.func @blocks(%x: tensor<64xf32>) -> tensor<64xf32> {
  cf.br ^end
^end:
  return %x : tensor<64xf32>
}
// -----
!t = tensor<1x2x20x16xf32>
// With an attention as well: nothing is split.
// expected-remark @+2 {{runs unfused, on whole tensors}}
// expected-error @below {{expected results that are tensors, found 'f32'}}
func.func @element(%x: !t, %c: f32) -> (!t, f32) {
  %q = math.tanh %x : !t
  %o = tile.attention %q, %x, %x scale %c : !t, !t, !t -> !t score {} mask {}
  %i = arith.constant 0 : index
  %e = tensor.extract %o[%i, %i, %i, %i] : !t
  return %o, %e : !t, f32
}
