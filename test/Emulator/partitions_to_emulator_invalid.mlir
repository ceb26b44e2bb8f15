// Forms of operations for warp specialization that the emulator does not have are errors at their place.
// RUN: fa-opt %s --split-input-file --verify-diagnostics --convert-nvvm-to-emulator

llvm.func @fetched(%words: !llvm.ptr, %map: !llvm.ptr) attributes {nvvm.kernel} {
  %bar = llvm.mlir.zero : !llvm.ptr<3>
  %n = llvm.mlir.constant(0 : i32) : i32
  %some = llvm.mlir.constant(true) : i1
  %to = llvm.addrspacecast %bar : !llvm.ptr<3> to !llvm.ptr<7>
  // expected-error @below {{the emulator has boxes in tile mode, fetched without a predicate}}
  nvvm.cp.async.bulk.tensor.shared.cluster.global %to, %map, %bar, box[%n, %n] predicate = %some : !llvm.ptr<7>, !llvm.ptr
  llvm.return
}
// -----
llvm.func @stored(%words: !llvm.ptr, %map: !llvm.ptr) attributes {nvvm.kernel} {
  %from = llvm.mlir.zero : !llvm.ptr<3>
  %n = llvm.mlir.constant(0 : i32) : i32
  // expected-error @below {{the emulator has boxes in tile mode, stored by the threads of a predicate}}
  nvvm.cp.async.bulk.tensor.global.shared.cta %map, %from, box[%n, %n] : !llvm.ptr, !llvm.ptr<3>
  llvm.return
}
// -----
llvm.func @barrier(%words: !llvm.ptr) attributes {nvvm.kernel} {
  %id = llvm.mlir.constant(1 : i32) : i32
  // expected-error @below {{the emulator has barrier 0 of all threads, and numbered ones of a number of threads, without a reduction}}
  nvvm.barrier id = %id
  llvm.return
}
