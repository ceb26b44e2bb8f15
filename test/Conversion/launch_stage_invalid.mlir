// S9 is ready to launch: the LLVM dialect alone, and kernels with what their launch needs.
// RUN: fa-opt %s --split-input-file --verify-diagnostics --simt-verify-stage=stage=S9

// Kernels of each kind, with functions of their own and of libraries.
llvm.func @nvidia(%words: !llvm.ptr {llvm.byval = !llvm.array<40 x i64>, nvvm.grid_constant}) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 128>} {
  nvvm.barrier0
  llvm.return
}
llvm.func @amd(%words: !llvm.ptr<4> {llvm.align = 8 : i64, llvm.byref = !llvm.array<40 x i64>}) attributes {rocdl.kernel, rocdl.reqd_work_group_size = array<i32: 64, 1, 1>} {
  rocdl.s.barrier
  llvm.return
}
llvm.func @host(%x: i64, %y: i64, %z: i64, %words: !llvm.ptr, %scratch: !llvm.ptr) attributes {fa.scratch_bytes = 0 : i64} {
  llvm.return
}
llvm.func @host.loop1(%words: !llvm.ptr) attributes {sym_visibility = "private"} {
  llvm.return
}
llvm.func @erff(f32) -> f32
// -----
// expected-error @below {{'func.func' op not at stage S9 (launch): expected the LLVM dialect and a vendor's alone}}
func.func private @early()
// -----
llvm.func @cast(%words: !llvm.ptr {llvm.byval = !llvm.array<4 x i64>}) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 32>} {
  %0 = llvm.mlir.constant(1 : i64) : i64
  // expected-error @below {{'builtin.unrealized_conversion_cast' op not at stage S9 (launch): expected the LLVM dialect and a vendor's alone}}
  %1 = builtin.unrealized_conversion_cast %0 : i64 to index
  %2 = llvm.mlir.zero : !llvm.ptr<3>
  %3 = llvm.mlir.constant(0 : i32) : i32
  // expected-error @below {{'tgpu.simt.wait_phase' op not at stage S9 (launch): expected the LLVM dialect and a vendor's alone}}
  tgpu.simt.wait_phase %2, %3 : !llvm.ptr<3>
  llvm.return
}
// -----
// expected-error @below {{expected a kernel, found none of 'nvvm.kernel', 'rocdl.kernel' and 'fa.scratch_bytes'}}
llvm.func @nobody(%words: !llvm.ptr) {
  llvm.return
}
// -----
// expected-error @below {{expected the threads of a block as 'nvvm.reqntid'}}
llvm.func @threads(%words: !llvm.ptr {llvm.byval = !llvm.array<4 x i64>}) attributes {nvvm.kernel} {
  llvm.return
}
// -----
// expected-error @below {{expected 1 to 1024 threads of a block, found 2048}}
llvm.func @many(%words: !llvm.ptr<4> {llvm.byref = !llvm.array<4 x i64>}) attributes {rocdl.kernel, rocdl.reqd_work_group_size = array<i32: 64, 32, 1>} {
  llvm.return
}
// -----
// expected-error @below {{expected a first argument with 'llvm.byval' of 3 words of 64 bits or more, found none}}
llvm.func @words(%x: f32) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 128>} {
  llvm.return
}
// -----
// expected-error @below {{expected a first argument with 'llvm.byref' of 3 words of 64 bits or more, found !llvm.array<2 x i64>}}
llvm.func @few(%words: !llvm.ptr<4> {llvm.byref = !llvm.array<2 x i64>}) attributes {rocdl.kernel, rocdl.reqd_work_group_size = array<i32: 64, 1, 1>} {
  llvm.return
}
// -----
// expected-error @below {{expected bytes of scratch memory, found -1}}
llvm.func @scratch(%x: i64, %y: i64, %z: i64, %words: !llvm.ptr, %scratch: !llvm.ptr) attributes {fa.scratch_bytes = -1 : i64} {
  llvm.return
}
// -----
// expected-error @below {{expected three i64 and two pointers, found !llvm.func<void (i64, ptr)>}}
llvm.func @place(%x: i64, %words: !llvm.ptr) attributes {fa.scratch_bytes = 64 : i64} {
  llvm.return
}
