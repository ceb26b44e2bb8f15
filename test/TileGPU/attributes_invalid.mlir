// RUN: fa-opt %s --split-input-file --verify-diagnostics
// A discardable attribute of the dialect that it does not have, where it may
// not be or with a value that it may not have.

// expected-error @+1 {{'tile.kernel' op expects an attribute that 'tgpu' has, found 'tgpu.persistant'; the nearest is 'tgpu.persistent'}}
tile.kernel @misspelt() attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>, tgpu.persistant} {
  tile.return
}

// -----

// expected-error @+1 {{'func.func' op argument 0: expects 'tgpu.warps' on tile.kernel, found it here}}
func.func @of_argument(%x: f32 {tgpu.warps = 4 : i64}) {
  return
}

// -----

// expected-error @+1 {{argument 0: expects an attribute that 'tgpu' has, found 'tgpu.warp'; the nearest is 'tgpu.warps'}}
func.func @unknown_of_argument(%x: f32 {tgpu.warp = 4 : i64}) {
  return
}

// -----

// expected-error @+1 {{result 0: expects no attribute of 'tgpu', found 'tgpu.warps'}}
func.func @of_result() -> (i32 {tgpu.warps = 4 : i64}) {
  %0 = arith.constant 1 : i32
  return %0 : i32
}

// -----

// expected-error @+1 {{expects 'tgpu.warps' to be an i64 above 0, found 0 : i64}}
tile.kernel @warps() attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>, tgpu.warps = 0 : i64} {
  tile.return
}

// -----

// expected-error @+1 {{expects 'tgpu.lanes' to be an i64 above 0, found "x"}}
tile.kernel @lanes() attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>, tgpu.lanes = "x"} {
  tile.return
}

// -----

// expected-error @+1 {{expects 'tgpu.consumers' to be an i64 above 0, found -1 : i64}}
tile.kernel @consumers() attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>, tgpu.consumers = -1 : i64} {
  tile.return
}

// -----

// expected-error @+1 {{expects 'tgpu.persistent' to be a unit attribute, found true}}
tile.kernel @persistent() attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>, tgpu.persistent = true} {
  tile.return
}

// -----

// expected-error @+1 {{expects 'tgpu.programs' to be an i64 above 0, found 0 : i64}}
tile.kernel @programs() attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>, tgpu.programs = 0 : i64} {
  tile.return
}

// -----

// expected-error @+1 {{expects 'tgpu.cluster' to be an i64 above 0, found 2 : i32}}
tile.kernel @cluster() attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>, tgpu.cluster = 2 : i32} {
  tile.return
}

// -----

// expected-error @+1 {{expects 'tgpu.shared_bytes' to be an i64 of at least 0, found -1 : i64}}
tile.kernel @shared_bytes() attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>, tgpu.shared_bytes = -1 : i64} {
  tile.return
}

// -----

// expected-error @+1 {{expects 'tgpu.row_step_limit' to be an i64 above 0, found 0 : i64}}
tile.kernel @row_step_limit() attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>, tgpu.row_step_limit = 0 : i64} {
  tile.return
}

// -----

func.func @thread_sums(%x: f32) -> f32 {
  // expected-error @+1 {{expects 'tgpu.thread_sums' on tile.online_softmax, tile.online_finalize, tile.merge_parts, tgpu.merge_parts, found it here}}
  %0 = arith.mulf %x, %x {tgpu.thread_sums} : f32
  return %0 : f32
}

// -----

func.func @rescale(%x: f32) -> f32 {
  // expected-error @+1 {{expects 'tgpu.rescale' on arith.mulf, found it here}}
  %0 = arith.addf %x, %x {tgpu.rescale} : f32
  return %0 : f32
}

// -----

func.func @rescale_value(%x: f32) -> f32 {
  // expected-error @+1 {{expects 'tgpu.rescale' to be a unit attribute, found 2 : i64}}
  %0 = arith.mulf %x, %x {tgpu.rescale = 2} : f32
  return %0 : f32
}

// -----

func.func @seldom(%c: i1) {
  // expected-error @+1 {{expects 'tgpu.seldom' to be a unit attribute, found "nearly"}}
  scf.if %c {
  } {tgpu.seldom = "nearly"}
  return
}

// -----

func.func @unpipelined(%c: index) {
  // expected-error @+1 {{expects 'tgpu.unpipelined' to be a unit attribute, found "nearly"}}
  scf.for %i = %c to %c step %c {
  } {tgpu.unpipelined = "nearly"}
  return
}

// -----

func.func @softmax_thread_sums(%s: tensor<64x64xf32>, %m: tensor<64xf32>, %l: tensor<64xf32>) {
  // expected-error @+1 {{expects 'tgpu.thread_sums' to be a unit attribute, found 1 : i64}}
  %p, %alpha, %m1, %l1 = tile.online_softmax %s, %m, %l {tgpu.thread_sums = 1} : tensor<64x64xf32>, tensor<64xf32>
  return
}

// -----

func.func @softmax_raw_maxima(%s: tensor<64x64xf32>, %m: tensor<64xf32>, %l: tensor<64xf32>) {
  // expected-error @+1 {{expects 'tgpu.raw_maxima' to be a unit attribute, found 1 : i64}}
  %p, %alpha, %m1, %l1 = tile.online_softmax %s, %m, %l {tgpu.raw_maxima = 1} : tensor<64x64xf32>, tensor<64xf32>
  return
}

// -----

func.func @softmax_held_maxima(%s: tensor<64x64xf32>, %m: tensor<64xf32>, %l: tensor<64xf32>) {
  // expected-error @+1 {{expects 'tgpu.held_maxima' to be a unit attribute, found "x"}}
  %p, %alpha, %m1, %l1 = tile.online_softmax %s, %m, %l {tgpu.held_maxima = "x"} : tensor<64x64xf32>, tensor<64xf32>
  return
}

// -----

func.func @softmax_capped_scores(%s: tensor<64x64xf32>, %m: tensor<64xf32>, %l: tensor<64xf32>) {
  // expected-error @+1 {{expects 'tgpu.capped_scores' to be an f32, found 5.000000e-01 : f64}}
  %p, %alpha, %m1, %l1 = tile.online_softmax %s, %m, %l {tgpu.capped_scores = 0.5 : f64} : tensor<64x64xf32>, tensor<64xf32>
  return
}

// -----

func.func @slot_kind(%n: i64) {
  // expected-error @+1 {{expects 'tgpu.slot' to be a unit attribute, found 1 : i64}}
  %0 = llvm.intr.umin(%n, %n) {tgpu.slot = 1} : (i64, i64) -> i64
  return
}

// -----

func.func @slot_place(%n: i64) {
  // expected-error @+1 {{expects 'tgpu.slot' on llvm.intr.umin, found it here}}
  %0 = arith.minui %n, %n {tgpu.slot} : i64
  return
}
