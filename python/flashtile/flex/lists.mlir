// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The blocks of each row of kinds, as tile.block_lists has them: full ones (2) first, then
// partial ones (1), then the others, each in order; counts has the number of full ones, and
// that of both. A program counts one row, and then gives each block its place.
tile.kernel @lists(%kinds: memref<?x?x?x?xi32, strided<[?, ?, ?, 1]>> {tile.access = #tile.access<in>},
                   %blocks: memref<?x?x?x?xi32, strided<[?, ?, ?, 1]>> {tile.access = #tile.access<out>},
                   %counts: memref<?x?x?x2xi32, strided<[?, ?, ?, 1]>> {tile.access = #tile.access<out>})
    attributes {grid = affine_map<()[s0, s1, s2] -> (s2, s1, s0)>, grid_sizes = array<i64: 0, 0, 0, 1, 0, 2>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c128 = arith.constant 128 : index
  %row = tile.program_id 0
  %head = tile.program_id 1
  %batch = tile.program_id 2
  %columns = memref.dim %kinds, %c3 : memref<?x?x?x?xi32, strided<[?, ?, ?, 1]>>
  %from = memref.subview %kinds[%batch, %head, %row, 0] [1, 1, 1, %columns] [1, 1, 1, 1]
    : memref<?x?x?x?xi32, strided<[?, ?, ?, 1]>> to memref<?xi32, strided<[1], offset: ?>>
  %to = memref.subview %blocks[%batch, %head, %row, 0] [1, 1, 1, %columns] [1, 1, 1, 1]
    : memref<?x?x?x?xi32, strided<[?, ?, ?, 1]>> to memref<?xi32, strided<[1], offset: ?>>
  %of = memref.subview %counts[%batch, %head, %row, 0] [1, 1, 1, 2] [1, 1, 1, 1]
    : memref<?x?x?x2xi32, strided<[?, ?, ?, 1]>> to memref<2xi32, strided<[1], offset: ?>>
  %zero = arith.constant dense<0> : tensor<128xi32>
  %one = arith.constant dense<1> : tensor<128xi32>
  %two = arith.constant dense<2> : tensor<128xi32>
  %lane = tile.iota dim 0 : tensor<128xindex>
  %end = tile.broadcast %columns : index -> tensor<128xindex>
  // Behind the last column kinds are 0.
  %full, %partial = scf.for %at = %c0 to %columns step %c128 iter_args(%f = %zero, %p = %zero)
      -> (tensor<128xi32>, tensor<128xi32>) {
    %kind = tile.load %from[%at] : memref<?xi32, strided<[1], offset: ?>> -> tensor<128xi32>
    %isfull = arith.cmpi eq, %kind, %two : tensor<128xi32>
    %ispartial = arith.cmpi eq, %kind, %one : tensor<128xi32>
    %onefull = arith.extui %isfull : tensor<128xi1> to tensor<128xi32>
    %onepartial = arith.extui %ispartial : tensor<128xi1> to tensor<128xi32>
    %nextf = arith.addi %f, %onefull : tensor<128xi32>
    %nextp = arith.addi %p, %onepartial : tensor<128xi32>
    scf.yield %nextf, %nextp : tensor<128xi32>, tensor<128xi32>
  }
  %fullline = tile.expand_dims %full dim 0 : tensor<128xi32> -> tensor<1x128xi32>
  %partialline = tile.expand_dims %partial dim 0 : tensor<128xi32> -> tensor<1x128xi32>
  %numfull = tile.reduce add %fullline dim 1 : tensor<1x128xi32> -> tensor<1xi32>
  %numpartial = tile.reduce add %partialline dim 1 : tensor<1x128xi32> -> tensor<1xi32>
  %numseen = arith.addi %numfull, %numpartial : tensor<1xi32>
  tile.store %numfull, %of[%c0] : tensor<1xi32>, memref<2xi32, strided<[1], offset: ?>>
  tile.store %numseen, %of[%c1] : tensor<1xi32>, memref<2xi32, strided<[1], offset: ?>>
  %firstpartial = tile.broadcast %numfull : tensor<1xi32> -> tensor<128xi32>
  %firstother = tile.broadcast %numseen : tensor<1xi32> -> tensor<128xi32>
  scf.for %at = %c0 to %columns step %c128 iter_args(%f = %zero, %p = %firstpartial, %o = %firstother)
      -> (tensor<128xi32>, tensor<128xi32>, tensor<128xi32>) {
    %kind = tile.load %from[%at] : memref<?xi32, strided<[1], offset: ?>> -> tensor<128xi32>
    %isfull = arith.cmpi eq, %kind, %two : tensor<128xi32>
    %ispartial = arith.cmpi eq, %kind, %one : tensor<128xi32>
    %isother = arith.cmpi eq, %kind, %zero : tensor<128xi32>
    %onefull = arith.extui %isfull : tensor<128xi1> to tensor<128xi32>
    %onepartial = arith.extui %ispartial : tensor<128xi1> to tensor<128xi32>
    %oneother = arith.extui %isother : tensor<128xi1> to tensor<128xi32>
    %uptofull = tile.scan add %onefull dim 0 : tensor<128xi32>
    %uptopartial = tile.scan add %onepartial dim 0 : tensor<128xi32>
    %uptoother = tile.scan add %oneother dim 0 : tensor<128xi32>
    %placefull = arith.addi %f, %uptofull : tensor<128xi32>
    %placepartial = arith.addi %p, %uptopartial : tensor<128xi32>
    %placeother = arith.addi %o, %uptoother : tensor<128xi32>
    %seenplace = arith.select %isfull, %placefull, %placepartial : tensor<128xi1>, tensor<128xi32>
    %behind = arith.select %isother, %placeother, %seenplace : tensor<128xi1>, tensor<128xi32>
    %place = arith.subi %behind, %one : tensor<128xi32>
    %index = arith.index_cast %place : tensor<128xi32> to tensor<128xindex>
    %first = tile.broadcast %at : index -> tensor<128xindex>
    %block = arith.addi %first, %lane : tensor<128xindex>
    %inside = arith.cmpi slt, %block, %end : tensor<128xindex>
    %number = arith.index_cast %block : tensor<128xindex> to tensor<128xi32>
    tile.scatter %number, %to[%index] mask %inside in_bounds : tensor<128xi32>, memref<?xi32, strided<[1], offset: ?>>, (tensor<128xindex>)
    %linef = tile.expand_dims %onefull dim 0 : tensor<128xi32> -> tensor<1x128xi32>
    %linep = tile.expand_dims %onepartial dim 0 : tensor<128xi32> -> tensor<1x128xi32>
    %lineo = tile.expand_dims %oneother dim 0 : tensor<128xi32> -> tensor<1x128xi32>
    %sumf = tile.reduce add %linef dim 1 : tensor<1x128xi32> -> tensor<1xi32>
    %sump = tile.reduce add %linep dim 1 : tensor<1x128xi32> -> tensor<1xi32>
    %sumo = tile.reduce add %lineo dim 1 : tensor<1x128xi32> -> tensor<1xi32>
    %allf = tile.broadcast %sumf : tensor<1xi32> -> tensor<128xi32>
    %allp = tile.broadcast %sump : tensor<1xi32> -> tensor<128xi32>
    %allo = tile.broadcast %sumo : tensor<1xi32> -> tensor<128xi32>
    %nextf = arith.addi %f, %allf : tensor<128xi32>
    %nextp = arith.addi %p, %allp : tensor<128xi32>
    %nexto = arith.addi %o, %allo : tensor<128xi32>
    scf.yield %nextf, %nextp, %nexto : tensor<128xi32>, tensor<128xi32>, tensor<128xi32>
  }
  tile.return
}
