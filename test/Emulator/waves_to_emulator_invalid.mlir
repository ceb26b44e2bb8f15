// Forms of AMD's operations that the emulator does not have are errors at their place.
// RUN: fa-opt %s --split-input-file --verify-diagnostics --convert-nvvm-to-emulator

llvm.func @modified(%words: !llvm.ptr<4>) attributes {rocdl.kernel} {
  %a = llvm.mlir.zero : vector<4xf16>
  %c = llvm.mlir.zero : vector<16xf32>
  %one = llvm.mlir.constant(1 : i32) : i32
  %zero = llvm.mlir.constant(0 : i32) : i32
  // expected-error @below {{the emulator has mfma without modifiers only}}
  %0 = rocdl.mfma.f32.32x32x8f16 %a, %a, %c, %one, %zero, %zero : (vector<4xf16>, vector<4xf16>, vector<16xf32>, i32, i32, i32) -> vector<16xf32>
  llvm.return
}
// -----
llvm.func @descriptor(%words: !llvm.ptr<4>) attributes {rocdl.kernel} {
  %rsrc = llvm.mlir.zero : !llvm.ptr<8>
  %at = llvm.mlir.constant(8 : i32) : i32
  %n = llvm.mlir.constant(0 : i32) : i32
  // expected-error @below {{the emulator has accesses by descriptors that are made in place, without a stride, a scalar offset and modifiers only}}
  %0 = rocdl.raw.ptr.buffer.load %rsrc, %at, %n, %n : f32
  llvm.return
}
// -----
llvm.func @offset(%words: !llvm.ptr<4>, %base: !llvm.ptr) attributes {rocdl.kernel} {
  %at = llvm.mlir.constant(8 : i32) : i32
  %bytes = llvm.mlir.constant(64 : i64) : i64
  %x = llvm.mlir.constant(1.0 : f32) : f32
  %flags = llvm.mlir.constant(0 : i32) : i32
  %stride = llvm.mlir.constant(0 : i16) : i16
  %rsrc = rocdl.make.buffer.rsrc %base, %stride, %bytes, %flags : !llvm.ptr to <8>
  // expected-error @below {{the emulator has accesses by descriptors that are made in place, without a stride, a scalar offset and modifiers only}}
  rocdl.raw.ptr.buffer.store %x, %rsrc, %at, %at, %flags : f32
  llvm.return
}
// -----
llvm.func @direct(%words: !llvm.ptr<4>, %base: !llvm.ptr) attributes {rocdl.kernel} {
  %lds = llvm.mlir.zero : !llvm.ptr<3>
  %at = llvm.mlir.constant(8 : i32) : i32
  %bytes = llvm.mlir.constant(64 : i64) : i64
  %zero = llvm.mlir.constant(0 : i32) : i32
  %four = llvm.mlir.constant(4 : i32) : i32
  %stride = llvm.mlir.constant(0 : i16) : i16
  %rsrc = rocdl.make.buffer.rsrc %base, %stride, %bytes, %zero : !llvm.ptr to <8>
  // expected-error @below {{the emulator has direct loads of 16 bytes only}}
  rocdl.raw.ptr.buffer.load.lds %rsrc, %lds, %four, %at, %zero, %zero, %zero
  llvm.return
}
// -----
llvm.func @wait(%words: !llvm.ptr<4>) attributes {rocdl.kernel} {
  // expected-error @below {{the emulator has waits for vmcnt alone}}
  rocdl.s.waitcnt 0
  llvm.return
}
// -----
llvm.func @wide(%words: !llvm.ptr<4>) attributes {rocdl.kernel} {
  %x = llvm.mlir.constant(1 : i64) : i64
  // expected-error @below {{the emulator moves words of 32 bits from lane to lane, found 'i64'}}
  %0 = rocdl.update.dpp %x, %x with 273, 15, 15, true : i64
  llvm.return
}
// -----
llvm.func @lanes(%words: !llvm.ptr<4>) attributes {rocdl.kernel} {
  %x = llvm.mlir.constant(1 : i32) : i32
  // expected-error @below {{expected a control word of DPP, found 256}}
  %0 = rocdl.update.dpp %x, %x with 256, 15, 15, true : i32
  llvm.return
}
