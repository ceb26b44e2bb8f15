// What the emulator does not know is an error at its place.
// RUN: fa-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(convert-nvvm-to-emulator)'

llvm.func @unknown(%words: !llvm.ptr) attributes {nvvm.kernel} {
  // expected-error @below {{the emulator does not know this operation}}
  nvvm.cluster.arrive.relaxed
  llvm.return
}
// -----
llvm.func @space(%words: !llvm.ptr) attributes {nvvm.kernel} {
  %p = llvm.mlir.zero : !llvm.ptr<4>
  // expected-error @below {{is in address space 4, the emulator has 0, 1 and 3}}
  %v = llvm.load %p : !llvm.ptr<4> -> i32
  llvm.return
}
// -----
llvm.func @intrinsic(%words: !llvm.ptr, %x: f32) attributes {nvvm.kernel} {
  // expected-error @below {{the emulator does not know 'llvm.nvvm.sin.approx.ftz.f'}}
  %v = llvm.call_intrinsic "llvm.nvvm.sin.approx.ftz.f"(%x) : (f32) -> f32
  llvm.return
}
// -----
llvm.func @assembly(%words: !llvm.ptr, %x: i32) attributes {nvvm.kernel} {
  // expected-error @below {{knows no assembly but mov.b64, found 'popc.b32 $0, $1;'}}
  %v = llvm.inline_asm "popc.b32 $0, $1;", "=r,r" %x : (i32) -> i32
  llvm.return
}
