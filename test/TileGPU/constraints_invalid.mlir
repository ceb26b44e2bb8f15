// What the definitions of operations say of numbers, types and places.
// RUN: fa-opt %s --split-input-file --verify-diagnostics

func.func @wait() {
  // expected-error @below {{attribute 'pending' failed to satisfy constraint: 64-bit signless integer attribute whose value is non-negative}}
  tgpu.wait -1
  return
}
// -----
tile.kernel @nobody() attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  // expected-error @below {{attribute 'consumers' failed to satisfy constraint: 64-bit signless integer attribute whose value is positive}}
  tgpu.warp_specialize consumers 0 producer {
  ^bb0(%n: index, %steps: index):
    tgpu.passed %steps
  } consumer {
  ^bb0(%n: index, %steps: index):
    tgpu.passed %steps
  }
  tile.return
}
// -----
func.func @passed(%steps: index) {
  // expected-error @below {{'tgpu.passed' op expects parent op 'tgpu.warp_specialize'}}
  tgpu.passed %steps
}
// -----
!buffer = !tgpu.buffer<1 x 64x8xbf16, #tgpu.layout<swizzled 64x8 bytes 2>>
tile.kernel @ramp(%x: f32) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %numbers = tgpu.alloc : !buffer
  // expected-error @below {{result #0 must be 2D tensor of 32-bit float values, but got 'tensor<64xf32>'}}
  %0 = tgpu.ramp %x from %c0, %c0 by %numbers : !buffer -> tensor<64xf32>
  tile.return
}
// -----
llvm.func @pending(%x: f32) {
  // expected-error @below {{attribute 'pending' failed to satisfy constraint: 64-bit signless integer attribute whose value is non-negative}}
  %0 = tgpu.simt.wgmma_wait -1 through %x : (f32) -> f32
  llvm.return
}
// -----
llvm.func @left(%x: f32, %b: i64) {
  // expected-error @below {{operand #0 must be variadic of 32-bit signless integer or 64-bit signless integer, but got 'f32'}}
  %0:4 = tgpu.simt.wgmma f16 a(%x) b(%b) : (f32, i64) -> (f32, f32, f32, f32)
  llvm.return
}
