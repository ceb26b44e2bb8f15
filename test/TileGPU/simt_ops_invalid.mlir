// RUN: fa-opt %s --split-input-file --verify-diagnostics

llvm.func @element(%d: i64) {
  // expected-error @below {{expects factors of f16, bf16, e4m3 or e5m2, found 'f32'}}
  %0:4 = tgpu.simt.wgmma f32 a(%d) b(%d) : (i64, i64) -> (f32, f32, f32, f32)
  llvm.return
}
// -----
llvm.func @results(%d: i64) {
  // expected-error @below {{expects 4, 8, .. or 128 results, found 2}}
  %0:2 = tgpu.simt.wgmma f16 a(%d) b(%d) : (i64, i64) -> (f32, f32)
  llvm.return
}
// -----
llvm.func @left(%d: i64, %w: i32) {
  // expected-error @below {{expects a as one i64 or four i32, found 'i32', 'i32'}}
  %0:4 = tgpu.simt.wgmma f16 a(%w, %w) b(%d) : (i32, i32, i64) -> (f32, f32, f32, f32)
  llvm.return
}
// -----
llvm.func @accumulators(%d: i64, %c: f32) {
  // expected-error @below {{expects as many accumulators as results, found 1 and 4}}
  %0:4 = tgpu.simt.wgmma f16 a(%d) b(%d) acc(%c) : (i64, i64, f32) -> (f32, f32, f32, f32)
  llvm.return
}
// -----
llvm.func @wait(%c: f32) {
  // expected-error @below {{expects what passes through to keep its type}}
  %0:2 = tgpu.simt.wgmma_wait 0 through %c : (f32) -> (f32, f32)
  llvm.return
}
// -----
llvm.func @turned(%d: i64, %w: i32) {
  // expected-error @below {{expects a as a descriptor where it is transposed}}
  %0:4 = tgpu.simt.wgmma f16 a(%w, %w, %w, %w) transpose_a b(%d) : (i32, i32, i32, i32, i64) -> (f32, f32, f32, f32)
  llvm.return
}
// -----
llvm.func @two_types(%d: i64) {
  // expected-error @below {{expects factors of one type or both of 8 bits, found 'f16' by 'bf16'}}
  %0:4 = tgpu.simt.wgmma f16 by bf16 a(%d) b(%d) : (i64, i64) -> (f32, f32, f32, f32)
  llvm.return
}
// -----
llvm.func @narrow_across(%d: i64) {
  // expected-error @below {{expects factors of 8 bits in memory, along the depth}}
  %0:4 = tgpu.simt.wgmma f8E4M3FN by f8E5M2 a(%d) b(%d) transpose_b : (i64, i64) -> (f32, f32, f32, f32)
  llvm.return
}
