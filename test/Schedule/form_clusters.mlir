// Channels of the same tiles in all programs of a head are a cluster's; Q is a block's.
// RUN: fa-run --attention "d=128 type=bf16" --arch=sm_90a --schedule=clusters --emit=tgpu | FileCheck %s
// RUN: fa-run --attention "d=128 type=bf16 softcap=20" --arch=sm_90a --schedule=clusters --emit=tgpu | FileCheck %s
// CHECK-NOT: tgpu.cluster
// CHECK: tile.kernel @attention_roles(
// CHECK-SAME: tgpu.cluster = 2 : i64
// CHECK-SAME: tgpu.persistent
// CHECK: tgpu.channel own at
// CHECK-COUNT-2: tgpu.channel shared at

// What is not asked for, is not done.
// RUN: fa-run --attention "d=128 type=bf16" --arch=sm_90a --emit=tgpu | FileCheck %s --check-prefix=NONE
// Causal tiles are as many as a program's place says, tiles of lengths end inside of a view.
// RUN: fa-run --attention "d=128 type=bf16 causal" --arch=sm_90a --schedule=clusters --emit=tgpu | FileCheck %s --check-prefix=NONE
// RUN: fa-run --attention "d=128 type=bf16 lengths" --arch=sm_90a --schedule=clusters --emit=tgpu | FileCheck %s --check-prefix=NONE
// NONE: tile.kernel @attention_roles(
// NONE-NOT: tgpu.cluster
// NONE-NOT: tgpu.channel shared

// 192 rows have fetches for three consumers, and a tile of 96 keys is dealt out in groups of eight rows.
// RUN: fa-run --attention "d=96 type=bf16" --arch=sm_90a --schedule=clusters --emit=tgpu | FileCheck %s

// What is fetched only once has no kernel for few programs, whose blocks have one program.
// RUN: fa-run --attention "d=128 type=bf16" --arch=sm_90a --schedule=clusters --emit=report --ptxas=none | FileCheck %s --check-prefix=REPORT
// REPORT: kernel @attention_roles entry @attention tile 128x128 threads 384 {{.*}}, in clusters of 2
