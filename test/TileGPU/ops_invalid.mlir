// RUN: fa-opt %s --split-input-file --verify-diagnostics

#acc = #tgpu.layout<accumulator 16x16 warps 1>
func.func @plain(%x: tensor<16x16xf32>) {
  // expected-error @below {{expects a tile with a layout of registers, found 'tensor<16x16xf32>'}}
  %0 = tgpu.convert %x : tensor<16x16xf32> -> tensor<16x16xf32, #acc>
  return
}
// -----
#acc = #tgpu.layout<accumulator 16x16 warps 1>
func.func @element(%x: tensor<16x16xf32, #acc>) {
  // expected-error @below {{expects to change the layout alone}}
  %0 = tgpu.convert %x : tensor<16x16xf32, #acc> -> tensor<16x16xf16, #acc>
  return
}
// -----
func.func @alloc() {
  // expected-error @below {{expects to be in the body of a tile.kernel}}
  %0 = tgpu.alloc : <1 x 16x16xf16, #tgpu.layout<swizzled 16x16 bytes 2>>
  return
}
// -----
tile.kernel @rows() attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  // expected-error @below {{expects tiles with all rows of their layout, found '!tgpu.buffer<1 x 24x32xf16}}
  %0 = tgpu.alloc : <1 x 24x32xf16, #tgpu.layout<swizzled 32x32 bytes 2>>
  tile.return
}
// -----
#acc = #tgpu.layout<accumulator 16x16 warps 1>
!buffer = !tgpu.buffer<1 x 16x32xf16, #tgpu.layout<swizzled 16x32 bytes 2>>
func.func @read(%b: !buffer, %i: index) {
  // expected-error @below {{expects a tile of the buffer's sizes}}
  %0 = tgpu.read %b[%i] : !buffer -> tensor<16x16xf16, #acc>
  return
}
// -----
!buffer = !tgpu.buffer<1 x 16x32xf16, #tgpu.layout<swizzled 16x32 bytes 2>>
func.func @copy(%m: memref<?x?xf16>, %b: !buffer, %i: index) {
  // expected-error @below {{expects 4, 8 or 16 bytes or one element, found 6}}
  tgpu.copy %m[%i, %i] to %b[%i] bytes 6 : memref<?x?xf16>, !buffer
  return
}
// -----
!buffer = !tgpu.buffer<1 x 16x32xf16, #tgpu.layout<swizzled 16x32 bytes 2>>
func.func @copy(%m: memref<?xf16>, %b: !buffer, %i: index) {
  // expected-error @below {{expects a source and indices of the buffer's rank and element type}}
  tgpu.copy %m[%i] to %b[%i] bytes 4 : memref<?xf16>, !buffer
  return
}
// -----
#acc = #tgpu.layout<accumulator 16x16 warps 1>
#rows = #tgpu.layout<16 register = [[8]], lane = [[0], [0], [1], [2], [4]]>
!buffer = !tgpu.buffer<1 x 16x16xf32, #tgpu.layout<swizzled 16x16 bytes 4>>
func.func @parts(%b: !buffer, %a: tensor<16x16xf32, #acc>, %m: tensor<16xf32, #rows>) {
  // expected-error @below {{expects a buffer of 2 slots, found '!tgpu.buffer<1 x}}
  %0:3 = tgpu.merge_parts %a, %m, %m by %b : (tensor<16x16xf32, #acc>, tensor<16xf32, #rows>, tensor<16xf32, #rows>, !buffer) -> (tensor<16x16xf32, #acc>, tensor<16xf32, #rows>, tensor<16xf32, #rows>)
  return
}
// -----
tile.kernel @offset() attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  // expected-error @below {{expects an offset that is a multiple of 128, found 64}}
  %0 = tgpu.alloc at 64 : !tgpu.buffer<1 x 16x16xf16, #tgpu.layout<swizzled 16x16 bytes 2>>
  tile.return
}
