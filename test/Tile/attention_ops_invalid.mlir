// RUN: fa-opt %s --split-input-file --verify-diagnostics

func.func @rank(%q: tensor<?x?x64xf16>, %c: f32) {
  // expected-error @+1 {{expects q of rank 4 [batch, head, sequence, dim], found 'tensor<?x?x64xf16>'}}
  %o = tile.attention %q, %q, %q scale %c : tensor<?x?x64xf16>, tensor<?x?x64xf16>, tensor<?x?x64xf16> -> tensor<?x?x64xf16> score {} mask {}
  return
}

// -----

func.func @heads(%q: tensor<1x6x8x64xf16>, %k: tensor<1x4x8x64xf16>, %c: f32) {
  // expected-error @+1 {{expects the number of query heads to be a multiple of that of KV heads, found 6 and 4}}
  %o = tile.attention %q, %k, %k scale %c : tensor<1x6x8x64xf16>, tensor<1x4x8x64xf16>, tensor<1x4x8x64xf16> -> tensor<1x6x8x64xf16> score {} mask {}
  return
}

// -----

func.func @dims(%q: tensor<1x4x8x64xf16>, %k: tensor<1x4x8x32xf16>, %c: f32) {
  // expected-error @+1 {{expects q and k of one head dim, found 64 and 32}}
  %o = tile.attention %q, %k, %k scale %c : tensor<1x4x8x64xf16>, tensor<1x4x8x32xf16>, tensor<1x4x8x32xf16> -> tensor<1x4x8x32xf16> score {} mask {}
  return
}

// -----

func.func @region_arguments(%q: tensor<?x?x?x64xf16>, %c: f32) {
  // expected-error @+1 {{expects the mask region to take ('index', 'index', 'index', 'index'), found ('index', 'index')}}
  %o = tile.attention %q, %q, %q scale %c : tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16> -> tensor<?x?x?x64xf16> score {} mask {
  ^bb0(%i: index, %j: index):
    %m = arith.cmpi sle, %j, %i : index
    tile.yield %m : i1
  }
  return
}

// -----

func.func @region_result(%q: tensor<?x?x?x64xf16>, %c: f32) {
  %o = tile.attention %q, %q, %q scale %c : tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16> -> tensor<?x?x?x64xf16> score {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index):
    // expected-error @+1 {{expects 'f32' in the score region, found 'index'}}
    tile.yield %i : index
  } mask {}
  return
}

// -----

func.func @state(%s: tensor<64x128xf32>, %m: tensor<32xf32>) {
  // expected-error @+1 {{expects a result of type 'tensor<64xf32>', found 'tensor<32xf32>'}}
  %p, %alpha, %m1, %l1 = tile.online_softmax %s, %m, %m : tensor<64x128xf32>, tensor<32xf32>
  return
}

// -----

func.func @merge(%a: tensor<16x64xf32>, %m: tensor<64xf32>) {
  // expected-error @+1 {{expects a result of type 'tensor<16xf32>', found 'tensor<64xf32>'}}
  %a1, %m1, %l1 = tile.online_merge %a, %m, %m with %a, %m, %m : tensor<16x64xf32>, tensor<64xf32>
  return
}

// -----

func.func @finalize_apart(%a: tensor<16x64xf32>, %m: tensor<16xf32>) {
  // expected-error @+1 {{expects a maximum of type 'tensor<16xf32>' apart, found 'tensor<64xf32>'}}
  %o, %s, %om = tile.online_finalize %a, %m, %m : tensor<16x64xf32>, tensor<16xf32> apart tensor<64xf32>
  return
}

// -----

tile.kernel @one_part() attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %a = arith.constant dense<0.0> : tensor<16x64xf32>
  %m = arith.constant dense<0.0> : tensor<16xf32>
  // expected-error @+1 {{expects a kernel with 'tile.parts' of at least 2}}
  %a1, %m1, %l1 = tile.merge_parts %a, %m, %m : (tensor<16x64xf32>, tensor<16xf32>, tensor<16xf32>) -> (tensor<16x64xf32>, tensor<16xf32>, tensor<16xf32>)
  tile.return
}

// -----

tile.kernel @other_sizes() attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>, tile.parts = 4 : i64} {
  %a = arith.constant dense<0.0> : tensor<16x64xf32>
  %m = arith.constant dense<0.0> : tensor<16xf32>
  // expected-error @+1 {{expects results of the operands' sizes, found 'tensor<16x16xf32>' from 'tensor<16x64xf32>'}}
  %a1, %m1, %l1 = tile.merge_parts %a, %m, %m : (tensor<16x64xf32>, tensor<16xf32>, tensor<16xf32>) -> (tensor<16x16xf32>, tensor<16xf32>, tensor<16xf32>)
  tile.return
}

// -----

tile.kernel @other_rows() attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>, tile.parts = 4 : i64} {
  %a = arith.constant dense<0.0> : tensor<16x64xf32>
  %m = arith.constant dense<0.0> : tensor<32xf32>
  // expected-error @+1 {{expects a result of type 'tensor<16xf32>', found 'tensor<32xf32>'}}
  %a1, %m1, %l1 = tile.merge_parts %a, %m, %m : (tensor<16x64xf32>, tensor<32xf32>, tensor<32xf32>) -> (tensor<16x64xf32>, tensor<32xf32>, tensor<32xf32>)
  tile.return
}

// -----

func.func @region_end(%q: tensor<?x?x?x64xf16>, %c: f32) {
  // expected-error @+1 {{expects the score region to end with tile.yield}}
  %o = tile.attention %q, %q, %q scale %c : tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16> -> tensor<?x?x?x64xf16> score {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index):
    ub.unreachable
  } mask {}
  return
}

// -----

func.func @elements(%q: tensor<1x4x8x64xf16>, %v: tensor<1x4x8x64xi8>, %c: f32) {
  // expected-error @+1 {{expects float elements in v, found 'tensor<1x4x8x64xi8>'}}
  %o = tile.attention %q, %q, %v scale %c : tensor<1x4x8x64xf16>, tensor<1x4x8x64xf16>, tensor<1x4x8x64xi8> -> tensor<1x4x8x64xf16> score {} mask {}
  return
}

// -----

func.func @two_types(%q: tensor<1x4x8x64xf16>, %k: tensor<1x4x8x64xbf16>, %c: f32) {
  // expected-error @+1 {{expects q and k of one element type, or k and v of f8E4M3FN or f8E5M2 beside q of f16 or bf16, found 'tensor<1x4x8x64xf16>' and 'tensor<1x4x8x64xbf16>'}}
  %o = tile.attention %q, %k, %k scale %c : tensor<1x4x8x64xf16>, tensor<1x4x8x64xbf16>, tensor<1x4x8x64xbf16> -> tensor<1x4x8x64xf16> score {} mask {}
  return
}

// -----

func.func @batches(%q: tensor<2x4x8x64xf16>, %v: tensor<3x4x8x64xf16>, %c: f32) {
  // expected-error @+1 {{expects q, k and v of one batch size, found 'tensor<2x4x8x64xf16>', 'tensor<2x4x8x64xf16>' and 'tensor<3x4x8x64xf16>'}}
  %o = tile.attention %q, %q, %v scale %c : tensor<2x4x8x64xf16>, tensor<2x4x8x64xf16>, tensor<3x4x8x64xf16> -> tensor<2x4x8x64xf16> score {} mask {}
  return
}

// -----

func.func @lengths(%q: tensor<1x4x8x64xf16>, %v: tensor<1x4x9x64xf16>, %c: f32) {
  // expected-error @+1 {{expects k and v of one number of heads and one length, found 'tensor<1x4x8x64xf16>' and 'tensor<1x4x9x64xf16>'}}
  %o = tile.attention %q, %q, %v scale %c : tensor<1x4x8x64xf16>, tensor<1x4x8x64xf16>, tensor<1x4x9x64xf16> -> tensor<1x4x8x64xf16> score {} mask {}
  return
}

// -----

func.func @output(%q: tensor<1x4x8x64xf16>, %c: f32) {
  // expected-error @+1 {{expects a float output, found 'tensor<1x4x8x64xi8>'}}
  %o = tile.attention %q, %q, %q scale %c : tensor<1x4x8x64xf16>, tensor<1x4x8x64xf16>, tensor<1x4x8x64xf16> -> tensor<1x4x8x64xi8> score {} mask {}
  return
}

// -----

func.func @state_of_f16(%s: tensor<64x128xf16>, %m: tensor<64xf16>) {
  // expected-error @+1 {{expects f32 elements, found 'tensor<64x128xf16>'}}
  %p, %alpha, %m1, %l1 = tile.online_softmax %s, %m, %m : tensor<64x128xf16>, tensor<64xf16>
  return
}

// -----

func.func @state_of_row(%s: tensor<64xf32>, %m: tensor<f32>) {
  // expected-error @+1 {{expects a rank of at least 2, found 'tensor<64xf32>'}}
  %p, %alpha, %m1, %l1 = tile.online_softmax %s, %m, %m : tensor<64xf32>, tensor<f32>
  return
}

// -----

tile.kernel @other_sum() attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>, tile.parts = 4 : i64} {
  %a = arith.constant dense<0.0> : tensor<16x64xf32>
  %m = arith.constant dense<0.0> : tensor<16xf32>
  %l = arith.constant dense<0.0> : tensor<32xf32>
  // expected-error @+1 {{expects a sum of type 'tensor<16xf32>', found 'tensor<32xf32>'}}
  %a1, %m1, %l1 = tile.merge_parts %a, %m, %l : (tensor<16x64xf32>, tensor<16xf32>, tensor<32xf32>) -> (tensor<16x64xf32>, tensor<16xf32>, tensor<32xf32>)
  tile.return
}
// -----
!t = tensor<1x4x8x64xf16>
!l = tensor<1x4x8xf32>
func.func @none(%q: !t, %lse: !l, %c: f32) {
  // expected-error @below {{expects a gradient, found none}}
  tile.attention_backward %q, %q, %q, %q, %lse, %q scale %c : !t, !t, !t, !t, !l, !t score {} mask {} derivative {}
  return
}
// -----
!t = tensor<1x4x8x64xf16>
!l = tensor<1x4x9xf32>
func.func @rows(%q: !t, %lse: !l, %c: f32) {
  // expected-error @below {{expects a result of type 'tensor<1x4x8xf32>', found 'tensor<1x4x9xf32>'}}
  %dq = tile.attention_backward %q, %q, %q, %q, %lse, %q scale %c : !t, !t, !t, !t, !l, !t dq !t score {} mask {} derivative {}
  return
}
// -----
!t = tensor<1x4x8x64xf16>
!w = tensor<1x4x8x64xf32>
!l = tensor<1x4x8xf32>
func.func @wide(%q: !t, %o: !w, %lse: !l, %c: f32) {
  // expected-error @below {{found 'tensor<1x4x8x64xf32>'}}
  %dq = tile.attention_backward %q, %q, %q, %o, %lse, %q scale %c : !t, !t, !t, !w, !l, !t dq !t score {} mask {} derivative {}
  return
}
// -----
!t = tensor<1x4x8x64xf16>
!l = tensor<1x4x8xf32>
func.func @gradient(%q: !t, %lse: !l, %c: f32) {
  // expected-error @below {{found 'tensor<1x4x8x64xf32>'}}
  %dq = tile.attention_backward %q, %q, %q, %q, %lse, %q scale %c : !t, !t, !t, !t, !l, !t dq tensor<1x4x8x64xf32> score {} mask {} derivative {}
  return
}
// -----
!t = tensor<1x4x8x64xf16>
!l = tensor<1x4x8xf32>
func.func @slope(%q: !t, %lse: !l, %c: f32) {
  // expected-error @below {{expects the derivative region to take ('f32', 'index', 'index', 'index', 'index'), found ('f32')}}
  %dq = tile.attention_backward %q, %q, %q, %q, %lse, %q scale %c : !t, !t, !t, !t, !l, !t dq !t score {} mask {} derivative {
  ^bb0(%x: f32):
    tile.yield %x : f32
  }
  return
}
// -----
!t = tensor<1x4x8x64xf16>
!l = tensor<1x4x8xf32>
func.func @effect(%q: !t, %lse: !l, %c: f32, %x: tensor<8x8xf32>) {
  // expected-error @below {{expects a number and an effect region for each gradient of a captured tensor, found 1 gradients, 1 numbers and 0 regions}}
  %dx = tile.attention_backward %q, %q, %q, %q, %lse, %q scale %c captures(%x : tensor<8x8xf32>)
      : !t, !t, !t, !t, !l, !t dcaptures [0] (tensor<8x8xf32>) score {} mask {} derivative {}
  return
}
// -----
!t = tensor<1x4x8x64xf16>
!l = tensor<1x4x8xf32>
func.func @number(%q: !t, %lse: !l, %c: f32, %x: tensor<8x8xf32>) {
  // expected-error @below {{expects gradients of some of 1 captures, in their types and order, found number 1 and 'tensor<8x8xf32>'}}
  %dx = tile.attention_backward %q, %q, %q, %q, %lse, %q scale %c captures(%x : tensor<8x8xf32>)
      : !t, !t, !t, !t, !l, !t dcaptures [1] (tensor<8x8xf32>) score {} mask {} derivative {} effects {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %y: tensor<8x8xf32>):
    tile.yield %s : f32
  }
  return
}
// -----
!t = tensor<1x4x8x64xf16>
!l = tensor<1x4x8xf32>
func.func @sink(%q: !t, %lse: !l, %c: f32, %s: tensor<4xf32>) {
  // expected-error @below {{expects a sink where its gradient is wanted, and no other, found one of the two}}
  %dq = tile.attention_backward %q, %q, %q, %q, %lse, %q scale %c sink %s : tensor<4xf32> : !t, !t, !t, !t, !l, !t dq !t score {} mask {} derivative {}
  return
}
// -----
!t = tensor<1x4x8x64xf16>
!l = tensor<1x4x8xf32>
func.func @sinks(%q: !t, %lse: !l, %c: f32, %s: tensor<5xf32>) {
  // expected-error @below {{expects a result of type 'tensor<4xf32>', found 'tensor<5xf32>'}}
  %ds = tile.attention_backward %q, %q, %q, %q, %lse, %q scale %c sink %s : tensor<5xf32> : !t, !t, !t, !t, !l, !t dsink tensor<4xf32> score {} mask {} derivative {}
  return
}
// -----
!t = tensor<1x4x8x64xf16>
func.func @dropout(%q: !t, %rng: tensor<2xi64>, %c: f32) {
  // expected-error @below {{expects 'rng' and 'probability' together}}
  %o = "tile.attention"(%q, %q, %q, %c, %rng) <{operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 1, 0>}> ({}, {}) : (!t, !t, !t, f32, tensor<2xi64>) -> !t
  return
}

// -----

func.func @narrow_keys_alone(%q: tensor<1x4x8x64xf16>, %k: tensor<1x4x8x64xf8E4M3FN>, %c: f32) {
  // expected-error @+1 {{expects q and k of one element type, or k and v of f8E4M3FN or f8E5M2 beside q of f16 or bf16, found 'tensor<1x4x8x64xf16>' and 'tensor<1x4x8x64xf8E4M3FN>'}}
  %o = tile.attention %q, %k, %q scale %c : tensor<1x4x8x64xf16>, tensor<1x4x8x64xf8E4M3FN>, tensor<1x4x8x64xf16> -> tensor<1x4x8x64xf16> score {} mask {}
  return
}

// -----

func.func @scales_of_queries(%q: tensor<2x4x8x64xf16>, %k: tensor<2x2x8x64xf8E4M3FN>, %s: tensor<2x4xf32>, %c: f32) {
  // expected-error @+1 {{expects scales of f32 for each batch and head of k, or for some keys of each, found 'tensor<2x4xf32>'}}
  %o = tile.attention %q, %k, %k scale %c key_scales %s : tensor<2x4xf32> : tensor<2x4x8x64xf16>, tensor<2x2x8x64xf8E4M3FN>, tensor<2x2x8x64xf8E4M3FN> -> tensor<2x4x8x64xf16> score {} mask {}
  return
}

// -----

func.func @scales_of_no_keys(%q: tensor<2x4x8x64xf16>, %k: tensor<2x2x8x64xf8E4M3FN>, %s: tensor<2x2x4xf32>, %c: f32) {
  // expected-error @+1 {{expects scale_keys of 1 or more, found 0}}
  %o = tile.attention %q, %k, %k scale %c key_scales %s : tensor<2x2x4xf32> {scale_keys = 0 : i64} : tensor<2x4x8x64xf16>, tensor<2x2x8x64xf8E4M3FN>, tensor<2x2x8x64xf8E4M3FN> -> tensor<2x4x8x64xf16> score {} mask {}
  return
}

// -----

func.func @scales_of_how_many_keys(%q: tensor<2x4x8x64xf16>, %k: tensor<2x2x8x64xf8E4M3FN>, %s: tensor<2x2x4xf32>, %c: f32) {
  // expected-error @+1 {{expects scale_keys beside scales of three dimensions, found none}}
  %o = tile.attention %q, %k, %k scale %c value_scales %s : tensor<2x2x4xf32> : tensor<2x4x8x64xf16>, tensor<2x2x8x64xf8E4M3FN>, tensor<2x2x8x64xf8E4M3FN> -> tensor<2x4x8x64xf16> score {} mask {}
  return
}

// -----

func.func @keys_of_no_scales(%q: tensor<2x4x8x64xf16>, %k: tensor<2x2x8x64xf8E4M3FN>, %s: tensor<2x2xf32>, %c: f32) {
  // expected-error @+1 {{expects scale_keys beside scales of three dimensions, found them with others}}
  %o = tile.attention %q, %k, %k scale %c key_scales %s : tensor<2x2xf32> {scale_keys = 4 : i64} : tensor<2x4x8x64xf16>, tensor<2x2x8x64xf8E4M3FN>, tensor<2x2x8x64xf8E4M3FN> -> tensor<2x4x8x64xf16> score {} mask {}
  return
}

// -----

func.func @lists_of_what(%q: tensor<1x4x384x64xf16>, %x: tensor<1x4x3x3xi32>, %y: tensor<1x4x3x2xi32>, %c: f32) {
  // expected-error @+1 {{expects of tile.block_lists two captures and the sizes of a block, found 3 numbers}}
  %o = tile.attention %q, %q, %q scale %c captures(%x, %y, %c : tensor<1x4x3x3xi32>, tensor<1x4x3x2xi32>, f32) {tile.block_lists = array<i64: 0, 1, 128>} : tensor<1x4x384x64xf16>, tensor<1x4x384x64xf16>, tensor<1x4x384x64xf16> -> tensor<1x4x384x64xf16> score {} mask {}
  return
}

// -----

func.func @small_blocks(%q: tensor<1x4x384x64xf16>, %x: tensor<1x4x3x3xi32>, %y: tensor<1x4x3x2xi32>, %c: f32) {
  // expected-error @+1 {{expects of tile.block_lists blocks of a multiple of 64, found 96}}
  %o = tile.attention %q, %q, %q scale %c captures(%x, %y, %c : tensor<1x4x3x3xi32>, tensor<1x4x3x2xi32>, f32) {tile.block_lists = array<i64: 0, 1, 128, 96>} : tensor<1x4x384x64xf16>, tensor<1x4x384x64xf16>, tensor<1x4x384x64xf16> -> tensor<1x4x384x64xf16> score {} mask {}
  return
}

// -----

func.func @no_such_capture(%q: tensor<1x4x384x64xf16>, %x: tensor<1x4x3x3xi32>, %y: tensor<1x4x3x2xi32>, %c: f32) {
  // expected-error @+1 {{expects of tile.block_lists one of 3 captures, found number 3}}
  %o = tile.attention %q, %q, %q scale %c captures(%x, %y, %c : tensor<1x4x3x3xi32>, tensor<1x4x3x2xi32>, f32) {tile.block_lists = array<i64: 0, 3, 128, 128>} : tensor<1x4x384x64xf16>, tensor<1x4x384x64xf16>, tensor<1x4x384x64xf16> -> tensor<1x4x384x64xf16> score {} mask {}
  return
}

// -----

func.func @counts_that_are_a_number(%q: tensor<1x4x384x64xf16>, %x: tensor<1x4x3x3xi32>, %y: tensor<1x4x3x2xi32>, %c: f32) {
  // expected-error @+1 {{expects of tile.block_lists captures of i32 of rank 4, found 'f32'}}
  %o = tile.attention %q, %q, %q scale %c captures(%x, %y, %c : tensor<1x4x3x3xi32>, tensor<1x4x3x2xi32>, f32) {tile.block_lists = array<i64: 0, 2, 128, 128>} : tensor<1x4x384x64xf16>, tensor<1x4x384x64xf16>, tensor<1x4x384x64xf16> -> tensor<1x4x384x64xf16> score {} mask {}
  return
}

// -----

func.func @three_counts(%q: tensor<1x4x384x64xf16>, %x: tensor<1x4x3x3xi32>, %y: tensor<1x4x3x3xi32>, %c: f32) {
  // expected-error @+1 {{expects of tile.block_lists two counts of each block of queries, found 'tensor<1x4x3x3xi32>'}}
  %o = tile.attention %q, %q, %q scale %c captures(%x, %y, %c : tensor<1x4x3x3xi32>, tensor<1x4x3x3xi32>, f32) {tile.block_lists = array<i64: 0, 1, 128, 128>} : tensor<1x4x384x64xf16>, tensor<1x4x384x64xf16>, tensor<1x4x384x64xf16> -> tensor<1x4x384x64xf16> score {} mask {}
  return
}

// -----

func.func @query_lists(%q: tensor<1x4x384x64xf16>, %x: tensor<1x4x3x3xi32>, %c: f32) {
  // expected-error @+1 {{expects of tile.query_lists two counts of each block of keys, found 'tensor<1x4x3x3xi32>'}}
  %o = tile.attention %q, %q, %q scale %c captures(%x : tensor<1x4x3x3xi32>) {tile.query_lists = array<i64: 0, 0, 128, 128>} : tensor<1x4x384x64xf16>, tensor<1x4x384x64xf16>, tensor<1x4x384x64xf16> -> tensor<1x4x384x64xf16> score {} mask {}
  return
}

// -----

// expected-error @+1 {{expects 'tile.block_lists' on tile.attention, tile.online_attention, tile.attention_backward, found it here}}
func.func @lists_of_a_function() attributes {tile.block_lists = array<i64: 0, 1, 128, 128>} {
  return
}
