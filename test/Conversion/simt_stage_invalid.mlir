// S8 is what one thread does.
// RUN: fa-opt %s --split-input-file --verify-diagnostics --simt-verify-stage

// Operations of a thread and scalars are at S8, of whatever dialect.
func.func @thread(%bar: !llvm.ptr<3>, %x: memref<?xf32>, %i: index, %parity: i32) {
  tgpu.simt.wait_phase %bar, %parity : !llvm.ptr<3>
  %v = memref.load %x[%i] : memref<?xf32>
  %w = arith.addf %v, %v : f32
  memref.store %w, %x[%i] : memref<?xf32>
  return
}
// -----
// expected-error @below {{'tile.kernel' op not at stage S8 (simt): expected what one thread does, found an operation on tiles}}
tile.kernel @kernel() attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  // expected-error @below {{'tile.return' op not at stage S8 (simt): expected what one thread does, found an operation on tiles}}
  tile.return
}
// -----
llvm.func @left() {
  // expected-error @below {{'tgpu.wait' op not at stage S8 (simt): expected what one thread does, found an operation on tiles}}
  tgpu.wait 0
  llvm.return
}
// -----
func.func @tile(%x: f32) -> f32 {
  // expected-error @below {{'arith.constant' op not at stage S8 (simt): expected scalars and vectors of one thread, found tensor<16x16xf32>}}
  %0 = arith.constant dense<0.0> : tensor<16x16xf32>
  return %x : f32
}
// -----
// expected-error @below {{'func.func' op not at stage S8 (simt): expected scalars and vectors of one thread, found !tgpu.buffer<1 x 16x64xf16, }}
func.func @argument(%b: !tgpu.buffer<1 x 16x64xf16, #tgpu.layout<swizzled 16x64 bytes 2>>) {
  return
}
