// Which packed sequence a slot belongs to: the lanes of a warp look at 32 offsets, twice, and a ballot says how many sequences have begun.
// Where there are no such lanes it is two loops of loads.
// RUN: fa-run %s --entry=sequence --arch=sm_80 --emit=llvm | FileCheck %s
// RUN: fa-run %s --entry=sequence --arch=gfx942 --emit=llvm | FileCheck %s --check-prefix=LOOPS
// RUN: fa-run %s --entry=sequence --arch=x86-64-v3 --emit=llvm | FileCheck %s --check-prefix=LOOPS
// Of 3 sequences of 200, 0 and 100 rows the first has slots 0 to 1, the second 2 (floor(200 / 128) + 1) alone, the third 3 to 4.
// RUN: fa-run %s --entry=sequence --in=%S/Inputs/offsets.npy --out=%t.npy --target=emulator:sm_90
// RUN: fa-run %s --entry=sequence --in=%S/Inputs/offsets.npy --out=%t-host.npy --target=cpu
// RUN: cmp %t.npy %t-host.npy
// RUN: od -An -t d4 -j 128 -w40 %t.npy | FileCheck %s --check-prefix=FOUND

// CHECK-COUNT-2: call i32 @llvm.nvvm.vote.ballot.sync
// CHECK: call i32 @llvm.nvvm.shfl.sync.idx.i32
// CHECK-NOT: vote
// CHECK: ret void
// LOOPS-NOT: ballot
// LOOPS: ret void
// FOUND: 0 0 1 2 2 0 0 2 3 3
tile.kernel @sequence(%offsets: memref<?xi32, strided<[?]>> {tile.access = #tile.access<in>}, %o: memref<10xi32> {tile.access = #tile.access<out>})
    attributes {grid = affine_map<() -> (5)>, grid_sizes = array<i64>} {
  %c5 = arith.constant 5 : index
  %slot = tile.program_id 0
  %sequence, %first = tile.sequence_of %slot in %offsets rows 128 : memref<?xi32, strided<[?]>>
  %s = arith.index_cast %sequence : index to i32
  %f = arith.index_cast %first : index to i32
  %st = tile.broadcast %s : i32 -> tensor<1xi32>
  %ft = tile.broadcast %f : i32 -> tensor<1xi32>
  %behind = arith.addi %slot, %c5 : index
  tile.store %st, %o[%slot] : tensor<1xi32>, memref<10xi32>
  tile.store %ft, %o[%behind] : tensor<1xi32>, memref<10xi32>
  tile.return
}
