// RUN: fa-opt %s --split-input-file --verify-diagnostics

func.func @ragged_rank(%rows: tensor<10xf32>, %offsets: tensor<4xi32>) {
  // expected-error @+1 {{expects packed rows of rank 2 or more, [heads, rows, ..], found 'tensor<10xf32>'}}
  %0 = tile.ragged %rows by %offsets : tensor<10xf32>, tensor<4xi32> -> tensor<3x10xf32>
  return
}

// -----

func.func @ragged_no_offset(%rows: tensor<2x10xf32>, %offsets: tensor<0xi32>) {
  // expected-error @+1 {{expects one offset more than there are sequences, found 'tensor<0xi32>'}}
  %0 = tile.ragged %rows by %offsets : tensor<2x10xf32>, tensor<0xi32> -> tensor<?x2x10xf32>
  return
}

// -----

func.func @ragged_result(%rows: tensor<2x10xf32>, %offsets: tensor<4xi32>) {
  // expected-error @+1 {{expects a result of type 'tensor<3x2x10xf32>', found 'tensor<4x2x10xf32>'}}
  %0 = tile.ragged %rows by %offsets : tensor<2x10xf32>, tensor<4xi32> -> tensor<4x2x10xf32>
  return
}

// -----

func.func @ragged_offsets(%rows: tensor<2x10xf32>, %offsets: tensor<4xi64>) {
  // expected-error @+1 {{operand #1 must be 1D tensor of 32-bit signless integer values, but got 'tensor<4xi64>'}}
  %0 = tile.ragged %rows by %offsets : tensor<2x10xf32>, tensor<4xi64> -> tensor<3x2x10xf32>
  return
}

// -----

func.func @pack_batch(%o: tensor<4x2x10xf32>, %offsets: tensor<4xi32>) {
  // expected-error @+1 {{expects a batch of as many sequences as 'tensor<4xi32>' bounds, of one dimension more than 'tensor<2x10xf32>', found 'tensor<4x2x10xf32>'}}
  %0 = tile.pack %o by %offsets : tensor<4x2x10xf32>, tensor<4xi32> -> tensor<2x10xf32>
  return
}

// -----

func.func @pack_rank(%o: tensor<3x2x10xf32>, %offsets: tensor<4xi32>) {
  // expected-error @+1 {{found 'tensor<3x2x10xf32>'}}
  %0 = tile.pack %o by %offsets : tensor<3x2x10xf32>, tensor<4xi32> -> tensor<3x2x10xf32>
  return
}

// -----

func.func @pack_result(%o: tensor<3x2x10xf32>, %offsets: tensor<4xi32>) {
  // expected-error @+1 {{expects a result of type 'tensor<2x10xf32>', found 'tensor<2x11xf32>'}}
  %0 = tile.pack %o by %offsets : tensor<3x2x10xf32>, tensor<4xi32> -> tensor<2x11xf32>
  return
}

// -----

func.func @sequence_rows(%slot: index, %offsets: memref<?xi32>) {
  // expected-error @+1 {{attribute 'rows' failed to satisfy constraint: 64-bit signless integer attribute whose value is positive}}
  %0, %1 = tile.sequence_of %slot in %offsets rows 0 : memref<?xi32>
  return
}

// -----

func.func @sequence_offsets(%slot: index, %offsets: memref<?xi64>) {
  // expected-error @+1 {{operand #1 must be 1D memref of 32-bit signless integer values, but got 'memref<?xi64>'}}
  %0, %1 = tile.sequence_of %slot in %offsets rows 64 : memref<?xi64>
  return
}
