// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where keys grow, those that are equal to x are those from `first` to `last`, without
// `last`: first[i] is the number of keys less than rows[i], last[i] that of keys which are
// not greater. Where a key is less than the one before it, 0 and the number of all keys.
// grows[0] is 1 where none is, else 0.
tile.kernel @bounds(%keys: memref<?xi64, strided<[?]>> {tile.access = #tile.access<in>},
                    %rows: memref<?xi64, strided<[?]>> {tile.access = #tile.access<in>},
                    %first: memref<?xi32, strided<[1]>> {tile.access = #tile.access<out>},
                    %last: memref<?xi32, strided<[1]>> {tile.access = #tile.access<out>},
                    %growing: memref<1xi32, strided<[1]>> {tile.access = #tile.access<out>})
    attributes {grid = affine_map<()[s0] -> (s0 ceildiv 32)>, grid_sizes = array<i64: 1, 0>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c32 = arith.constant 32 : index
  %c512 = arith.constant 512 : index
  %n = memref.dim %keys, %c0 : memref<?xi64, strided<[?]>>
  %program = tile.program_id 0
  %at = arith.muli %program, %c32 : index
  %x = tile.load %rows[%at] : memref<?xi64, strided<[?]>> -> tensor<32xi64>
  // Whether a key is less than the one before it.
  %none = arith.constant dense<0> : tensor<512xi64>
  %falls = arith.constant dense<1> : tensor<512xi64>
  %lane = tile.iota dim 0 : tensor<512xindex>
  %end = tile.broadcast %n : index -> tensor<512xindex>
  %found = scf.for %j = %c1 to %n step %c512 iter_args(%any = %none) -> (tensor<512xi64>) {
    %before = arith.subi %j, %c1 : index
    %a = tile.load %keys[%before] : memref<?xi64, strided<[?]>> -> tensor<512xi64>
    %b = tile.load %keys[%j] : memref<?xi64, strided<[?]>> -> tensor<512xi64>
    %js = tile.broadcast %j : index -> tensor<512xindex>
    %place = arith.addi %js, %lane : tensor<512xindex>
    %inside = arith.cmpi slt, %place, %end : tensor<512xindex>
    %less = arith.cmpi slt, %b, %a : tensor<512xi64>
    %is = arith.andi %inside, %less : tensor<512xi1>
    %next = arith.select %is, %falls, %any : tensor<512xi1>, tensor<512xi64>
    scf.yield %next : tensor<512xi64>
  }
  %line = tile.expand_dims %found dim 0 : tensor<512xi64> -> tensor<1x512xi64>
  %max = tile.reduce max %line dim 1 : tensor<1x512xi64> -> tensor<1xi64>
  %fall = tile.broadcast %max : tensor<1xi64> -> tensor<32xi64>
  %zero = arith.constant dense<0> : tensor<1xi64>
  %no_fall = arith.cmpi eq, %max, %zero : tensor<1xi64>
  %said = arith.extui %no_fall : tensor<1xi1> to tensor<1xi32>
  tile.store %said, %growing[%program] : tensor<1xi32>, memref<1xi32, strided<[1]>>
  %zeros = arith.constant dense<0> : tensor<32xi64>
  %grows = arith.cmpi eq, %fall, %zeros : tensor<32xi64>
  // How many keys are less, and how many are at most: a bit at a time, from the
  // largest power of two that is no more than there are.
  %i0 = arith.constant dense<0> : tensor<32xindex>
  %i1 = arith.constant dense<1> : tensor<32xindex>
  %count = tile.broadcast %n : index -> tensor<32xindex>
  %power = scf.while (%p = %c1) : (index) -> index {
    %twice = arith.muli %p, %c2 : index
    %more = arith.cmpi sle, %twice, %n : index
    scf.condition(%more) %p : index
  } do {
  ^bb0(%p: index):
    %twice = arith.muli %p, %c2 : index
    scf.yield %twice : index
  }
  %rest, %less, %most = scf.while (%p = %power, %l = %i0, %m = %i0)
      : (index, tensor<32xindex>, tensor<32xindex>) -> (index, tensor<32xindex>, tensor<32xindex>) {
    %more = arith.cmpi sgt, %p, %c0 : index
    scf.condition(%more) %p, %l, %m : index, tensor<32xindex>, tensor<32xindex>
  } do {
  ^bb0(%p: index, %l: tensor<32xindex>, %m: tensor<32xindex>):
    %step = tile.broadcast %p : index -> tensor<32xindex>
    %l1 = arith.addi %l, %step : tensor<32xindex>
    %m1 = arith.addi %m, %step : tensor<32xindex>
    %lin = arith.cmpi sle, %l1, %count : tensor<32xindex>
    %min = arith.cmpi sle, %m1, %count : tensor<32xindex>
    %lat = arith.subi %l1, %i1 : tensor<32xindex>
    %mat = arith.subi %m1, %i1 : tensor<32xindex>
    %lkey = tile.gather %keys[%lat] mask %lin in_bounds : memref<?xi64, strided<[?]>>, (tensor<32xindex>) -> tensor<32xi64>
    %mkey = tile.gather %keys[%mat] mask %min in_bounds : memref<?xi64, strided<[?]>>, (tensor<32xindex>) -> tensor<32xi64>
    %lis = arith.cmpi slt, %lkey, %x : tensor<32xi64>
    %mis = arith.cmpi sle, %mkey, %x : tensor<32xi64>
    %ltake = arith.andi %lin, %lis : tensor<32xi1>
    %mtake = arith.andi %min, %mis : tensor<32xi1>
    %lnext = arith.select %ltake, %l1, %l : tensor<32xi1>, tensor<32xindex>
    %mnext = arith.select %mtake, %m1, %m : tensor<32xi1>, tensor<32xindex>
    %half = arith.divui %p, %c2 : index
    scf.yield %half, %lnext, %mnext : index, tensor<32xindex>, tensor<32xindex>
  }
  %lower = arith.select %grows, %less, %i0 : tensor<32xi1>, tensor<32xindex>
  %upper = arith.select %grows, %most, %count : tensor<32xi1>, tensor<32xindex>
  %lower32 = arith.index_cast %lower : tensor<32xindex> to tensor<32xi32>
  %upper32 = arith.index_cast %upper : tensor<32xindex> to tensor<32xi32>
  tile.store %lower32, %first[%at] : tensor<32xi32>, memref<?xi32, strided<[1]>>
  tile.store %upper32, %last[%at] : tensor<32xi32>, memref<?xi32, strided<[1]>>
  tile.return
}
