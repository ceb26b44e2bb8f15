// Each stage of the schedule refuses the kernel of the one before it.
// RUN: split-file %s %t
// RUN: fa-opt %t/s4.mlir --verify-diagnostics --tgpu-verify-stage=stage=S4
// RUN: sed "/expected-error/d" %t/s5.mlir | fa-opt --tgpu-verify-stage=stage=S4 -o /dev/null
// RUN: fa-opt %t/s5.mlir --verify-diagnostics --tgpu-verify-stage=stage=S5
// RUN: sed "/expected-error/d" %t/s6.mlir | fa-opt --tgpu-verify-stage=stage=S5 -o /dev/null
// RUN: fa-opt %t/s6.mlir --verify-diagnostics --tgpu-verify-stage=stage=S6
// RUN: sed "/expected-error/d" %t/s7.mlir | fa-opt --tgpu-verify-stage=stage=S6 -o /dev/null
// RUN: fa-opt %t/s7.mlir --verify-diagnostics --tgpu-verify-stage=stage=S7

//--- s4.mlir
#acc = #tgpu.layout<accumulator 16x16 warps 1>
#blocked = #tgpu.layout<blocked 16x16 vector 1 warps 1>
tile.kernel @elementwise(%x: f32) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  // expected-error @below {{'tile.broadcast' op not at stage S4 (layout): expected a tile with a layout}}
  %plain = tile.broadcast %x : f32 -> tensor<16x16xf32>
  %a = tile.broadcast %x : f32 -> tensor<16x16xf32, #acc>
  %b = tgpu.convert %a : tensor<16x16xf32, #acc> -> tensor<16x16xf32, #blocked>
  tile.return
}

//--- s5.mlir
#acc = #tgpu.layout<accumulator 16x16 warps 1>
#b = #tgpu.layout<operand_b 16x16 warps 1>
tile.kernel @crosses() attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %0 = arith.constant dense<0.0> : tensor<16x16xf16, #acc>
  // expected-error @below {{'tgpu.convert' op not at stage S5 (memory): expected a conversion inside each thread}}
  %1 = tgpu.convert %0 : tensor<16x16xf16, #acc> -> tensor<16x16xf16, #b>
  tile.return
}

//--- s6.mlir
!view = memref<?x16xf16, strided<[?, 1]>>
!buffer = !tgpu.buffer<1 x 16x16xf16, #tgpu.layout<swizzled 16x16 bytes 2>>
tile.kernel @late(%x: !view {tile.access = #tile.access<in>}) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0 = tgpu.alloc : !buffer
  scf.for %i = %c0 to %c1 step %c1 {
    // expected-error @below {{'tgpu.copy' op not at stage S6 (channels): expected this copy to begin an iteration earlier}}
    tgpu.copy %x[%i, %c0] to %0[%c0] bytes 16 : !view, !buffer
  }
  tile.return
}

//--- s7.mlir
tile.kernel @offset() attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  // expected-error @below {{'tgpu.alloc' op not at stage S7 (schedule): expected a buffer with an offset}}
  %0 = tgpu.alloc : <1 x 16x16xf16, #tgpu.layout<swizzled 16x16 bytes 2>>
  // expected-error @below {{'tgpu.channel' op not at stage S7 (schedule): expected a channel with places for slots and barriers}}
  %1 = tgpu.channel at 1024 : !tgpu.channel<2 x 64x64xf16, #tgpu.layout<swizzled 64x64 bytes 2>>
  tile.return
}
