// RUN: fa-opt %s | FileCheck %s --check-prefix=SAID
// RUN: fa-opt %s --drop-simt-asserts | FileCheck %s

// SAID: tgpu.simt.assert %{{.*}}, "x is above 0"
// SAID: tgpu.simt.assert %{{.*}}, "tl.assume" promise
// CHECK-LABEL: @asserts
// CHECK-NEXT: llvm.return
llvm.func @asserts(%holds: i1) {
  tgpu.simt.assert %holds, "x is above 0"
  tgpu.simt.assert %holds, "tl.assume" promise
  llvm.return
}
