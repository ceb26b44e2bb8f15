// A plan is printed as it is read.
// RUN: fa-opt %s | fa-opt | FileCheck %s
// RUN: fa-opt %s -emit-bytecode | fa-opt | FileCheck %s

// CHECK: tgpu.plan = #tgpu.plan<tile 128x64, partitions [all w4]>
tile.kernel @uniform() attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>, tgpu.plan = #tgpu.plan<tile 128x64, partitions [all w4]>} {
  tile.return
}
// CHECK: tgpu.plan = #tgpu.plan<tile 128x64, partitions [all w4], slots {step 3}>
tile.kernel @slots() attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>, tgpu.plan = #tgpu.plan<tile 128x64, partitions [all w4], slots {step 3}>} {
  tile.return
}
// CHECK: tgpu.plan = #tgpu.plan<tile 192x128, partitions [load w4 r32, compute*3 w4 r160 rows 64], slots {program 6, step 2}, loop [0:0, 1:1], max speculative, ping_pong, persistent>
tile.kernel @three() attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>,
    tgpu.plan = #tgpu.plan<tile 192x128, partitions [load w4 r32, compute*3 w4 r160 rows 64],
                           slots {program 6, step 2}, loop [0:0, 1:1], max speculative, ping_pong, persistent>} {
  tile.return
}
// Words in any order.
// CHECK: tgpu.plan = #tgpu.plan<tile 128x64, partitions [load w4 r40, compute*2 w4 r232 rows 64], slots {program 2, step 3, scores [4, 0]}, loop [0:0, 0:2, 1:1], late_rescale, cluster 2>
tile.kernel @scores() attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>,
    tgpu.plan = #tgpu.plan<tile 128x64, partitions [load w4 r40, compute*2 w4 r232 rows 64], cluster 2, late_rescale, loop [0:0, 0:2, 1:1],
                           slots {program 2, step 3, scores [4, 0]}>} {
  tile.return
}
// CHECK: tgpu.plan = #tgpu.plan<tile 128x64, partitions [load w4, compute w4], slots {program 1, step 2}, persistent, dynamic 2>
tile.kernel @dynamic() attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>,
    tgpu.plan = #tgpu.plan<tile 128x64, partitions [load w4, compute w4], dynamic 2, persistent, slots {program 1, step 2}>} {
  tile.return
}
// Three kinds of partition, and tiles that consumers exchange.
// CHECK: tgpu.plan = #tgpu.plan<tile 128x64, partitions [load w4 r40, compute*2 w4 r224 rows 64, store w4 r24], slots {program 2, step 2, scores [2], exchange 1}, persistent>
tile.kernel @store() attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>,
    tgpu.plan = #tgpu.plan<tile 128x64, partitions [load w4 r40, compute*2 w4 r224 rows 64, store w4 r24], persistent,
                           slots {program 2, step 2, exchange 1, scores [2]}>} {
  tile.return
}
// One that widens tiles of 8 bits between those that load and compute.
// CHECK: tgpu.plan = #tgpu.plan<tile 128x128, partitions [load w4 r32, convert w4 r48, compute*2 w4 r184 rows 64, store w4 r24], slots {program 2, step 2, narrow 1}, loop [0:0, 1:1]>
tile.kernel @convert() attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>,
    tgpu.plan = #tgpu.plan<tile 128x128, partitions [load w4 r32, convert w4 r48, compute*2 w4 r184 rows 64, store w4 r24],
                           slots {program 2, step 2, narrow 1}, loop [0:0, 1:1]>} {
  tile.return
}
