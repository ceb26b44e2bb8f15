// Each layout once, as a table or as a picture.
// RUN: fa-opt %s --pass-pipeline='builtin.module(tgpu-verify-stage{stage=S4})' --fa-print-layout -o /dev/null 2>&1 | FileCheck %s
// RUN: rm -rf %t && fa-opt %s --pass-pipeline='builtin.module(tgpu-verify-stage{stage=S4})' --fa-print-layout=svg:%t -o /dev/null 2>&1 | FileCheck %s --check-prefix=NAMES
// RUN: FileCheck %s --check-prefix=SVG < %t/layout-3.svg
// RUN: not fa-opt %s --fa-print-layout=png 2>&1 | FileCheck %s --check-prefix=FORM
// FORM: error: --fa-print-layout: expected text or svg:DIR, found 'png'
// RUN: not fa-opt %s --fa-print-layout=svg:%s/below 2>&1 | FileCheck %s --check-prefix=FOLDER
// FOLDER: error: cannot make the folder

// The second row of a fragment begins at the fifth lane.
// CHECK: // #tgpu.layout<accumulator 16x16 warps 1>
// CHECK-NEXT: w0 t0 r0 | w0 t0 r1 | w0 t1 r0
// CHECK-NEXT: w0 t4 r0
// CHECK: // #tgpu.layout<operand_b 16x16 transposed warps 1>
// CHECK: // #tgpu.layout<swizzled 16x64 bytes 2>
// Eight elements are a line; in the second row lines change places in pairs.
// CHECK-NEXT: 0 {{.*}}| 1 {{ *}}|
// CHECK-NEXT: 72 {{ *}}| 73
// CHECK-NOT: // #tgpu.layout

// NAMES: // #tgpu.layout<accumulator 16x16 warps 1>: {{.*}}layout-1.svg
// NAMES: // #tgpu.layout<operand_b 16x16 transposed warps 1>: {{.*}}layout-2.svg
// NAMES: // #tgpu.layout<swizzled 16x64 bytes 2>: {{.*}}layout-3.svg
// SVG: <svg

#acc = #tgpu.layout<accumulator 16x16 warps 1>
#b = #tgpu.layout<operand_b 16x16 transposed warps 1>
tile.kernel @layouts() attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %0 = arith.constant dense<0.0> : tensor<16x16xf16, #acc>
  %1 = tgpu.convert %0 : tensor<16x16xf16, #acc> -> tensor<16x16xf16, #b>
  %2 = tgpu.alloc : <1 x 16x64xf16, #tgpu.layout<swizzled 16x64 bytes 2>>
  tile.return
}
