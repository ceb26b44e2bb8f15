// What is said of a tile is not said of its elements, which are other
// operations below.
// RUN: fa-opt %s --convert-tgpu-to-nvvm --convert-arith-to-llvm | FileCheck %s

#row = #tgpu.layout<64 register = [[32]], lane = [[1], [2], [4], [8], [16]]>
// CHECK-LABEL: llvm.func @product
// CHECK-NOT: tgpu.rescale
// CHECK: llvm.fmul
// CHECK-NOT: tgpu.rescale
tile.kernel @product(%x: f32, %y: memref<64xf32> {tile.access = #tile.access<out>})
    attributes {tgpu.shared_bytes = 0, tgpu.warps = 1, grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %0 = tile.broadcast %x : f32 -> tensor<64xf32, #row>
  %1 = arith.mulf %0, %0 {tgpu.rescale} : tensor<64xf32, #row>
  tile.store %1, %y[%c0] : tensor<64xf32, #row>, memref<64xf32>
  tile.return
}
