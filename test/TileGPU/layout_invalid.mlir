// RUN: fa-opt %s --split-input-file --verify-diagnostics

// expected-error @below {{there is no such layout 'accumulator'}}
func.func private @rows(tensor<8x8xf32, #tgpu.layout<accumulator 8x8 warps 1>>)
// -----
// expected-error @below {{there is no such layout 'swizzled'}}
func.func private @bytes(tensor<8x8xf32, #tgpu.layout<swizzled 8x8 bytes 3>>)
// -----
// expected-error @below {{expected one or two sizes from 1 to 16384}}
func.func private @sizes(tensor<2x2x2xf32, #tgpu.layout<2x2x2 lane = [[1, 0, 0]]>>)
// -----
// expected-error @below {{expected powers of two before the last size}}
func.func private @power(tensor<3x2xf32, #tgpu.layout<3x2 lane = [[1, 0]]>>)
// -----
// expected-error @below {{expected a basis of 2 numbers, found 1}}
func.func private @basis(tensor<2x2xf32, #tgpu.layout<2x2 lane = [[1]]>>)
// -----
// expected-error @below {{expected a basis inside the tile}}
func.func private @outside(tensor<2x2xf32, #tgpu.layout<2x2 lane = [[2, 0]]>>)
// -----
// expected-error @below {{expected register, lane, warp or offset, found 'thread'}}
func.func private @axis(tensor<2x2xf32, #tgpu.layout<2x2 thread = [[1, 0]]>>)
// -----
// expected-error @below {{expected repeat 3 or a multiple that no basis is too large for, found 2}}
func.func private @repeat(tensor<2x6xf32, #tgpu.layout<2x6 lane = [[0, 1]] repeat 2>>)
// -----
// expected-error @below {{expected a layout that holds every element}}
func.func private @hole(tensor<2x2xf32, #tgpu.layout<2x2 lane = [[1, 0]]>>)
// -----
// expected-error @below {{expected a tile of the sizes of #tgpu.layout<accumulator 16x8 warps 1>, found sizes 16, 16}}
func.func private @other(tensor<16x16xf32, #tgpu.layout<accumulator 16x8 warps 1>>)
// -----
// expected-error @below {{expected at least one slot, found 0}}
func.func private @slots(!tgpu.buffer<0 x 64x64xf16, #tgpu.layout<swizzled 64x64 bytes 2>>)
// -----
// Rows that are left out lie behind all others: not so where columns do.
// expected-error @below {{expected a tile of the sizes of #tgpu.layout<4x2 offset = }}
func.func private @first_rows(!tgpu.channel<1 x 3x2xf16, #tgpu.layout<4x2 offset = [[1, 0], [2, 0], [0, 1]]>>)
// -----
// expected-error @below {{expected a tile of the sizes of #tgpu.layout<swizzled 128x64 bytes 2>, found sizes 96, 32}}
func.func private @columns(!tgpu.channel<1 x 96x32xf16, #tgpu.layout<swizzled 128x64 bytes 2>>)
// -----
// expected-error @below {{expected a layout of offsets, one for each element}}
func.func private @place(!tgpu.buffer<1 x 16x8xf16, #tgpu.layout<accumulator 16x8 warps 1>>)
// -----
// expected-error @below {{expected repeat 1 or a multiple that no basis is too large for, found 2}}
func.func private @wide(tensor<2x4xf32, #tgpu.layout<2x4 lane = [[0, 1], [0, 2], [1, 0]] repeat 2>>)
// -----
// expected-error @below {{expected a #tgpu.layout, found 4 : i64}}
func.func private @no_layout(!tgpu.buffer<1 x 16x8xf16, 4 : i64>)
// -----
// expected-error @below {{expected elements of whole bytes, found 'i1'}}
func.func private @bits(!tgpu.buffer<1 x 16x8xi1, #tgpu.layout<swizzled 16x8 bytes 2>>)
// -----
// expected-error @below {{expected at most 20 bases}}
func.func private @bases(tensor<2xf32, #tgpu.layout<2 register = [[0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [0], [1]]>>)
// -----
// One copy has nothing to be joined with.
// expected-error @below {{there is no such layout 'swizzled'}}
func.func private @joined_one(!tgpu.buffer<1 x 32x64xf16, #tgpu.layout<swizzled 32x64 joined bytes 2>>)
// -----
// expected-error @below {{there is no such layout 'blocked'}}
func.func private @joined_threads(tensor<32x80xf16, #tgpu.layout<blocked 32x80 joined vector 8 warps 1>>)
// -----
// expected-error @below {{expected elements and rows of #tgpu.layout<swizzled 32x80 joined bytes 2>, found 32, 80 of 'f8E4M3FN'}}
func.func private @joined_bytes(!tgpu.buffer<1 x 32x80xf8E4M3FN, #tgpu.layout<swizzled 32x80 joined bytes 2>>)
// -----
// expected-error @below {{expected elements and rows of #tgpu.layout<swizzled 32x80 joined bytes 2>, found 24, 80 of 'f16'}}
func.func private @joined_rows(!tgpu.buffer<1 x 24x80xf16, #tgpu.layout<swizzled 32x80 joined bytes 2>>)
// -----
// expected-error @below {{expected a layout whose copies lie one behind the other, found #tgpu.layout<swizzled 32x80 joined bytes 2>}}
func.func private @joined_channel(!tgpu.channel<1 x 32x80xf16, #tgpu.layout<swizzled 32x80 joined bytes 2>>)
