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
llvm.func @intrinsic(%words: !llvm.ptr) attributes {nvvm.kernel} {
  %x = llvm.mlir.undef : f32
  // expected-error @below {{the emulator does not know 'llvm.nvvm.sin.approx.ftz.f'}}
  %v = llvm.call_intrinsic "llvm.nvvm.sin.approx.ftz.f"(%x) : (f32) -> f32
  llvm.return
}
// -----
llvm.func @assembly(%words: !llvm.ptr) attributes {nvvm.kernel} {
  %x = llvm.mlir.undef : i32
  // expected-error @below {{knows no assembly but mov.b64 and mul.rn.f16x2, found 'popc.b32 $0, $1;'}}
  %v = llvm.inline_asm "popc.b32 $0, $1;", "=r,r" %x : (i32) -> i32
  llvm.return
}
// -----
llvm.func @product(%words: !llvm.ptr) attributes {nvvm.kernel} {
  %a = llvm.mlir.undef : vector<2xf16>
  // expected-error @below {{the emulator has m16n8k16 of f16 and bf16 and m16n8k8 of tf32, with f32 accumulators, only}}
  %0 = nvvm.mma.sync A[%a, %a] B[%a] C[%a, %a] {layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>, shape = #nvvm.shape<m = 16, n = 8, k = 8>} : (vector<2xf16>, vector<2xf16>, vector<2xf16>) -> !llvm.struct<(vector<2xf16>, vector<2xf16>)>
  llvm.return
}
// -----
llvm.func @rounding(%words: !llvm.ptr) attributes {nvvm.kernel} {
  %x = llvm.mlir.undef : f32
  // expected-error @below {{the emulator rounds to tf32 by .rna alone}}
  %v = nvvm.convert.float.to.tf32 %x {rnd = #nvvm.fp_rnd_mode<rn>}
  llvm.return
}
// -----
llvm.func @arrival(%words: !llvm.ptr) attributes {nvvm.kernel} {
  %n = llvm.mlir.constant(32 : i32) : i32
  // expected-error @below {{the emulator has barriers with a number}}
  nvvm.barrier.arrive number_of_threads = %n
  llvm.return
}
// -----
llvm.func @fence(%words: !llvm.ptr) attributes {rocdl.kernel} {
  // expected-error @below {{the emulator has fences that release or acquire in a workgroup}}
  llvm.fence syncscope("agent") release
  llvm.return
}
// -----
llvm.func @numbered(%words: !llvm.ptr) attributes {nvvm.kernel} {
  %n = llvm.mlir.constant(1 : i32) : i32
  // expected-error @below {{the emulator has barrier 0 of all threads, and numbered ones of a number of threads, without a reduction}}
  nvvm.barrier id = %n
  llvm.return
}
// -----
// expected-error @below {{the emulator expected pointers as parameters, to the words and to tensor maps, found 'i32' as parameter 1}}
llvm.func @number(%words: !llvm.ptr, %n: i32) attributes {nvvm.kernel} {
  nvvm.barrier id = %n
  llvm.return
}
// -----
// expected-error @below {{the emulator expected a pointer to the words of the arguments, found no parameter}}
llvm.func @none() attributes {nvvm.kernel} {
  llvm.return
}
// -----
// expected-error @below {{the emulator has kernels with a body only}}
llvm.func @declared(!llvm.ptr) attributes {nvvm.kernel}
// -----
// expected-error @below {{the emulator has kernels with a body}}
llvm.func @elsewhere(!llvm.ptr) attributes {rocdl.kernel}
// -----
llvm.func @exchange(%words: !llvm.ptr, %p: !llvm.ptr) attributes {nvvm.kernel} {
  %x = llvm.mlir.undef : i32
  %g = llvm.addrspacecast %p : !llvm.ptr to !llvm.ptr<1>
  // expected-error @below {{the emulator has sums of f32, i32 and i64 in global memory, of which nobody reads the result, and i32 that 1 is added to, only}}
  %v = llvm.atomicrmw xchg %g, %x monotonic : !llvm.ptr<1>, i32
  llvm.return
}
