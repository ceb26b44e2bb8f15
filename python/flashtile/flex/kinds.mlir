// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which blocks of 128 queries and keys are seen: kinds[b, h, row, column] is 2 where all
// elements of the block are, 1 where some are, else 0. A program counts those of one block,
// 8 queries at a time; %seen stands for a mask of %b, %h, %i and %j, which may read more
// arguments.
tile.kernel @kinds(%kinds: memref<?x?x?x?xi32, strided<[?, ?, ?, 1]>> {tile.access = #tile.access<out>})
    attributes {grid = affine_map<()[s0, s1, s2, s3] -> (s3, s2, s0 * s1)>,
                grid_sizes = array<i64: 0, 0, 0, 1, 0, 2, 0, 3>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c8 = arith.constant 8 : index
  %c128 = arith.constant 128 : index
  %column = tile.program_id 0
  %row = tile.program_id 1
  %image = tile.program_id 2
  %heads = memref.dim %kinds, %c1 : memref<?x?x?x?xi32, strided<[?, ?, ?, 1]>>
  %batch = arith.divui %image, %heads : index
  %head = arith.remui %image, %heads : index
  %firstquery = arith.muli %row, %c128 : index
  %firstkey = arith.muli %column, %c128 : index
  %b = tile.broadcast %batch : index -> tensor<8x128xindex>
  %h = tile.broadcast %head : index -> tensor<8x128xindex>
  %keys = tile.broadcast %firstkey : index -> tensor<8x128xindex>
  %inrow = tile.iota dim 1 : tensor<8x128xindex>
  %j = arith.addi %keys, %inrow : tensor<8x128xindex>
  %none = arith.constant dense<0> : tensor<8x128xi32>
  %counts = scf.for %at = %c0 to %c128 step %c8 iter_args(%before = %none) -> (tensor<8x128xi32>) {
    %query = arith.addi %firstquery, %at : index
    %queries = tile.broadcast %query : index -> tensor<8x128xindex>
    %incolumn = tile.iota dim 0 : tensor<8x128xindex>
    %i = arith.addi %queries, %incolumn : tensor<8x128xindex>
    %seen = arith.constant dense<true> : tensor<8x128xi1>
    %one = arith.extui %seen : tensor<8x128xi1> to tensor<8x128xi32>
    %more = arith.addi %before, %one : tensor<8x128xi32>
    scf.yield %more : tensor<8x128xi32>
  }
  %ofrows = tile.reduce add %counts dim 1 : tensor<8x128xi32> -> tensor<8xi32>
  %line = tile.expand_dims %ofrows dim 0 : tensor<8xi32> -> tensor<1x8xi32>
  %count = tile.reduce add %line dim 1 : tensor<1x8xi32> -> tensor<1xi32>
  %zero = arith.constant dense<0> : tensor<1xi32>
  %all = arith.constant dense<16384> : tensor<1xi32>
  %isseen = arith.cmpi ne, %count, %zero : tensor<1xi32>
  %isfull = arith.cmpi eq, %count, %all : tensor<1xi32>
  %partial = arith.extui %isseen : tensor<1xi1> to tensor<1xi32>
  %full = arith.extui %isfull : tensor<1xi1> to tensor<1xi32>
  %kind = arith.addi %partial, %full : tensor<1xi32>
  %columns = memref.dim %kinds, %c3 : memref<?x?x?x?xi32, strided<[?, ?, ?, 1]>>
  %of = memref.subview %kinds[%batch, %head, %row, 0] [1, 1, 1, %columns] [1, 1, 1, 1]
    : memref<?x?x?x?xi32, strided<[?, ?, ?, 1]>> to memref<?xi32, strided<[1], offset: ?>>
  tile.store %kind, %of[%column] : tensor<1xi32>, memref<?xi32, strided<[1], offset: ?>>
  tile.return
}
