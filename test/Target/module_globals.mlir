// Two kernels that read a table of their module stay beside it: neither is compiled in a module of its own.
// RUN: fa-run %s --arch=sm_80 --emit=ptx | FileCheck %s
// CHECK: .global {{.*}} table[16]
// CHECK: .entry first(
// CHECK: .entry second(
// RUN: fa-run %s --entry=second --arch=sm_80 --emit=report | FileCheck %s --check-prefix=ONE
// ONE-NOT: @first
// ONE: kernel @second
// On the host it is the kernel's own data. The emulators refuse it by name.
// RUN: fa-run %s --entry=first --target=cpu --in 2 --out %t.npy
// RUN: od -A n -t f4 -j 128 -N 4 %t.npy | FileCheck %s --check-prefix=VALUE
// VALUE: 3
// RUN: not fa-run %s --entry=first --target=emulator:sm_80 --in 2 2>&1 | FileCheck %s --check-prefix=EMULATOR
// EMULATOR: module_globals.mlir":{{[0-9]+:[0-9]+}}): 'llvm.mlir.addressof' op the emulator does not know globals of a module
memref.global "private" constant @table : memref<4xf32> = dense<[1.0, 2.0, 3.0, 4.0]>

tile.kernel @first(%n: index, %y: memref<64xf32> {tile.access = #tile.access<out>})
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %t = memref.get_global @table : memref<4xf32>
  %x = memref.load %t[%n] : memref<4xf32>
  %all = tile.broadcast %x : f32 -> tensor<64xf32>
  tile.store %all, %y[%c0] : tensor<64xf32>, memref<64xf32>
  tile.return
}

tile.kernel @second(%n: index, %y: memref<64xf32> {tile.access = #tile.access<out>})
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %t = memref.get_global @table : memref<4xf32>
  %x = memref.load %t[%n] : memref<4xf32>
  %all = tile.broadcast %x : f32 -> tensor<64xf32>
  tile.store %all, %y[%c0] : tensor<64xf32>, memref<64xf32>
  tile.return
}
