// RUN: fa-opt %s --split-input-file --verify-diagnostics

func.func @dot_rank(%a: tensor<4x8xf32>, %b: tensor<2x4x8xf32>) {
  // expected-error @+1 {{expects operands and result of one rank of at least 2, found 'tensor<4x8xf32>', 'tensor<2x4x8xf32>' and 'tensor<4x4xf32>'}}
  %0 = tile.dot %a, %b transpose_b : tensor<4x8xf32>, tensor<2x4x8xf32> -> tensor<4x4xf32>
  return
}

// -----

func.func @dot_contraction(%a: tensor<4x8xf32>, %b: tensor<4x7xf32>) {
  // expected-error @+1 {{contracts 8 elements of the left operand with 7 of the right one}}
  %0 = tile.dot %a, %b transpose_b : tensor<4x8xf32>, tensor<4x7xf32> -> tensor<4x4xf32>
  return
}

// -----

func.func @dot_result(%a: tensor<4x8xf32>, %b: tensor<5x8xf32>) {
  // expected-error @+1 {{expects a result of 4 x 5, found 'tensor<5x4xf32>'}}
  %0 = tile.dot %a, %b transpose_b : tensor<4x8xf32>, tensor<5x8xf32> -> tensor<5x4xf32>
  return
}

// -----

func.func @dot_groups(%a: tensor<6x4x8xf32>, %b: tensor<4x4x8xf32>) {
  // expected-error @+1 {{expects batch dimension 0 of the right operand to divide that of the left one, found 4 and 6}}
  %0 = tile.dot %a, %b transpose_b : tensor<6x4x8xf32>, tensor<4x4x8xf32> -> tensor<6x4x4xf32>
  return
}

// -----

func.func @dot_elements(%a: tensor<4x8xi8>, %b: tensor<4x8xi8>) {
  // expected-error @+1 {{expects float elements, found 'i8'}}
  %0 = tile.dot %a, %b transpose_b : tensor<4x8xi8>, tensor<4x8xi8> -> tensor<4x4xf32>
  return
}

// -----

func.func @dot_narrow(%a: tensor<4x8xf32>, %b: tensor<4x8xf32>) {
  // expected-error @+1 {{must not be narrower than the operands': found 'f16' for 'f32'}}
  %0 = tile.dot %a, %b transpose_b : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x4xf16>
  return
}

// -----

func.func @dot_precision(%a: tensor<4x8xf16>, %b: tensor<4x8xf16>) {
  // expected-error @+1 {{expects operands of f32 for precision tf32, found 'tensor<4x8xf16>' and 'tensor<4x8xf16>'}}
  %0 = tile.dot %a, %b transpose_b precision tf32 : tensor<4x8xf16>, tensor<4x8xf16> -> tensor<4x4xf32>
  return
}

// -----

func.func @softmax_dim(%a: tensor<4x8xf32>) {
  // expected-error @+1 {{expects a dimension between 0 and 1, found 2}}
  %0 = tile.softmax %a dim 2 : tensor<4x8xf32>
  return
}

// -----

func.func @reduce(%a: tensor<4x8xf32>) {
  // expected-error @+1 {{expects a result of type 'tensor<4xf32>', found 'tensor<8xf32>'}}
  %0 = tile.reduce add %a dim 1 : tensor<4x8xf32> -> tensor<8xf32>
  return
}

// -----

func.func @transpose(%a: tensor<4x8xf32>) {
  // expected-error @+1 {{expects a permutation of 0 to 1, found [1, 1]}}
  %0 = tile.transpose %a [1, 1] : tensor<4x8xf32> -> tensor<8x8xf32>
  return
}

// -----

func.func @expand(%a: tensor<4xf32>) {
  // expected-error @+1 {{expects a result of type 'tensor<4x1xf32>', found 'tensor<1x4xf32>'}}
  %0 = tile.expand_dims %a dim 1 : tensor<4xf32> -> tensor<1x4xf32>
  return
}

// -----

func.func @broadcast(%a: tensor<4x3xf32>) {
  // expected-error @+1 {{repeats only dimensions of size 1; dimension 1 is 3 in the input and 8 in the result}}
  %0 = tile.broadcast %a : tensor<4x3xf32> -> tensor<4x8xf32>
  return
}

// -----

func.func @broadcast_sizes(%a: f32) {
  // expected-error @+1 {{expects a size for each of the 1 dynamic dimensions of 'tensor<?x4xf32>', found 0}}
  %0 = tile.broadcast %a : f32 -> tensor<?x4xf32>
  return
}

// -----

func.func @iota() {
  // expected-error @+1 {{expects integer or index elements, found 'tensor<4xf32>'}}
  %0 = tile.iota dim 0 : tensor<4xf32>
  return
}

// -----

func.func @dot_batches(%a: tensor<6x4x8xf32>, %b: tensor<6x4x8xf32>) {
  // expected-error @+1 {{expects batch dimension 0 of the result to be that of the left operand, found 'tensor<3x4x4xf32>' and 'tensor<6x4x8xf32>'}}
  %0 = tile.dot %a, %b transpose_b : tensor<6x4x8xf32>, tensor<6x4x8xf32> -> tensor<3x4x4xf32>
  return
}

// -----

func.func @softmax_elements(%a: tensor<4x8xi32>) {
  // expected-error @+1 {{expects float elements, found 'tensor<4x8xi32>'}}
  %0 = tile.softmax %a : tensor<4x8xi32>
  return
}

// -----

func.func @log_sum_exp_elements(%a: tensor<4x8xi32>) {
  // expected-error @+1 {{expects float elements, found 'tensor<4x8xi32>'}}
  %0 = tile.log_sum_exp %a : tensor<4x8xi32> -> tensor<4xi32>
  return
}

// -----

func.func @log_sum_exp_rank(%a: tensor<f32>) {
  // expected-error @+1 {{expects a rank of at least 1, found 'tensor<f32>'}}
  %0 = tile.log_sum_exp %a : tensor<f32> -> tensor<f32>
  return
}

// -----

func.func @transpose_rank(%a: tensor<4x8xf32>) {
  // expected-error @+1 {{expects a permutation of 2 dimensions, found [1]}}
  %0 = tile.transpose %a [1] : tensor<4x8xf32> -> tensor<8xf32>
  return
}

// -----

func.func @broadcast_element(%a: f16) {
  // expected-error @+1 {{expects the input's element type 'f16' in the result, found 'tensor<4xf32>'}}
  %0 = tile.broadcast %a : f16 -> tensor<4xf32>
  return
}

// -----

func.func @broadcast_rank(%a: tensor<4xf32>) {
  // expected-error @+1 {{expects a result of the input's rank 1, found 'tensor<8x4xf32>' (tile.expand_dims adds a dimension)}}
  %0 = tile.broadcast %a : tensor<4xf32> -> tensor<8x4xf32>
  return
}
// -----
func.func @dropout_rank(%x: tensor<4x8xf32>, %rng: tensor<2xi64>) {
  // expected-error @below {{expects floats of rank 4 [batch, head, query, key], found 'tensor<4x8xf32>'}}
  %0 = tile.dropout %x rng %rng probability 0.5 : tensor<4x8xf32>, tensor<2xi64>
  return
}
// -----
func.func @dropout_seed(%x: tensor<1x2x4x8xf32>, %rng: tensor<2xi32>) {
  // expected-error @below {{expects a seed and an offset of type 'tensor<2xi64>', found 'tensor<2xi32>'}}
  %0 = tile.dropout %x rng %rng probability 0.5 : tensor<1x2x4x8xf32>, tensor<2xi32>
  return
}
// -----
func.func @dropout_never(%x: tensor<1x2x4x8xf32>, %rng: tensor<2xi64>) {
  // expected-error @below {{expects a probability of dropout from 1 to 65535 of 65536, rounded, found 1.000000e-06}}
  %0 = tile.dropout %x rng %rng probability 1.0e-6 : tensor<1x2x4x8xf32>, tensor<2xi64>
  return
}
// -----
func.func @dropout_always(%x: tensor<1x2x4x8xf32>, %rng: tensor<2xi64>) {
  // expected-error @below {{expects a probability of dropout from 1 to 65535 of 65536, rounded, found 1.000000e+00}}
  %0 = tile.dropout %x rng %rng probability 1.0 : tensor<1x2x4x8xf32>, tensor<2xi64>
  return
}

// -----

func.func @repeat_rank(%a: tensor<4x8xf32>) {
  // expected-error @+1 {{expects tensors of one rank, of 1 or more, found 'tensor<4x8xf32>' and 'tensor<16xf32>'}}
  %0 = tile.repeat %a times 2 : tensor<4x8xf32> -> tensor<16xf32>
  return
}

// -----

func.func @repeat_never(%a: tensor<4x8xf32>) {
  // expected-error @+1 {{expects to repeat 1 time or more, found 0}}
  %0 = tile.repeat %a times 0 : tensor<4x8xf32> -> tensor<4x16xf32>
  return
}

// -----

func.func @repeat_rows(%a: tensor<4x8xf32>) {
  // expected-error @+1 {{expects a result of type 'tensor<4x16xf32>', found 'tensor<5x16xf32>'}}
  %0 = tile.repeat %a times 2 : tensor<4x8xf32> -> tensor<5x16xf32>
  return
}
