// Plans that no block can run, and text that is none.
// RUN: fa-opt %s --split-input-file --verify-diagnostics

// expected-error @below {{partition 'all': expected 1 to 32 warps, a power of two, found 3}}
#a = #tgpu.plan<tile 64x64, partitions [all w3]>
// -----
// expected-error @below {{partition 'load': expected a group of warps at least, found 0}}
#a = #tgpu.plan<tile 64x64, partitions [load*0 w4, compute w4], slots {program 1, step 2}>
// -----
// expected-error @below {{partition 'load': expected registers in steps of 8 from 24 to 256, found 30}}
#a = #tgpu.plan<tile 64x64, partitions [load w4 r30, compute w4], slots {program 1, step 2}>
// -----
// expected-error @below {{expected partitions of 65536 registers at most, found 94208}}
#a = #tgpu.plan<tile 192x64, partitions [load w4 r40, compute*3 w4 r232], slots {program 3, step 2}>
// -----
// expected-error @below {{expected partitions of different names, found 'load' twice}}
#a = #tgpu.plan<tile 64x64, partitions [load w4, load w4], slots {program 1, step 2}>
// -----
// expected-error @below {{expected partitions 'load' and 'compute', perhaps 'convert' between them and 'store' behind them, where there are several}}
#a = #tgpu.plan<tile 64x64, partitions [load w4, store w4], slots {program 1, step 2}>
// -----
// expected-error @below {{expected partitions 'load' and 'compute', perhaps 'convert' between them and 'store' behind them, where there are several}}
#a = #tgpu.plan<tile 64x64, partitions [load w4, store w4, compute w4], slots {program 1, step 2}>
// -----
// expected-error @below {{partition 'store': expected the 4 warps of a warpgroup, found 1}}
#a = #tgpu.plan<tile 64x64, partitions [load w4, compute w4, store w1], slots {program 1, step 2}>
// -----
// expected-error @below {{partition 'store': expected a group of warps, found 2}}
#a = #tgpu.plan<tile 64x64, partitions [load w4, compute w4, store*2 w4], slots {program 1, step 2}>
// -----
// expected-error @below {{expected partitions of 65536 registers at most, found 67584}}
#a = #tgpu.plan<tile 128x64, partitions [load w4 r40, compute*2 w4 r232, store w4 r24], slots {program 2, step 2}>
// -----
// expected-error @below {{expected partitions of 61440 registers at most, found 65536}}
#a = #tgpu.plan<tile 192x128, partitions [load w4 r32, compute*3 w4 r152, store w4 r24], slots {program 3, step 2}>
// -----
// expected-error @below {{expected partitions 'load' and 'compute', perhaps 'convert' between them and 'store' behind them, where there are several}}
#a = #tgpu.plan<tile 128x64, partitions [load w4, compute w4, convert w4], slots {program 1, step 2}>
// -----
// expected-error @below {{partition 'convert': expected a group of warps, found 2}}
#a = #tgpu.plan<tile 128x64, partitions [load w4, convert*2 w4, compute w4], slots {program 1, step 2}>
// -----
// expected-error @below {{expected slots of tiles that are widened, narrow, where there is a partition 'convert', found 1}}
#a = #tgpu.plan<tile 128x64, partitions [load w4, compute w4], slots {program 1, step 2, narrow 1}>
// -----
// expected-error @below {{expected slots of exchanged tiles of at least 0, found -1}}
#a = #tgpu.plan<tile 64x64, partitions [load w4, compute w4], slots {program 1, step 2, exchange -1}>
// -----
// expected-error @below {{expected 'scores'}}
#a = #tgpu.plan<tile 64x64, partitions [load w4, compute w4], slots {program 1, step 2, output 2}>
// -----
// expected-error @below {{expected a partition at least, found none}}
#a = #tgpu.plan<tile 64x64, partitions []>
// -----
// expected-error @below {{expected a slot of each tile at least, found program 0 and step 2}}
#a = #tgpu.plan<tile 64x64, partitions [load w4, compute w4], slots {program 0, step 2}>
// -----
// expected-error @below {{expected slots of scores of at least 0}}
#a = #tgpu.plan<tile 64x64, partitions [load w4, compute w4], slots {program 1, step 2, scores [-1]}>
// -----
// expected-error @below {{expected a cluster of 1, 2, 4 or 8 blocks, found 3}}
#a = #tgpu.plan<tile 64x64, partitions [load w4, compute w4], slots {program 1, step 2}, cluster 3>
// -----
// expected-error @below {{expected 0 to 8 programs that a block takes ahead, found 9}}
#a = #tgpu.plan<tile 64x64, partitions [load w4, compute w4], slots {program 1, step 2}, persistent, dynamic 9>
// -----
// expected-error @below {{expected programs to be taken in turn by persistent blocks of specialized warps, without clusters and without one that converts, found others}}
#a = #tgpu.plan<tile 64x64, partitions [load w4, compute w4], slots {program 1, step 2}, dynamic 2>
// -----
// expected-error @below {{expected programs to be taken in turn by persistent blocks of specialized warps, without clusters and without one that converts, found others}}
#a = #tgpu.plan<tile 64x64, partitions [load w4, compute w4], slots {program 1, step 2}, persistent, cluster 2, dynamic 2>
// -----
// expected-error @below {{expected two slots of a step's tiles at least beside sums_first, where the next tile is awaited before this one is released, found 1}}
#a = #tgpu.plan<tile 64x64, partitions [load w4, compute w4], slots {program 1, step 1}, loop [0:1, 1:0], sums_first>
// -----
// expected-error @below {{expected a tile of two sizes, found 3}}
#a = #tgpu.plan<tile 64x64x8, partitions [all w4]>
// -----
// expected-error @below {{expected w and a number, found 'x4'}}
#a = #tgpu.plan<tile 64x64, partitions [all x4]>
// -----
// expected-error @below {{expected slots, loop, max, ping_pong, late_rescale, sums_first, persistent, cluster or dynamic, found 'pingpong'}}
#a = #tgpu.plan<tile 64x64, partitions [all w4], pingpong>
// -----
// expected-error @below {{expected 'speculative'}}
#a = #tgpu.plan<tile 64x64, partitions [all w4], max exact>
// -----
// expected-error @below {{expected dots of a loop where warps are specialized, found 2 beside one partition}}
#a = #tgpu.plan<tile 64x64, partitions [all w4], loop [0:0, 1:1]>
// -----
// expected-error @below {{expected dots of stage 0 or 1, found 2}}
#a = #tgpu.plan<tile 64x64, partitions [load w4, compute w4], slots {program 1, step 2}, loop [0:0, 2:1]>
// -----
// expected-error @below {{expected an order of the loop's 2 dots, each place once, found 1 twice}}
#a = #tgpu.plan<tile 64x64, partitions [load w4, compute w4], slots {program 1, step 2}, loop [0:1, 1:1]>
// -----
// expected-error @below {{expected an order of the loop's 2 dots, each place once, found 2}}
#a = #tgpu.plan<tile 64x64, partitions [load w4, compute w4], slots {program 1, step 2}, loop [0:0, 1:2]>
// -----
// expected-error @below {{expected a dot of stage 0 at least, found none}}
#a = #tgpu.plan<tile 64x64, partitions [load w4, compute w4], slots {program 1, step 2}, loop [1:0]>
// -----
// expected-error @below {{expected ':'}}
#a = #tgpu.plan<tile 64x64, partitions [load w4, compute w4], slots {program 1, step 2}, loop [0, 1]>
// -----
// expected-error @below {{a #tgpu.plan}}
tile.kernel @other() attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>, tgpu.plan = 4 : i64} {
  tile.return
}
