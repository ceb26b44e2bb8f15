// What both vendors' lowerings ask of a kernel.
// RUN: fa-opt %s --convert-tgpu-to-nvvm --split-input-file --verify-diagnostics
// RUN: fa-opt %s --convert-tgpu-to-rocdl='arch=gfx942' --split-input-file --verify-diagnostics

// expected-error @+1 {{expected a kernel at stage S7, found one without 'tgpu.shared_bytes'}}
tile.kernel @not_placed() attributes {tgpu.warps = 4, grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  tile.return
}

// -----

// expected-error @+1 {{expected a kernel at stage S7, found one without 'tgpu.warps'}}
tile.kernel @no_warps() attributes {tgpu.shared_bytes = 0, grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  tile.return
}

// -----

// expected-error @+1 {{expects a body of one block on a GPU, found 2}}
tile.kernel @blocks() attributes {tgpu.shared_bytes = 0, tgpu.warps = 1, grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  cf.br ^end
^end:
  tile.return
}

// -----

#acc = #tgpu.layout<accumulator 16x16 warps 1>
tile.kernel @foreign() attributes {tgpu.shared_bytes = 0, tgpu.warps = 1, grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  // expected-error @+1 {{has no lowering on tiles for a GPU}}
  %0 = tensor.empty() : tensor<16x16xf32, #acc>
  tile.return
}

// -----

#row = #tgpu.layout<2 lane = [[1], [0], [0], [0], [0]]>
tile.kernel @numbers() attributes {tgpu.shared_bytes = 0, tgpu.warps = 1, grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  // expected-error @+1 {{expects one value for all elements on a GPU}}
  %0 = arith.constant dense<[1.0, 2.0]> : tensor<2xf32, #row>
  tile.return
}

// -----

#acc = #tgpu.layout<accumulator 16x16 warps 1>
tile.kernel @two_results(%x: i32) attributes {tgpu.shared_bytes = 0, tgpu.warps = 1, grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %0 = tile.broadcast %x : i32 -> tensor<16x16xi32, #acc>
  // expected-error @+1 {{expects one result on tiles}}
  %1, %2 = arith.mului_extended %0, %0 : tensor<16x16xi32, #acc>
  tile.return
}

// -----

#acc = #tgpu.layout<accumulator 16x16 warps 1>
#row = #tgpu.layout<16 register = [[8]], lane = [[0], [0], [1], [2], [4]]>
tile.kernel @integers(%x: i16) attributes {tgpu.shared_bytes = 0, tgpu.warps = 1, grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %0 = tile.broadcast %x : i16 -> tensor<16x16xi16, #acc>
  // expected-error @+1 {{has a lowering for a GPU on floats and integers of 32 and 64 bits, found 'tensor<16x16xi16, }}
  %1 = tile.reduce add %0 dim 1 : tensor<16x16xi16, #acc> -> tensor<16xi16, #row>
  tile.return
}

// -----

#lanes = #tgpu.layout<16 register = [[8]], lane = [[1], [2], [4], [0], [0]]>
tile.kernel @scanned_halves(%x: f16) attributes {tgpu.shared_bytes = 0, tgpu.warps = 1, grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %0 = tile.broadcast %x : f16 -> tensor<16xf16, #lanes>
  // expected-error @+1 {{has a lowering for a GPU on elements of 32 and 64 bits, found 'tensor<16xf16, }}
  %1 = tile.scan add %0 dim 0 : tensor<16xf16, #lanes>
  tile.return
}

// -----

#warps = #tgpu.layout<16 register = [[4]], lane = [[1], [2], [0], [0], [0]], warp = [[8]]>
tile.kernel @scanned_across_warps(%x: f32) attributes {tgpu.shared_bytes = 0, tgpu.warps = 2, grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %0 = tile.broadcast %x : f32 -> tensor<16xf32, #warps>
  // expected-error @+1 {{expects a scan inside each warp on a GPU}}
  %1 = tile.scan add %0 dim 0 : tensor<16xf32, #warps>
  tile.return
}

// -----

#acc = #tgpu.layout<accumulator 16x16 warps 1>
#column = #tgpu.layout<16 register = [[8]], lane = [[1], [2], [4], [0], [0]]>
tile.kernel @reduced_elsewhere(%x: f32) attributes {tgpu.shared_bytes = 0, tgpu.warps = 1, grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %0 = tile.broadcast %x : f32 -> tensor<16x16xf32, #acc>
  // expected-error @+1 {{expects its result in the threads that have its rows}}
  %1 = tile.reduce add %0 dim 1 : tensor<16x16xf32, #acc> -> tensor<16xf32, #column>
  tile.return
}

// -----

#acc = #tgpu.layout<accumulator 16x16 warps 1>
#across = #tgpu.layout<blocked 16x16 vector 4 warps 1>
tile.kernel @converted(%x: f32) attributes {tgpu.shared_bytes = 0, tgpu.warps = 1, grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %0 = tile.broadcast %x : f32 -> tensor<16x16xf32, #acc>
  // expected-error @+1 {{expects a conversion inside each thread}}
  %1 = tgpu.convert %0 : tensor<16x16xf32, #acc> -> tensor<16x16xf32, #across>
  tile.return
}

// -----

#acc = #tgpu.layout<accumulator 16x16 warps 1>
#flat = #tgpu.layout<16x1 register = [[8, 0]], lane = [[1, 0], [2, 0], [4, 0], [0, 0], [0, 0]]>
tile.kernel @spread(%x: f32) attributes {tgpu.shared_bytes = 0, tgpu.warps = 1, grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %0 = tile.broadcast %x : f32 -> tensor<16x1xf32, #flat>
  // expected-error @+1 {{expects its rows and columns in the threads that have the result's}}
  %1 = tile.broadcast %0 : tensor<16x1xf32, #flat> -> tensor<16x16xf32, #acc>
  tile.return
}

// -----

#lanes = #tgpu.layout<16 register = [[8]], lane = [[1], [2], [4], [0], [0]]>
#alike = #tgpu.layout<1x16 register = [[0, 8]], lane = [[0, 1], [0, 2], [0, 4], [0, 0], [0, 0]]>
#other = #tgpu.layout<1x16 register = [[0, 8]], lane = [[0, 0], [0, 0], [0, 1], [0, 2], [0, 4]]>
tile.kernel @expanded(%x: f32) attributes {tgpu.shared_bytes = 0, tgpu.warps = 1, grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %0 = tile.broadcast %x : f32 -> tensor<16xf32, #lanes>
  %1 = tile.expand_dims %0 dim 0 : tensor<16xf32, #lanes> -> tensor<1x16xf32, #alike>
  // expected-error @+1 {{expects its elements in the threads and registers that have the result's}}
  %2 = tile.expand_dims %0 dim 0 : tensor<16xf32, #lanes> -> tensor<1x16xf32, #other>
  tile.return
}

// -----

#columns = #tgpu.layout<16x16 register = [[1, 0], [2, 0], [4, 0], [8, 0]], lane = [[0, 1], [0, 2], [0, 4], [0, 0], [0, 0]], warp = [[0, 8]]>
#row = #tgpu.layout<16 register = [[1], [2], [4], [8]], lane = [[0], [0], [0], [0], [0]], warp = [[0]]>
tile.kernel @across_warps(%x: f32) attributes {tgpu.shared_bytes = 0, tgpu.warps = 2, grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %0 = tile.broadcast %x : f32 -> tensor<16x16xf32, #columns>
  // expected-error @+1 {{expects a reduction inside each warp on a GPU}}
  %1 = tile.reduce add %0 dim 1 : tensor<16x16xf32, #columns> -> tensor<16xf32, #row>
  tile.return
}

// -----

#acc = #tgpu.layout<accumulator 16x16 warps 1>
#half = #tgpu.layout<16 register = [[8]], lane = [[0], [0], [1], [2], [4]]>
#whole = #tgpu.layout<16 register = [[1], [2], [4], [8]], lane = [[0], [0], [0], [0], [0]]>
tile.kernel @other_rows(%x: f32) attributes {tgpu.shared_bytes = 0, tgpu.warps = 1, grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %0 = tile.broadcast %x : f32 -> tensor<16x16xf32, #acc>
  // expected-error @+1 {{expects its result in the threads that have its rows}}
  %1 = tile.reduce add %0 dim 1 : tensor<16x16xf32, #acc> -> tensor<16xf32, #whole>
  tile.return
}

// -----

#columns = #tgpu.layout<16x16 register = [[1, 0], [2, 0], [4, 0], [8, 0]], lane = [[0, 1], [0, 2], [0, 4], [0, 0], [0, 0]], warp = [[0, 8]]>
#row = #tgpu.layout<16 register = [[1], [2], [4], [8]], lane = [[0], [0], [0], [0], [0]], warp = [[0]]>
tile.kernel @sums_across_warps(%x: f32) attributes {tgpu.shared_bytes = 0, tgpu.warps = 2, grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %a = tile.broadcast %x : f32 -> tensor<16x16xf32, #columns>
  %m = tile.broadcast %x : f32 -> tensor<16xf32, #row>
  // expected-error @+1 {{expects rows inside each warp on a GPU}}
  %o, %lse = tile.online_finalize %a, %m, %m {tgpu.thread_sums} : tensor<16x16xf32, #columns>, tensor<16xf32, #row>
  tile.return
}

// -----
tile.kernel @no_layout(%x: f32) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>, tgpu.shared_bytes = 0 : i64, tgpu.warps = 1 : i64} {
  // expected-error @+1 {{expected a kernel at stage S7, found a tile without a layout}}
  %a = tile.broadcast %x : f32 -> tensor<16x16xf32>
  tile.return
}
// -----
#acc = #tgpu.layout<accumulator 16x16 warps 1>
!buffer = !tgpu.buffer<2 x 16x16xf32, #tgpu.layout<swizzled 16x16 bytes 4>>
tile.kernel @state_without_layout(%x: f32, %y: f32) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>, tgpu.shared_bytes = 4096 : i64, tgpu.warps = 1 : i64} {
  %b = tgpu.alloc at 0 : !buffer
  %a = tile.broadcast %x : f32 -> tensor<16x16xf32, #acc>
  // expected-error @+1 {{expected a kernel at stage S7, found a tile without a layout}}
  %m = tile.broadcast %x : f32 -> tensor<16xf32>
  %0:3 = tgpu.merge_parts %a, %m, %m by %b : (tensor<16x16xf32, #acc>, tensor<16xf32>, tensor<16xf32>, !buffer) -> (tensor<16x16xf32, #acc>, tensor<16xf32>, tensor<16xf32>)
  tile.return
}
