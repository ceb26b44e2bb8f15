// Faults are planted where they belong; a program without a place for one is
// refused.
// RUN: fa-opt %s --pass-pipeline='builtin.module(tgpu-mutate{fault=drop-wait})' | FileCheck %s --check-prefix=WAIT
// RUN: fa-opt %s --pass-pipeline='builtin.module(tgpu-mutate{fault=drop-commit})' | FileCheck %s --check-prefix=COMMIT
// RUN: not fa-opt %s --pass-pipeline='builtin.module(tgpu-mutate{fault=store-past-end})' 2>&1 | FileCheck %s --check-prefix=STAGE
// RUN: not fa-opt %s --pass-pipeline='builtin.module(tgpu-mutate)' 2>&1 | FileCheck %s --check-prefix=NAME
// STAGE: found no place for 'store-past-end', expected a program at S8 that has one
// NAME: expected a fault of drop-wait, {{.*}}, found ''
!view = memref<16x16xf16>
tile.kernel @one(%x: !view {tile.access = #tile.access<in>}) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %0 = tgpu.alloc at 0 : <1 x 16x16xf16, #tgpu.layout<swizzled 16x16 bytes 2>>
  // WAIT: tgpu.copy
  // WAIT-NEXT: tgpu.commit
  // WAIT-NEXT: tgpu.barrier
  // COMMIT: tgpu.copy
  // COMMIT-NEXT: tgpu.wait 0
  tgpu.copy %x[%c0, %c0] to %0[%c0] bytes 16 : !view, <1 x 16x16xf16, #tgpu.layout<swizzled 16x16 bytes 2>>
  tgpu.commit
  tgpu.wait 0
  tgpu.barrier
  tile.return
}
