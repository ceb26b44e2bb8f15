// Layouts print by name where a constructor makes them, else by their bases.
// RUN: fa-opt %s | fa-opt | FileCheck %s

// CHECK-LABEL: @named
func.func @named(
    // CHECK-SAME: #tgpu.layout<accumulator 64x64 warps 4>
    %a: tensor<64x64xf32, #tgpu.layout<accumulator 64x64 warps 4>>,
    // CHECK-SAME: #tgpu.layout<operand_b 64x96 transposed warps 4>
    %b: tensor<64x96xf16, #tgpu.layout<operand_b 64x96 transposed warps 4>>,
    // CHECK-SAME: #tgpu.layout<operand_a32 64x96 warps 4>
    %a32: tensor<64x96xf32, #tgpu.layout<operand_a32 64x96 warps 4>>,
    // CHECK-SAME: #tgpu.layout<operand_b32 32x96 warps 4>
    %b32: tensor<32x96xf32, #tgpu.layout<operand_b32 32x96 warps 4>>,
    // CHECK-SAME: #tgpu.layout<quads 64x96 warps 4>
    %q: tensor<64x96xf32, #tgpu.layout<quads 64x96 warps 4>>,
    // CHECK-SAME: #tgpu.layout<operand_b8 64x96 warps 4>
    %b8: tensor<64x96xf8E4M3FN, #tgpu.layout<operand_b8 64x96 warps 4>>,
    // CHECK-SAME: #tgpu.layout<operand_b8 64x96 transposed warps 4>
    %k8: tensor<64x96xf8E4M3FN, #tgpu.layout<operand_b8 64x96 transposed warps 4>>,
    // CHECK-SAME: #tgpu.layout<blocked 64x64 vector 8 warps 4>
    %c: tensor<64x64xf16, #tgpu.layout<blocked 64x64 vector 8 warps 4>>,
    // CHECK-SAME: !tgpu.buffer<2 x 64x80xf16, #tgpu.layout<swizzled 64x80 bytes 2>>
    %d: !tgpu.buffer<2 x 64x80xf16, #tgpu.layout<swizzled 64x80 bytes 2>>,
    // CHECK-SAME: #tgpu.layout<mfma 128x64 side 32 vector 4 warps 4>
    %e: tensor<128x64xf32, #tgpu.layout<mfma 128x64 side 32 vector 4 warps 4>>,
    // CHECK-SAME: #tgpu.layout<mfma_operand_b 64x96 transposed side 16 vector 8 warps 2>
    %f: tensor<64x96xf16, #tgpu.layout<mfma_operand_b 64x96 transposed side 16 vector 8 warps 2>>,
    // CHECK-SAME: #tgpu.layout<blocked 64x64 vector 4 height 4 warps 4 lanes 64>
    %g: tensor<64x64xf16, #tgpu.layout<blocked 64x64 vector 4 height 4 warps 4 lanes 64>>,
    // CHECK-SAME: !tgpu.buffer<2 x 64x128xf16, #tgpu.layout<swizzled 64x128 bytes 2 banks 64>>
    %i: !tgpu.buffer<2 x 64x128xf16, #tgpu.layout<swizzled 64x128 bytes 2 banks 64>>,
    // CHECK-SAME: !tgpu.buffer<2 x 64x128xf16, #tgpu.layout<swizzled 64x128 bytes 2 across 32>>
    %j: !tgpu.buffer<2 x 64x128xf16, #tgpu.layout<swizzled 64x128 bytes 2 across 32>>,
    // CHECK-SAME: !tgpu.buffer<3 x 32x80xbf16, #tgpu.layout<swizzled 32x80 joined bytes 2>>
    %l: !tgpu.buffer<3 x 32x80xbf16, #tgpu.layout<swizzled 32x80 joined bytes 2>>,
    // The last rows of the layout are left out.
    // CHECK-SAME: !tgpu.channel<3 x 96x64xf16, #tgpu.layout<swizzled 128x64 bytes 2>>
    %k: !tgpu.channel<3 x 96x64xf16, #tgpu.layout<swizzled 128x64 bytes 2>>) {
  return
}

// The bases of the accumulator of mma.sync m16n8.
// CHECK-LABEL: @bases
func.func @bases(
    // CHECK-SAME: #tgpu.layout<accumulator 16x8 warps 1>
    %a: tensor<16x8xf32, #tgpu.layout<16x8 register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]]>>,
    // CHECK-SAME: #tgpu.layout<16 register = {{\[\[}}8]], lane = {{\[\[}}0], [0], [1], [2], [4]]>
    %b: tensor<16xf32, #tgpu.layout<16 register = [[8]], lane = [[0], [0], [1], [2], [4]]>>,
    // CHECK-SAME: repeat 3>
    %c: tensor<2x6xf32, #tgpu.layout<2x6 register = [[1, 0]], lane = [[0, 1]] repeat 3>>,
    // CHECK-SAME: #tgpu.layout<2x4 lane = {{\[\[}}0, 1], [1, 0]] repeat 2>
    %d: tensor<2x4xf32, #tgpu.layout<2x4 lane = [[0, 1], [1, 0]] repeat 2>>) {
  return
}
