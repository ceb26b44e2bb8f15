// RUN: fa-opt %s --split-input-file --verify-diagnostics

tile.kernel @arguments() attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  // expected-error @below {{expects regions of two index arguments, the programs and the steps before}}
  tgpu.warp_specialize consumers 1 producer {
    tgpu.passed %c0
  } consumer {
    tgpu.passed %c0
  }
  tile.return
}
// -----
!channel = !tgpu.channel<2 x 64x64xf16, #tgpu.layout<swizzled 64x64 bytes 2>>
tile.kernel @offset() attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  // expected-error @below {{expects an offset that is a multiple of 1024, found 128}}
  %0 = tgpu.channel at 128 : !channel
  tile.return
}
// -----
!channel = !tgpu.channel<2 x 64x64xf16, #tgpu.layout<swizzled 64x64 bytes 2>>
!memory = memref<?x?x64xf16, strided<[?, ?, 1]>>
tile.kernel @indices(%x: !memory {tile.access = #tile.access<in>}) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %0 = tgpu.channel : !channel
  // expected-error @below {{expects indices of the argument's rank and the slots' element type}}
  tgpu.fetch %x[%c0, %c0] dims [1, 2] to %0, %c0 : !memory, !channel
  tile.return
}
// -----
!channel = !tgpu.channel<2 x 64x64xf16, #tgpu.layout<swizzled 64x64 bytes 2>>
!memory = memref<?x?x64xf16, strided<[?, ?, 1]>>
tile.kernel @dims(%x: !memory {tile.access = #tile.access<in>}) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %0 = tgpu.channel : !channel
  // expected-error @below {{expects two dimensions of the argument in order, found 2, 1}}
  tgpu.fetch %x[%c0, %c0, %c0] dims [2, 1] to %0, %c0 : !memory, !channel
  tile.return
}
// -----
!channel = !tgpu.channel<2 x 64x64xf16, #tgpu.layout<swizzled 64x64 bytes 2>>
!memory = memref<?x?x64xf16, strided<[?, ?, 1]>>
tile.kernel @heads_of_rows(%x: !memory {tile.access = #tile.access<in>}) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %0 = tgpu.channel : !channel
  // expected-error @below {{expects heads along a dimension that is neither the rows' nor the columns', found 1 beside 1, 2}}
  tgpu.fetch %x[%c0, %c0, %c0] dims [1, 2] heads 1 of %c0 to %0, %c0 : !memory, !channel
  tile.return
}
// -----
!channel = !tgpu.channel<2 x 64x64xf16, #tgpu.layout<swizzled 64x64 bytes 2>>
!memory = memref<?x?x64xf16, strided<[?, ?, 1]>>
tile.kernel @heads_that_end(%x: !memory {tile.access = #tile.access<in>}) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %0 = tgpu.channel : !channel
  // expected-error @below {{expects heads of an argument as a whole, found a table or an end}}
  tgpu.fetch %x[%c0, %c0, %c0] dims [1, 2] heads 0 of %c0 end %c0 to %0, %c0 : !memory, !channel
  tile.return
}
// -----
!channel = !tgpu.channel<2 x 128x64xf16, #tgpu.layout<swizzled 128x64 bytes 2>>
!memory = memref<?x?x64xf16, strided<[?, ?, 1]>>
tile.kernel @many_rows_of_heads(%x: !memory {tile.access = #tile.access<in>}) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %0 = tgpu.channel : !channel
  // expected-error @below {{expects rows of several heads in slots of at most 64 rows, found 128}}
  tgpu.fetch %x[%c0, %c0, %c0] dims [1, 2] heads 0 of %c0 to %0, %c0 : !memory, !channel
  tile.return
}
// -----
!channel = !tgpu.channel<2 x 64x64xf16, #tgpu.layout<swizzled 64x64 bytes 2>>
!memory = memref<?x?x?x64xf16, strided<[?, ?, ?, 1]>>
!table = memref<?xi32, strided<[?]>>
tile.kernel @table(%x: !memory {tile.access = #tile.access<in>}, %t: !table {tile.access = #tile.access<in>}) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %0 = tgpu.channel : !channel
  // expected-error @below {{expects a table of i32 of rank 2, found 'memref<?xi32, strided<[?]>>'}}
  tgpu.fetch %x[%c0, %c0, %c0, %c0] dims [2, 3] through %t[%c0] to %0, %c0 : !memory through !table, !channel
  tile.return
}
// -----
!channel = !tgpu.channel<2 x 64x64xf16, #tgpu.layout<swizzled 64x64 bytes 2>>
!memory = memref<?x?x?x64xf16, strided<[?, ?, ?, 1]>>
!table = memref<?x?xi32, strided<[?, ?]>>
tile.kernel @rows_of_pages(%x: !memory {tile.access = #tile.access<in>}, %t: !table {tile.access = #tile.access<in>}) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %0 = tgpu.channel : !channel
  // expected-error @below {{expects pages of rank 4 whose rows are dimension 2, found dimensions 1, 3}}
  tgpu.fetch %x[%c0, %c0, %c0, %c0] dims [1, 3] through %t[%c0] to %0, %c0 : !memory through !table, !channel
  tile.return
}
// -----
!channel = !tgpu.channel<2 x 64x64xf16, #tgpu.layout<swizzled 64x64 bytes 2>>
!acc = tensor<64x128xf32, #tgpu.layout<accumulator 64x128 warps 4>>
tile.kernel @sizes() attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %0 = tgpu.channel : !channel
  // expected-error @below {{expects a result of 64 x 64 over a depth of 64}}
  %1 = tgpu.dot_start slot %0, %c0 by slot %0, %c0 : (!channel, index, !channel, index) -> !tgpu.running<!acc>
  tile.return
}
// -----
!channel = !tgpu.channel<2 x 64x64xf16, #tgpu.layout<swizzled 64x64 bytes 2>>
!acc = tensor<64x64xf32, #tgpu.layout<accumulator 64x64 warps 4>>
tile.kernel @no_left() attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %0 = tgpu.channel : !channel
  // expected-error @below {{expects its left operand in registers or in a slot}}
  %1 = tgpu.dot_start by slot %0, %c0 : (!channel, index) -> !tgpu.running<!acc>
  tile.return
}
// -----
!channel = !tgpu.channel<2 x 64x64xf16, #tgpu.layout<swizzled 64x64 bytes 2>>
!acc = tensor<64x64xf32, #tgpu.layout<accumulator 64x64 warps 4>>
tile.kernel @crosses(%x: memref<?x64xf32, strided<[?, 1]>> {tile.access = #tile.access<in>}) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %0 = tile.load %x[%c0, %c0] : memref<?x64xf32, strided<[?, 1]>> -> !acc
  tgpu.warp_specialize consumers 1 producer {
  ^bb0(%programs: index, %steps: index):
    tgpu.passed %steps
  } consumer {
  ^bb0(%programs: index, %steps: index):
    // expected-error @below {{expects what crosses into a partition to go through a channel}}
    tile.store %0, %x[%c0, %c0] : !acc, memref<?x64xf32, strided<[?, 1]>>
    tgpu.passed %steps
  }
  tile.return
}
// -----
!channel = !tgpu.channel<2 x 64x64xf16, #tgpu.layout<swizzled 64x64 bytes 2>>
!acc = tensor<64x64xf32, #tgpu.layout<accumulator 64x64 warps 4>>
tile.kernel @too_deep() attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %0 = tgpu.channel : !channel
  // expected-error @below {{expects a depth that is a multiple of 16 up to 64, found 80}}
  %1 = tgpu.dot_start slot %0, %c0 by slot %0, %c0 transpose_b depth 80 : (!channel, index, !channel, index) -> !tgpu.running<!acc>
  tile.return
}
// -----
!channel = !tgpu.channel<2 x 64x64xf16, #tgpu.layout<swizzled 64x64 bytes 2>>
!left = tensor<64x64xf16, #tgpu.layout<accumulator 64x64 warps 4>>
!acc = tensor<64x64xf32, #tgpu.layout<accumulator 64x64 warps 4>>
// What is in registers is as deep as what is multiplied.
tile.kernel @depths(%t: f16) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %0 = tgpu.channel : !channel
  %v = tile.broadcast %t : f16 -> !left
  // expected-error @below {{expects a result of 64 x 64 over a depth of 64}}
  %1 = tgpu.dot_start %v by slot %0, %c0 transpose_b depth 48 : (!left, !channel, index) -> !tgpu.running<!acc>
  tile.return
}
// -----
// What no thread has written is not stored.
!slots = !tgpu.buffer<2 x 64x64xf16, #tgpu.layout<swizzled 64x64 bytes 2>>
!memory = memref<?x128xf16, strided<[?, 1]>>
tile.kernel @lines(%x: !memory {tile.access = #tile.access<out>}, %t: f16) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %0 = tgpu.alloc : !slots
  %v = tile.broadcast %t : f16 -> tensor<64x96xf16>
  // expected-error @below {{expects a tile of whole lines of 64 columns or all columns of the destination}}
  tgpu.deliver %v by %0[%c0] to %x[%c0, %c0] dims [0, 1] : tensor<64x96xf16>, !slots, !memory
  tile.return
}
// -----
!slots = !tgpu.buffer<2 x 64x128xf16, #tgpu.layout<64x128 offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [1, 8], [2, 16], [4, 32], [8, 0], [16, 0], [32, 0]] repeat 2>>
!memory = memref<?x160xf16, strided<[?, 1]>>
tile.kernel @pieces(%x: !memory {tile.access = #tile.access<out>}, %t: f16) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %0 = tgpu.alloc : !slots
  %v = tile.broadcast %t : f16 -> tensor<64x160xf16>
  // expected-error @below {{expects slots of the tile's rows and a part of its columns}}
  tgpu.deliver %v by %0[%c0] to %x[%c0, %c0] dims [0, 1] : tensor<64x160xf16>, !slots, !memory
  tile.return
}
// -----
!slots = !tgpu.buffer<2 x 64x64xf16, #tgpu.layout<swizzled 64x64 bytes 2>>
!memory = memref<?x64xf16, strided<[?, 1]>>
tile.kernel @not_a_consumer(%x: !memory {tile.access = #tile.access<out>}, %t: f16) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %0 = tgpu.alloc : !slots
  %v = tile.broadcast %t : f16 -> tensor<64x64xf16>
  // expected-error @below {{expects to be in the consumer of tgpu.warp_specialize}}
  tgpu.deliver %v by %0[%c0] to %x[%c0, %c0] dims [0, 1] : tensor<64x64xf16>, !slots, !memory
  tile.return
}
// -----
tile.kernel @no_turns() attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  // expected-error @below {{expects to be in the consumer of tgpu.warp_specialize}}
  %turns = tgpu.turns
  tile.return
}
// -----
tile.kernel @no_program(%n: index) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  // expected-error @below {{expects to be in the consumer of tgpu.warp_specialize}}
  %x, %y, %z = tgpu.program_in %n
  tile.return
}
// -----
tile.kernel @no_programs(%n: memref<?xi32, strided<[1]>> {tile.access = #tile.access<inout>}) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  // expected-error @below {{expects a kernel with tgpu.persistent and tgpu.dynamic}}
  tgpu.programs %n slots 2 : memref<?xi32, strided<[1]>>
  tile.return
}
// -----
tile.kernel @two_programs(%n: memref<?xi32, strided<[1]>> {tile.access = #tile.access<inout>}) attributes {tgpu.persistent, tgpu.dynamic, grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  tgpu.programs %n slots 2 : memref<?xi32, strided<[1]>>
  // expected-error @below {{expects to be in the body of a tile.kernel, once}}
  tgpu.programs %n slots 2 : memref<?xi32, strided<[1]>>
  tile.return
}
// -----
tile.kernel @odd_programs(%n: memref<?xi32, strided<[1]>> {tile.access = #tile.access<inout>}) attributes {tgpu.persistent, tgpu.dynamic, grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  // expected-error @below {{expects an offset that is a multiple of 16, found 8}}
  tgpu.programs %n slots 2 at 8 : memref<?xi32, strided<[1]>>
  tile.return
}
// -----
tile.kernel @not_taken(%n: index) attributes {tgpu.persistent, grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  tgpu.warp_specialize consumers 1 producer {
  ^bb0(%p: index, %s: index):
    tgpu.passed %s
  } consumer {
  ^bb0(%p: index, %s: index):
    // expected-error @below {{expects a kernel with tgpu.programs}}
    %has = tgpu.has_program %p
    tgpu.passed %s
  }
  tile.return
}
// -----
tile.kernel @not_found(%n: memref<?xi32, strided<[1]>> {tile.access = #tile.access<inout>}) attributes {tgpu.persistent, tgpu.dynamic, grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  tgpu.programs %n slots 2 found %c0 : memref<?xi32, strided<[1]>>, index
  tgpu.warp_specialize consumers 1 producer {
  ^bb0(%p: index, %s: index):
    tgpu.passed %s
  } consumer {
  ^bb0(%p: index, %s: index):
    // expected-error @below {{expects 1 numbers that were found of a program, has 0}}
    %x, %y, %z = tgpu.program_in %p
    tgpu.passed %s
  }
  tile.return
}
// -----
tile.kernel @no_turn() attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  // expected-error @below {{expects to be in the consumer of tgpu.warp_specialize}}
  tgpu.order_arrive
  tile.return
}
// -----
!scores = tensor<64x128xf32, #tgpu.layout<accumulator 64x128 warps 4>>
!rows = tensor<128xf32>
tile.kernel @rows() attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %s = arith.constant dense<0.0> : !scores
  %m = arith.constant dense<0.0> : !rows
  // expected-error @below {{expects a maximum for each row of the scores}}
  %p, %t, %r = tgpu.expected_softmax %s, %m : !scores, !rows
  tile.return
}
// -----
!scores = tensor<64x128xf32, #tgpu.layout<accumulator 64x128 warps 4>>
!rows = tensor<64xf32>
tile.kernel @no_consumer() attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %s = arith.constant dense<0.0> : !scores
  %m = arith.constant dense<0.0> : !rows
  // expected-error @below {{expects to be in the consumer of tgpu.warp_specialize}}
  %p, %t, %r = tgpu.expected_softmax %s, %m : !scores, !rows
  tile.return
}
// -----
!channel = !tgpu.channel<2 x 64x64xf16, #tgpu.layout<swizzled 64x64 bytes 2>>
tile.kernel @received(%n: index) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %0 = tgpu.channel own : !channel
  tgpu.warp_specialize consumers 2 producer {
  ^bb0(%p: index, %s: index):
    tgpu.passed %s
  } consumer {
  ^bb0(%p: index, %s: index):
    // expected-error @below {{expects a tile of the slots' rows and no more than their columns, found 'tensor<64x128xf16>'}}
    %t = tgpu.receive %0, %c0 : !channel -> tensor<64x128xf16>
    tgpu.passed %s
  }
  tile.return
}
// -----
!channel = !tgpu.channel<2 x 64x64xf16, #tgpu.layout<swizzled 64x64 bytes 2>>
tile.kernel @received_vector(%n: index) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %0 = tgpu.channel own : !channel
  tgpu.warp_specialize consumers 2 producer {
  ^bb0(%p: index, %s: index):
    tgpu.passed %s
  } consumer {
  ^bb0(%p: index, %s: index):
    // expected-error @below {{expects a tile of the slots' rows and no more than their columns, found 'tensor<64xf16>'}}
    %t = tgpu.receive %0, %c0 : !channel -> tensor<64xf16>
    tgpu.passed %s
  }
  tile.return
}
// -----
!channel = !tgpu.channel<2 x 64x64xf16, #tgpu.layout<swizzled 64x64 bytes 2>>
tile.kernel @received_outside(%n: index) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %0 = tgpu.channel own : !channel
  // expected-error @below {{expects to be in the consumer of tgpu.warp_specialize}}
  %t = tgpu.receive %0, %c0 : !channel -> tensor<64x64xf16>
  tile.return
}
// -----
tile.kernel @ramp(%x: f32) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %numbers = tgpu.alloc : !tgpu.buffer<1 x 64x8xf16, #tgpu.layout<swizzled 64x8 bytes 2>>
  // expected-error @below {{expects a buffer of 8 bf16 for each of at most 256 columns}}
  %0 = tgpu.ramp %x from %c0, %c0 by %numbers : !tgpu.buffer<1 x 64x8xf16, #tgpu.layout<swizzled 64x8 bytes 2>> -> tensor<64x64xf32>
  tile.return
}
// -----
tile.kernel @ramp_columns(%x: f32) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %numbers = tgpu.alloc : !tgpu.buffer<1 x 64x8xbf16, #tgpu.layout<swizzled 64x8 bytes 2>>
  // expected-error @below {{expects a buffer of 8 bf16 for each of at most 256 columns}}
  %0 = tgpu.ramp %x from %c0, %c0 by %numbers : !tgpu.buffer<1 x 64x8xbf16, #tgpu.layout<swizzled 64x8 bytes 2>> -> tensor<64x128xf32>
  tile.return
}
// -----
!channel = !tgpu.channel<2 x 64x64xf16, #tgpu.layout<swizzled 64x64 bytes 2>>
func.func @channel_outside() {
  // expected-error @below {{expects to be in the body of a tile.kernel}}
  %0 = tgpu.channel : !channel
  return
}
// -----
!channel = !tgpu.channel<2 x 64x64xf16, #tgpu.layout<swizzled 64x64 bytes 2>>
tile.kernel @barriers() attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  // expected-error @below {{expects barriers at a multiple of 8, found 12}}
  %0 = tgpu.channel at 1024 barriers 12 : !channel
  tile.return
}
// -----
!channel = !tgpu.channel<2 x 64x64xf16, #tgpu.layout<swizzled 64x64 bytes 2>>
!memory = memref<?x64xf16, strided<[?, 1]>>
tile.kernel @view(%x: !memory {tile.access = #tile.access<in>}, %n: index) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %0 = tgpu.channel : !channel
  %view = memref.subview %x[0, 0] [%n, 64] [1, 1] : !memory to !memory
  // expected-error @below {{expects a view of global memory that is an argument of the kernel}}
  tgpu.fetch %view[%c0, %c0] dims [0, 1] to %0, %c0 : !memory, !channel
  tile.return
}
// -----
!channel = !tgpu.channel<2 x 64x64xf16, #tgpu.layout<swizzled 64x64 bytes 2>>
!row = tensor<64xf16>
!acc = tensor<64x64xf32, #tgpu.layout<accumulator 64x64 warps 4>>
tile.kernel @row() attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %0 = tgpu.channel : !channel
  %a = arith.constant dense<0.0> : !row
  // expected-error @below {{expects tiles of two dimensions}}
  %1 = tgpu.dot_start %a by slot %0, %c0 : (!row, !channel, index) -> !tgpu.running<!acc>
  tile.return
}
// -----
!channel = !tgpu.channel<2 x 64x64xf16, #tgpu.layout<swizzled 64x64 bytes 2>>
!acc = tensor<64x64xf32, #tgpu.layout<accumulator 64x64 warps 4>>
tile.kernel @accumulator() attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %0 = tgpu.channel : !channel
  %c = arith.constant dense<0.0> : tensor<64x32xf32>
  // expected-error @below {{expects an accumulator of the result's type, found 'tensor<64x32xf32>' and 'tensor<64x64xf32, }}
  %1 = tgpu.dot_start slot %0, %c0 by slot %0, %c0 acc %c : (!channel, index, !channel, index, tensor<64x32xf32>) -> !tgpu.running<!acc>
  tile.return
}
// -----
!channel = !tgpu.channel<2 x 64x64xf16, #tgpu.layout<swizzled 64x64 bytes 2>>
!acc = tensor<64x64xf32, #tgpu.layout<accumulator 64x64 warps 4>>
tile.kernel @waited() attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %0 = tgpu.channel : !channel
  %1 = tgpu.dot_start slot %0, %c0 by slot %0, %c0 : (!channel, index, !channel, index) -> !tgpu.running<!acc>
  // expected-error @below {{expects the running tile's type, found 'tensor<64x64xf32>' of '!tgpu.running<tensor<64x64xf32, }}
  %2 = tgpu.dot_wait %1 pending 0 : (!tgpu.running<!acc>) -> tensor<64x64xf32>
  tile.return
}
// -----
!channel = !tgpu.channel<2 x 64x64xf16, #tgpu.layout<swizzled 64x64 bytes 2>>
!acc = tensor<64x64xf32, #tgpu.layout<accumulator 64x64 warps 4>>
tile.kernel @passed() attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %0 = tgpu.channel : !channel
  %p = arith.constant dense<0.0> : tensor<64x64xf32>
  %1 = tgpu.dot_start slot %0, %c0 by slot %0, %c0 : (!channel, index, !channel, index) -> !tgpu.running<!acc>
  // expected-error @below {{expects what passes through to keep its type}}
  %2, %3 = tgpu.dot_wait %1 through %p pending 0 : (!tgpu.running<!acc>, tensor<64x64xf32>) -> (!acc, tensor<64x64xf16>)
  tile.return
}
// -----
!line = !tgpu.channel<2 x 64xf16, #tgpu.layout<64 offset = [[1], [2], [4], [8], [16], [32]]>>
tile.kernel @received_line(%n: index) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %0 = tgpu.channel own : !line
  tgpu.warp_specialize consumers 2 producer {
  ^bb0(%p: index, %s: index):
    tgpu.passed %s
  } consumer {
  ^bb0(%p: index, %s: index):
    // expected-error @below {{expects a tile of the slots' rows and no more than their columns, found 'tensor<64x64xf16>'}}
    %t = tgpu.receive %0, %c0 : !line -> tensor<64x64xf16>
    tgpu.passed %s
  }
  tile.return
}
// -----
!channel = !tgpu.channel<2 x 64x64xf16, #tgpu.layout<swizzled 64x64 bytes 2>>
!buffer = !tgpu.buffer<2 x 128x128xf16, #tgpu.layout<128x128 offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [1, 8], [2, 16], [4, 32], [8, 0], [16, 0], [32, 0], [64, 0]] repeat 2>>
!rows = tensor<64x128xf16>
!memory = memref<?x64xf16, strided<[?, 1]>>
tile.kernel @stored_shared(%x: !memory {tile.access = #tile.access<out>}, %f: f16) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  // expected-error @below {{expects slots that are stored to belong to one consumer each}}
  %out = tgpu.channel stored : !channel
  tgpu.warp_specialize consumers 1 producer {
  ^bb0(%programs: index, %steps: index):
    // Nothing.
    tgpu.passed %steps
  } consumer {
  ^bb0(%programs: index, %steps: index):
    // Nothing.
    tgpu.passed %steps
  }
  tile.return
}
// -----
!channel = !tgpu.channel<2 x 64x64xf16, #tgpu.layout<swizzled 64x64 bytes 2>>
!buffer = !tgpu.buffer<2 x 128x128xf16, #tgpu.layout<128x128 offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [1, 8], [2, 16], [4, 32], [8, 0], [16, 0], [32, 0], [64, 0]] repeat 2>>
!rows = tensor<64x128xf16>
!memory = memref<?x64xf16, strided<[?, 1]>>
tile.kernel @put_elsewhere(%x: !memory {tile.access = #tile.access<out>}, %f: f16) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %out = tgpu.channel own stored : !channel
  %in = tgpu.channel : !channel
  tgpu.warp_specialize consumers 1 producer {
  ^bb0(%programs: index, %steps: index):
    // Nothing.
    tgpu.passed %steps
  } consumer {
  ^bb0(%programs: index, %steps: index):
    %t = tile.broadcast %f : f16 -> tensor<64x64xf16>
    // expected-error @below {{expects a channel of tiles that are stored}}
    tgpu.put %t to %in, %c0 : tensor<64x64xf16>, !channel
    tgpu.passed %steps
  }
  tile.return
}
// -----
!channel = !tgpu.channel<2 x 64x64xf16, #tgpu.layout<swizzled 64x64 bytes 2>>
!buffer = !tgpu.buffer<2 x 128x128xf16, #tgpu.layout<128x128 offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [1, 8], [2, 16], [4, 32], [8, 0], [16, 0], [32, 0], [64, 0]] repeat 2>>
!rows = tensor<64x128xf16>
!memory = memref<?x64xf16, strided<[?, 1]>>
tile.kernel @put_wide(%x: !memory {tile.access = #tile.access<out>}, %f: f16) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %out = tgpu.channel own stored : !channel
  %in = tgpu.channel : !channel
  tgpu.warp_specialize consumers 1 producer {
  ^bb0(%programs: index, %steps: index):
    // Nothing.
    tgpu.passed %steps
  } consumer {
  ^bb0(%programs: index, %steps: index):
    %t = tile.broadcast %f : f16 -> !rows
    // expected-error @below {{expects slots of the tile's rows and columns}}
    tgpu.put %t to %out, %c0 : !rows, !channel
    tgpu.passed %steps
  }
  tile.return
}
// -----
!channel = !tgpu.channel<2 x 64x64xf16, #tgpu.layout<swizzled 64x64 bytes 2>>
!buffer = !tgpu.buffer<2 x 128x128xf16, #tgpu.layout<128x128 offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [1, 8], [2, 16], [4, 32], [8, 0], [16, 0], [32, 0], [64, 0]] repeat 2>>
!rows = tensor<64x128xf16>
!memory = memref<?x64xf16, strided<[?, 1]>>
tile.kernel @send_from_consumer(%x: !memory {tile.access = #tile.access<out>}, %f: f16) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %out = tgpu.channel own stored : !channel
  %in = tgpu.channel : !channel
  tgpu.warp_specialize consumers 1 producer {
  ^bb0(%programs: index, %steps: index):
    // Nothing.
    tgpu.passed %steps
  } consumer {
  ^bb0(%programs: index, %steps: index):
    // expected-error @below {{expects to be where the channel's slots are emptied}}
    tgpu.send %out, %c0 to %x[%c0, %c0] dims [0, 1] : !channel, !memory
    tgpu.passed %steps
  }
  tile.return
}
// -----
!channel = !tgpu.channel<2 x 64x64xf16, #tgpu.layout<swizzled 64x64 bytes 2>>
!buffer = !tgpu.buffer<2 x 128x128xf16, #tgpu.layout<128x128 offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [1, 8], [2, 16], [4, 32], [8, 0], [16, 0], [32, 0], [64, 0]] repeat 2>>
!rows = tensor<64x128xf16>
!memory = memref<?x64xf16, strided<[?, 1]>>
tile.kernel @await_in_store(%x: !memory {tile.access = #tile.access<out>}, %f: f16) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %out = tgpu.channel own stored : !channel
  %in = tgpu.channel : !channel
  tgpu.warp_specialize consumers 1 producer {
  ^bb0(%programs: index, %steps: index):
    // Nothing.
    tgpu.passed %steps
  } consumer {
  ^bb0(%programs: index, %steps: index):
    // Nothing.
    tgpu.passed %steps
  } store {
  ^bb0(%programs: index, %steps: index):
    // expected-error @below {{expects to be where the channel's slots are emptied}}
    tgpu.await %in, %c0 : !channel
    tgpu.passed %steps
  }
  tile.return
}
// -----
!channel = !tgpu.channel<2 x 64x64xf16, #tgpu.layout<swizzled 64x64 bytes 2>>
!buffer = !tgpu.buffer<2 x 128x128xf16, #tgpu.layout<128x128 offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [1, 8], [2, 16], [4, 32], [8, 0], [16, 0], [32, 0], [64, 0]] repeat 2>>
!rows = tensor<64x128xf16>
!memory = memref<?x64xf16, strided<[?, 1]>>
tile.kernel @acquire_in_producer(%x: !memory {tile.access = #tile.access<out>}, %f: f16) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %out = tgpu.channel own stored : !channel
  %in = tgpu.channel : !channel
  tgpu.warp_specialize consumers 1 producer {
  ^bb0(%programs: index, %steps: index):
    // expected-error @below {{expects to be where the channel's slots are filled}}
    tgpu.acquire %out, %c0 : !channel
    tgpu.passed %steps
  } consumer {
  ^bb0(%programs: index, %steps: index):
    // Nothing.
    tgpu.passed %steps
  }
  tile.return
}
// -----
!channel = !tgpu.channel<2 x 64x64xf16, #tgpu.layout<swizzled 64x64 bytes 2>>
!buffer = !tgpu.buffer<2 x 128x128xf16, #tgpu.layout<128x128 offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [1, 8], [2, 16], [4, 32], [8, 0], [16, 0], [32, 0], [64, 0]] repeat 2>>
!rows = tensor<64x128xf16>
!memory = memref<?x64xf16, strided<[?, 1]>>
tile.kernel @exchange_type(%x: !memory {tile.access = #tile.access<out>}, %f: f16) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  tgpu.warp_specialize consumers 2 producer {
  ^bb0(%programs: index, %steps: index):
    // Nothing.
    tgpu.passed %steps
  } consumer {
  ^bb0(%programs: index, %steps: index):
    %t = tile.broadcast %f : f16 -> tensor<64x96xf16>
    // expected-error @below {{expects rows of a tile of 16-bit elements and rows of its transpose}}
    %r = tgpu.exchange %t : tensor<64x96xf16> -> tensor<64x96xf16>
    tgpu.passed %steps
  }
  tile.return
}
// -----
!channel = !tgpu.channel<2 x 64x64xf16, #tgpu.layout<swizzled 64x64 bytes 2>>
!buffer = !tgpu.buffer<2 x 128x128xf16, #tgpu.layout<128x128 offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [1, 8], [2, 16], [4, 32], [8, 0], [16, 0], [32, 0], [64, 0]] repeat 2>>
!rows = tensor<64x128xf16>
!memory = memref<?x64xf16, strided<[?, 1]>>
tile.kernel @exchange_without_buffer(%x: !memory {tile.access = #tile.access<out>}, %f: f16) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  tgpu.warp_specialize consumers 2 producer {
  ^bb0(%programs: index, %steps: index):
    // Nothing.
    tgpu.passed %steps
  } consumer {
  ^bb0(%programs: index, %steps: index):
    %t = tile.broadcast %f : f16 -> !rows
    // expected-error @below {{expects a buffer in tgpu.warp_specialize and none outside}}
    %r = tgpu.exchange %t : !rows -> !rows
    tgpu.passed %steps
  }
  tile.return
}
// -----
!channel = !tgpu.channel<2 x 64x64xf16, #tgpu.layout<swizzled 64x64 bytes 2>>
!buffer = !tgpu.buffer<2 x 128x128xf16, #tgpu.layout<128x128 offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [1, 8], [2, 16], [4, 32], [8, 0], [16, 0], [32, 0], [64, 0]] repeat 2>>
!rows = tensor<64x128xf16>
!memory = memref<?x64xf16, strided<[?, 1]>>
tile.kernel @exchange_rows(%x: !memory {tile.access = #tile.access<out>}, %f: f16) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %b = tgpu.alloc : !buffer
  tgpu.warp_specialize consumers 1 producer {
  ^bb0(%programs: index, %steps: index):
    // Nothing.
    tgpu.passed %steps
  } consumer {
  ^bb0(%programs: index, %steps: index):
    %t = tile.broadcast %f : f16 -> !rows
    // expected-error @below {{expects slots for the rows of all 1 consumers}}
    %r = tgpu.exchange %t by %b[%c0] : !rows, !buffer -> !rows
    tgpu.passed %steps
  }
  tile.return
}
// -----
!channel = !tgpu.channel<2 x 64x64xf16, #tgpu.layout<swizzled 64x64 bytes 2>>
!buffer = !tgpu.buffer<2 x 128x128xf16, #tgpu.layout<128x128 offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [1, 8], [2, 16], [4, 32], [8, 0], [16, 0], [32, 0], [64, 0]] repeat 2>>
!rows = tensor<64x128xf16>
!memory = memref<?x64xf16, strided<[?, 1]>>
tile.kernel @exchange_read(%x: !memory {tile.access = #tile.access<out>}, %f: f16) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %b = tgpu.alloc : !buffer
  tgpu.warp_specialize consumers 2 producer {
  ^bb0(%programs: index, %steps: index):
    // Nothing.
    tgpu.passed %steps
  } consumer {
  ^bb0(%programs: index, %steps: index):
    %t = tile.broadcast %f : f16 -> !rows
    // expected-error @below {{expects only left operands of dots to be it, found 'arith.negf'}}
    %r = tgpu.exchange %t by %b[%c0] : !rows, !buffer -> !rows
    %n = arith.negf %r : !rows
    tgpu.passed %steps
  }
  tile.return
}
// -----
!channel = !tgpu.channel<2 x 64x64xf16, #tgpu.layout<swizzled 64x64 bytes 2>>
!buffer = !tgpu.buffer<2 x 128x128xf16, #tgpu.layout<128x128 offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [1, 8], [2, 16], [4, 32], [8, 0], [16, 0], [32, 0], [64, 0]] repeat 2>>
!rows = tensor<64x128xf16>
!memory = memref<?x64xf16, strided<[?, 1]>>
tile.kernel @exchange_in_producer(%x: !memory {tile.access = #tile.access<out>}, %f: f16) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %b = tgpu.alloc : !buffer
  tgpu.warp_specialize consumers 2 producer {
  ^bb0(%programs: index, %steps: index):
    %t = tile.broadcast %f : f16 -> !rows
    // expected-error @below {{expects to be in the consumer of tgpu.warp_specialize}}
    %r = tgpu.exchange %t by %b[%c0] : !rows, !buffer -> !rows
    tgpu.passed %steps
  } consumer {
  ^bb0(%programs: index, %steps: index):
    // Nothing.
    tgpu.passed %steps
  }
  tile.return
}
// -----
tile.kernel @exchange_share(%f: f16) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %t = tile.broadcast %f : f16 -> tensor<64x128xf16>
  // expected-error @below {{expects all rows of the transpose or an equal share of them for each of 2 consumers, found 'tensor<64x128xf16>' and 'tensor<32x128xf16>'}}
  %r = tgpu.exchange %t : tensor<64x128xf16> -> tensor<32x128xf16>
  tile.return
}
// -----
!channel = !tgpu.channel<2 x 64x64xf16, #tgpu.layout<swizzled 64x64 bytes 2>>
!acc = tensor<64x64xf32, #tgpu.layout<accumulator 64x64 warps 4>>
tile.kernel @first_column() attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %0 = tgpu.channel : !channel
  // expected-error @below {{expects a first column where columns are the result's}}
  %1 = tgpu.dot_start slot %0, %c0 by slot %0, %c0 column %c0 transpose_b : (!channel, index, !channel, index, index) -> !tgpu.running<!acc>
  tile.return
}
// -----
func.func @columns(%k: tensor<32x64xf16>, %c: index) -> tensor<32x128xf16> {
  // expected-error @below {{expects columns of its tile, found 'tensor<32x128xf16>' of 'tensor<32x64xf16>'}}
  %0 = tgpu.columns %k[%c] : tensor<32x64xf16> -> tensor<32x128xf16>
  return %0 : tensor<32x128xf16>
}
// -----
func.func @columns_read(%k: tensor<32x128xf16>, %c: index) -> tensor<32x64xf16> {
  // expected-error @below {{expects only right operands of dots to be it, found 'func.return'}}
  %0 = tgpu.columns %k[%c] : tensor<32x128xf16> -> tensor<32x64xf16>
  return %0 : tensor<32x64xf16>
}
// -----
!narrow = !tgpu.channel<2 x 64x128xf8E4M3FN, #tgpu.layout<swizzled 64x128 bytes 1>>
!wide = !tgpu.channel<2 x 64x64xf16, #tgpu.layout<swizzled 64x64 bytes 2>>
tile.kernel @two_kinds() attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  // expected-error @below {{expects slots of one kind: stored, narrow or widened}}
  %from = tgpu.channel narrow widened : !narrow
  tgpu.warp_specialize consumers 1 producer {
  ^bb0(%programs: index, %steps: index):
    // Nothing.
    tgpu.passed %steps
  } consumer {
  ^bb0(%programs: index, %steps: index):
    // Nothing.
    tgpu.passed %steps
  } convert {
  ^bb0(%programs: index, %steps: index):
    // Nothing.
    tgpu.passed %steps
  }
  tile.return
}
// -----
!narrow = !tgpu.channel<2 x 64x128xf8E4M3FN, #tgpu.layout<swizzled 64x128 bytes 1>>
!wide = !tgpu.channel<2 x 64x64xf16, #tgpu.layout<swizzled 64x64 bytes 2>>
tile.kernel @widened_shared() attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  // expected-error @below {{expects slots that this block alone fills, found widened ones that are shared}}
  %to = tgpu.channel shared widened : !wide
  tgpu.warp_specialize consumers 1 producer {
  ^bb0(%programs: index, %steps: index):
    // Nothing.
    tgpu.passed %steps
  } consumer {
  ^bb0(%programs: index, %steps: index):
    // Nothing.
    tgpu.passed %steps
  } convert {
  ^bb0(%programs: index, %steps: index):
    // Nothing.
    tgpu.passed %steps
  }
  tile.return
}
// -----
!narrow = !tgpu.channel<2 x 64x128xf8E4M3FN, #tgpu.layout<swizzled 64x128 bytes 1>>
!wide = !tgpu.channel<2 x 64x64xf16, #tgpu.layout<swizzled 64x64 bytes 2>>
tile.kernel @widen_backwards() attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %from = tgpu.channel narrow : !narrow
  %to = tgpu.channel widened : !wide
  tgpu.warp_specialize consumers 1 producer {
  ^bb0(%programs: index, %steps: index):
    // Nothing.
    tgpu.passed %steps
  } consumer {
  ^bb0(%programs: index, %steps: index):
    // Nothing.
    tgpu.passed %steps
  } convert {
  ^bb0(%programs: index, %steps: index):
    // expected-error @below {{expects a narrow channel and a widened one}}
    tgpu.widen %to, %c0 to %from, %c0 : !wide, !narrow
    tgpu.passed %steps
  }
  tile.return
}
// -----
!narrow = !tgpu.channel<2 x 64x128xf8E4M3FN, #tgpu.layout<swizzled 64x128 bytes 1>>
!wide = !tgpu.channel<2 x 64x64xf16, #tgpu.layout<swizzled 64x64 bytes 2>>
tile.kernel @widen_in_consumer() attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %from = tgpu.channel narrow : !narrow
  %to = tgpu.channel widened : !wide
  tgpu.warp_specialize consumers 1 producer {
  ^bb0(%programs: index, %steps: index):
    // Nothing.
    tgpu.passed %steps
  } consumer {
  ^bb0(%programs: index, %steps: index):
    // expected-error @below {{expects to be in the region of tgpu.warp_specialize that converts}}
    tgpu.widen %from, %c0 to %to, %c0 : !narrow, !wide
    tgpu.passed %steps
  } convert {
  ^bb0(%programs: index, %steps: index):
    // Nothing.
    tgpu.passed %steps
  }
  tile.return
}
// -----
!narrow = !tgpu.channel<2 x 64x128xf8E4M3FN, #tgpu.layout<swizzled 64x128 bytes 1>>
!wide = !tgpu.channel<2 x 64x64xf16, #tgpu.layout<swizzled 64x64 bytes 2>>
tile.kernel @narrow_in_consumer() attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %from = tgpu.channel narrow : !narrow
  %to = tgpu.channel widened : !wide
  tgpu.warp_specialize consumers 1 producer {
  ^bb0(%programs: index, %steps: index):
    // Nothing.
    tgpu.passed %steps
  } consumer {
  ^bb0(%programs: index, %steps: index):
    // expected-error @below {{expects to be where the channel's slots are emptied}}
    tgpu.await %from, %c0 : !narrow
    tgpu.passed %steps
  } convert {
  ^bb0(%programs: index, %steps: index):
    // Nothing.
    tgpu.passed %steps
  }
  tile.return
}
// -----
!narrow = !tgpu.channel<2 x 64x128xf8E4M3FN, #tgpu.layout<swizzled 64x128 bytes 1>>
!wide = !tgpu.channel<2 x 64x64xf16, #tgpu.layout<swizzled 64x64 bytes 2>>
tile.kernel @widened_in_producer() attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %from = tgpu.channel narrow : !narrow
  %to = tgpu.channel widened : !wide
  tgpu.warp_specialize consumers 1 producer {
  ^bb0(%programs: index, %steps: index):
    // expected-error @below {{expects to be where the channel's slots are filled}}
    tgpu.acquire %to, %c0 : !wide
    tgpu.passed %steps
  } consumer {
  ^bb0(%programs: index, %steps: index):
    // Nothing.
    tgpu.passed %steps
  } convert {
  ^bb0(%programs: index, %steps: index):
    // Nothing.
    tgpu.passed %steps
  }
  tile.return
}
// -----
!narrow = !tgpu.channel<2 x 64x128xf8E4M3FN, #tgpu.layout<swizzled 64x128 bytes 1>>
!wide = !tgpu.channel<2 x 64x64xf16, #tgpu.layout<swizzled 64x64 bytes 2>>
!few = !tgpu.channel<2 x 16x128xf8E4M3FN, #tgpu.layout<swizzled 16x128 bytes 1>>
!few_wide = !tgpu.channel<2 x 16x64xf16, #tgpu.layout<swizzled 16x64 bytes 2>>
tile.kernel @widen_few_rows() attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %from = tgpu.channel narrow : !few
  %to = tgpu.channel widened : !few_wide
  tgpu.warp_specialize consumers 1 producer {
  ^bb0(%programs: index, %steps: index):
    // Nothing.
    tgpu.passed %steps
  } consumer {
  ^bb0(%programs: index, %steps: index):
    // Nothing.
    tgpu.passed %steps
  } convert {
  ^bb0(%programs: index, %steps: index):
    // expected-error @below {{expects slots of e4m3 or e5m2 and of f16 or bf16, of as many rows, a multiple of 32}}
    tgpu.widen %from, %c0 to %to, %c0 : !few, !few_wide
    tgpu.passed %steps
  }
  tile.return
}
// -----
!narrow = !tgpu.channel<2 x 64x128xf8E4M3FN, #tgpu.layout<swizzled 64x128 bytes 1>>
!wide = !tgpu.channel<2 x 64x64xf16, #tgpu.layout<swizzled 64x64 bytes 2>>
!wider = !tgpu.channel<2 x 64x256xf16, #tgpu.layout<64x256 offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [1, 8], [2, 16], [4, 32], [8, 0], [16, 0], [32, 0]] repeat 4>>
tile.kernel @widen_too_wide() attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %from = tgpu.channel narrow : !narrow
  %to = tgpu.channel widened : !wider
  tgpu.warp_specialize consumers 1 producer {
  ^bb0(%programs: index, %steps: index):
    // Nothing.
    tgpu.passed %steps
  } consumer {
  ^bb0(%programs: index, %steps: index):
    // Nothing.
    tgpu.passed %steps
  } convert {
  ^bb0(%programs: index, %steps: index):
    // expected-error @below {{and no more columns, found}}
    tgpu.widen %from, %c0 to %to, %c0 : !narrow, !wider
    tgpu.passed %steps
  }
  tile.return
}
// -----
!narrow = !tgpu.channel<2 x 64x128xf8E4M3FN, #tgpu.layout<swizzled 64x128 bytes 1>>
!wide = !tgpu.channel<2 x 64x64xf16, #tgpu.layout<swizzled 64x64 bytes 2>>
!acc = tensor<64x64xf32, #tgpu.layout<accumulator 64x64 warps 4>>
tile.kernel @one_narrow() attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %0 = tgpu.channel : !wide
  %1 = tgpu.channel : !narrow
  // expected-error @below {{expects operands of one type or both of 8 bits, found 'f16' and 'f8E4M3FN'}}
  %2 = tgpu.dot_start slot %0, %c0 by slot %1, %c0 transpose_b depth 64 : (!wide, index, !narrow, index) -> !tgpu.running<!acc>
  tile.return
}
// -----
!narrow = !tgpu.channel<2 x 64x128xf8E4M3FN, #tgpu.layout<swizzled 64x128 bytes 1>>
!acc = tensor<64x128xf32, #tgpu.layout<accumulator 64x128 warps 4>>
tile.kernel @narrow_across() attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %0 = tgpu.channel : !narrow
  // expected-error @below {{expects operands of 8 bits in slots, along the depth}}
  %1 = tgpu.dot_start slot %0, %c0 by slot %0, %c0 : (!narrow, index, !narrow, index) -> !tgpu.running<!acc>
  tile.return
}
// -----
!narrow = !tgpu.channel<2 x 64x128xf8E4M3FN, #tgpu.layout<swizzled 64x128 bytes 1>>
!acc = tensor<64x64xf32, #tgpu.layout<accumulator 64x64 warps 4>>
tile.kernel @narrow_depth() attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %0 = tgpu.channel : !narrow
  // expected-error @below {{expects a depth that is a multiple of 32 up to 128, found 80}}
  %1 = tgpu.dot_start slot %0, %c0 by slot %0, %c0 transpose_b depth 80 : (!narrow, index, !narrow, index) -> !tgpu.running<!acc>
  tile.return
}
