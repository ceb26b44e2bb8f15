// What is not fused becomes a kernel too, if it is one block that gives tensors.
// RUN: fa-opt %s --split-input-file --verify-diagnostics --tile-to-kernel

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
