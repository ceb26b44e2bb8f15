// Sizes that a launch could not check before it begins.
// RUN: fa-opt %s --split-input-file --verify-diagnostics --tile-to-kernel

// expected-remark @below {{runs unfused, on whole tensors}}
func.func @sliced(%x: tensor<?xf32>, %n: index) -> tensor<?xf32> {
  // expected-error @below {{'tensor.extract_slice' op has sizes that cannot be checked against the arguments before a launch}}
  %y = tensor.extract_slice %x[0] [%n] [1] : tensor<?xf32> to tensor<?xf32>
  return %y : tensor<?xf32>
}
// -----
// expected-remark @below {{runs unfused, on whole tensors}}
func.func @counted(%n: index) -> tensor<?xi32> {
  // expected-error @below {{'tile.iota' op has sizes that cannot be checked against the arguments before a launch}}
  %y = tile.iota dim 0 sizes %n : tensor<?xi32>
  return %y : tensor<?xi32>
}
