// What is around attentions becomes kernels of tiles: products with weights, norms, biases, gates. Sizes are no multiples of a tile's.
// The block of a transformer in f32: norms of rows, projections with biases, a residual, two layers with a gelu.
// RUN: fa-run %s --entry=block --in 2x50x48 --in 48 --in 48 --in 48x144 --in 144 --in 48x48 --in 48x100 --in 100 --in 100x48 --check --target=cpu | FileCheck %s --check-prefixes=RAN,BLOCK
// RUN: fa-run %s --entry=block --in 2x50x48 --in 48 --in 48 --in 48x144 --in 144 --in 48x48 --in 48x100 --in 100 --in 100x48 --check --target=emulator:sm_80 | FileCheck %s --check-prefixes=RAN,BLOCK
// RUN: fa-run %s --entry=block --in 2x50x48 --in 48 --in 48 --in 48x144 --in 144 --in 48x48 --in 48x100 --in 100 --in 100x48 --check --target=emulator:gfx942 | FileCheck %s --check-prefixes=RAN,BLOCK
// BLOCK-NOT: not fused
// BLOCK: kernel   @block_rest_sum, grid
// BLOCK: kernel   @block_rest_dot, grid {{.*}}, after the one above
// BLOCK: kernel   @block_attention, grid {{.*}}, after the one above
// BLOCK-NOT: not fused
// As einsum says it, in bf16, with weights of several dimensions.
// RUN: fa-run %s --entry=einsum --in 2x37x40 --in 40x3x24 --in 3x24 --in 3x24x40 --check --target=cpu | FileCheck %s --check-prefixes=RAN,EINSUM
// RUN: fa-run %s --entry=einsum --in 2x37x40 --in 40x3x24 --in 3x24 --in 3x24x40 --check --target=emulator:sm_90a | FileCheck %s --check-prefixes=RAN,EINSUM
// RUN: fa-run %s --entry=einsum --in 2x37x40 --in 40x3x24 --in 3x24 --in 3x24x40 --check --target=emulator:gfx942 | FileCheck %s --check-prefixes=RAN,EINSUM
// EINSUM-NOT: not fused
// EINSUM: kernel   @einsum_attention{{.*}}, grid
// EINSUM-NOT: not fused
// Sizes that are known at launch alone, from one row to many.
// RUN: fa-run %s --entry=dynamic --in 3x70x32 --in 32x32 --in 32 --check --target=cpu | FileCheck %s --check-prefixes=RAN,DYNAMIC
// RUN: fa-run %s --entry=dynamic --in 1x1x32 --in 32x32 --in 32 --check --target=cpu | FileCheck %s --check-prefixes=RAN,DYNAMIC
// RUN: fa-run %s --entry=dynamic --in 3x70x32 --in 32x32 --in 32 --check --target=emulator:sm_80 | FileCheck %s --check-prefixes=RAN,DYNAMIC
// RUN: fa-run %s --entry=dynamic --in 3x70x32 --in 32x32 --in 32 --check --target=emulator:gfx942 | FileCheck %s --check-prefixes=RAN,DYNAMIC
// DYNAMIC-NOT: not fused
// DYNAMIC: kernel   @dynamic_rest_0_sum, grid
// DYNAMIC-NOT: not fused
// One query, comparisons, indices, booleans that are handed over, sums over other dimensions than the last.
// RUN: fa-run %s --entry=one_row --in 1x32 --in 32x64 --in 2x45x32 --check --target=cpu | FileCheck %s --check-prefixes=RAN,ROW
// RUN: fa-run %s --entry=one_row --in 1x32 --in 32x64 --in 2x45x32 --check --target=emulator:sm_80 | FileCheck %s --check-prefixes=RAN,ROW
// RUN: fa-run %s --entry=one_row --in 1x32 --in 32x64 --in 2x45x32 --check --target=emulator:gfx942 | FileCheck %s --check-prefixes=RAN,ROW
// ROW-NOT: not fused
// ROW: kernel   @one_row_attention
// ROW-NOT: not fused
// A loss: results of one element, sums of sums.
// RUN: fa-run %s --entry=loss --in 1x2x20x16 --in 1x2x20x16 --in 0.5 --check --target=cpu | FileCheck %s --check-prefixes=RAN,LOSS
// RUN: fa-run %s --entry=loss --in 1x2x20x16 --in 1x2x20x16 --in 0.5 --check --target=emulator:sm_80 | FileCheck %s --check-prefixes=RAN,LOSS
// RUN: fa-run %s --entry=loss --in 1x2x20x16 --in 1x2x20x16 --in 0.5 --check --target=emulator:gfx942 | FileCheck %s --check-prefixes=RAN,LOSS
// LOSS-NOT: not fused
// LOSS: kernel   @loss_rest_0_sum, grid
// LOSS-NOT: not fused
// Less than a tile in each dimension, a left operand that lies transposed, sums over a first dimension.
// RUN: fa-run %s --entry=small --in 1x1x20x16 --in 5x3 --in 3x7 --in 2x9x5 --check --target=cpu | FileCheck %s --check-prefixes=RAN,SMALL
// RUN: fa-run %s --entry=small --in 1x1x20x16 --in 5x3 --in 3x7 --in 2x9x5 --check --target=emulator:sm_90a | FileCheck %s --check-prefixes=RAN,SMALL
// RUN: fa-run %s --entry=small --in 1x1x20x16 --in 5x3 --in 3x7 --in 2x9x5 --check --target=emulator:gfx942 | FileCheck %s --check-prefixes=RAN,SMALL
// SMALL-NOT: not fused
// SMALL: kernel   @small_rest_0_dot, grid
// SMALL-NOT: not fused
// What is given has other strides than the first kernels ask for: those behind run, products as well.
// RUN: fa-run %s --entry=strided --in 2x32x40 --in 2x24x32 --in 32x20 --check --target=cpu | FileCheck %s --check-prefixes=RAN,STRIDED
// RUN: fa-run %s --entry=strided --in 2x32x40 --in 2x24x32 --in 32x20 --check --target=emulator:sm_80 | FileCheck %s --check-prefixes=RAN,STRIDED
// RUN: fa-run %s --entry=strided --in 2x32x40 --in 2x24x32 --in 32x20 --check --target=emulator:gfx942 | FileCheck %s --check-prefixes=RAN,STRIDED
// STRIDED: kernel   @strided_attention_strided, grid
// STRIDED: kernel   @strided_rest{{.*}}_strided, grid
// What tiles have no code for stays on whole tensors, on the host.
// RUN: fa-run %s --entry=refused --in 1x2x20x16 --in 1x2x20x16 --check --target=cpu | FileCheck %s --check-prefixes=RAN,HOST
// HOST: kernel   @refused_rest{{.*}}, not fused
// RAN: PASS
// RAN-NOT: FAIL
// Planted faults are found.
// RUN: not fa-run %s --entry=dynamic --in 3x70x32 --in 32x32 --in 32 --check --target=emulator:sm_80 --fa-mutate=drop-barrier 2>&1 | FileCheck %s --check-prefix=FAULT
// FAULT: {{missing wait|race}}
// RUN: not fa-run %s --entry=one_row --in 1x32 --in 32x64 --in 2x45x32 --check --target=emulator:sm_80 --fa-mutate=store-past-end 2>&1 | FileCheck %s --check-prefix=PAST
// PAST: {{race|out of bounds}}
// On a GPU it is refused with the operation.
// RUN: not fa-run %s --entry=refused --in 1x2x20x16 --in 1x2x20x16 --target=emulator:sm_80 2>&1 | FileCheck %s --check-prefix=GPU
// GPU: a kernel on whole tensors runs on the host alone: 'math.log1p' is not computed in a kernel of tiles
// RUN: fa-opt --explain %s | FileCheck %s --check-prefix=EXPLAIN
// EXPLAIN: becomes several kernels, one for each attention
// EXPLAIN: a part around attentions runs unfused, on whole tensors: 'math.log1p' is not computed in a kernel of tiles

!x = tensor<2x50x48xf32>
!r = tensor<100x48xf32>
!l = tensor<100xf32>
!heads = tensor<2x50x3x16xf32>
!t = tensor<2x3x50x16xf32>
!s = tensor<2x3x50x50xf32>
!h = tensor<100x100xf32>
func.func private @norm(%x: !r, %weight: tensor<48xf32>) -> !r {
  %n = arith.constant dense<48.0> : !l
  %sum = tile.reduce add %x dim 1 : !r -> !l
  %mean = arith.divf %sum, %n : !l
  %mean1 = tile.expand_dims %mean dim 1 : !l -> tensor<100x1xf32>
  %mean2 = tile.broadcast %mean1 : tensor<100x1xf32> -> !r
  %d = arith.subf %x, %mean2 : !r
  %dd = arith.mulf %d, %d : !r
  %sum2 = tile.reduce add %dd dim 1 : !r -> !l
  %var = arith.divf %sum2, %n : !l
  %eps = arith.constant dense<1.0e-5> : !l
  %safe = arith.addf %var, %eps : !l
  %inverse = math.rsqrt %safe : !l
  %inverse1 = tile.expand_dims %inverse dim 1 : !l -> tensor<100x1xf32>
  %inverse2 = tile.broadcast %inverse1 : tensor<100x1xf32> -> !r
  %normal = arith.mulf %d, %inverse2 : !r
  %w1 = tile.expand_dims %weight dim 0 : tensor<48xf32> -> tensor<1x48xf32>
  %w = tile.broadcast %w1 : tensor<1x48xf32> -> !r
  %y = arith.mulf %normal, %w : !r
  return %y : !r
}
func.func @block(%x: !x, %n0: tensor<48xf32>, %n1: tensor<48xf32>, %packed: tensor<48x144xf32>, %bias: tensor<144xf32>, %out: tensor<48x48xf32>,
                 %up: tensor<48x100xf32>, %upBias: tensor<100xf32>, %down: tensor<100x48xf32>) -> !x {
  %rows = tensor.collapse_shape %x [[0, 1], [2]] : !x into !r
  %a = call @norm(%rows, %n0) : (!r, tensor<48xf32>) -> !r
  %all0 = tile.dot %a, %packed : !r, tensor<48x144xf32> -> tensor<100x144xf32>
  %b1 = tile.expand_dims %bias dim 0 : tensor<144xf32> -> tensor<1x144xf32>
  %b2 = tile.broadcast %b1 : tensor<1x144xf32> -> tensor<100x144xf32>
  %all = arith.addf %all0, %b2 : tensor<100x144xf32>
  %each = tensor.expand_shape %all [[0, 1], [2, 3, 4]] output_shape [2, 50, 3, 3, 16] : tensor<100x144xf32> into tensor<2x50x3x3x16xf32>
  %q0 = tensor.extract_slice %each[0, 0, 0, 0, 0] [2, 50, 1, 3, 16] [1, 1, 1, 1, 1] : tensor<2x50x3x3x16xf32> to !heads
  %k0 = tensor.extract_slice %each[0, 0, 1, 0, 0] [2, 50, 1, 3, 16] [1, 1, 1, 1, 1] : tensor<2x50x3x3x16xf32> to !heads
  %v0 = tensor.extract_slice %each[0, 0, 2, 0, 0] [2, 50, 1, 3, 16] [1, 1, 1, 1, 1] : tensor<2x50x3x3x16xf32> to !heads
  %q = tile.transpose %q0 [0, 2, 1, 3] : !heads -> !t
  %k = tile.transpose %k0 [0, 2, 1, 3] : !heads -> !t
  %v = tile.transpose %v0 [0, 2, 1, 3] : !heads -> !t
  %s0 = tile.dot %q, %k transpose_b : !t, !t -> !s
  %c = arith.constant dense<0.25> : !s
  %s1 = arith.mulf %s0, %c : !s
  %p = tile.softmax %s1 : !s
  %o = tile.dot %p, %v : !s, !t -> !t
  %o1 = tile.transpose %o [0, 2, 1, 3] : !t -> !heads
  %o2 = tensor.collapse_shape %o1 [[0, 1], [2, 3]] : !heads into !r
  %y0 = tile.dot %o2, %out : !r, tensor<48x48xf32> -> !r
  %y1 = arith.addf %y0, %rows : !r
  %m = call @norm(%y1, %n1) : (!r, tensor<48xf32>) -> !r
  %h0 = tile.dot %m, %up : !r, tensor<48x100xf32> -> !h
  %u1 = tile.expand_dims %upBias dim 0 : tensor<100xf32> -> tensor<1x100xf32>
  %u2 = tile.broadcast %u1 : tensor<1x100xf32> -> !h
  %h1 = arith.addf %h0, %u2 : !h
  %half = arith.constant dense<0.5> : !h
  %one = arith.constant dense<1.0> : !h
  %root = arith.constant dense<0.70710678> : !h
  %e0 = arith.mulf %h1, %root : !h
  %e1 = math.erf %e0 : !h
  %e2 = arith.addf %e1, %one : !h
  %e3 = arith.mulf %e2, %half : !h
  %gelu = arith.mulf %h1, %e3 : !h
  %z0 = tile.dot %gelu, %down : !h, tensor<100x48xf32> -> !r
  %z1 = arith.addf %z0, %y1 : !r
  %z = tensor.expand_shape %z1 [[0, 1], [2]] output_shape [2, 50, 48] : !r into !x
  return %z : !x
}

!ex = tensor<2x37x40xbf16>
!eh = tensor<2x37x3x24xf32>
!en = tensor<2x37x3x24xbf16>
!et = tensor<2x3x37x24xbf16>
!eo = tensor<2x3x37x24xf32>
!es = tensor<2x3x37x37xf32>
#x = affine_map<(b, s, h, d, e) -> (b, s, e)>
#w = affine_map<(b, s, h, d, e) -> (e, h, d)>
#o = affine_map<(b, s, h, d, e) -> (b, s, h, d)>
#hd = affine_map<(b, s, h, d) -> (h, d)>
#all = affine_map<(b, s, h, d) -> (b, s, h, d)>
#ox = affine_map<(b, s, e, h, d) -> (b, h, s, d)>
#ow = affine_map<(b, s, e, h, d) -> (h, d, e)>
#oo = affine_map<(b, s, e, h, d) -> (b, s, e)>
func.func @einsum(%x: !ex, %w: tensor<40x3x24xbf16>, %bias: tensor<3x24xf32>, %out: tensor<3x24x40xbf16>) -> tensor<2x37x40xbf16> {
  %zero = arith.constant dense<0.0> : !eh
  %p0 = linalg.generic {indexing_maps = [#x, #w, #o], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
      ins(%x, %w : !ex, tensor<40x3x24xbf16>) outs(%zero : !eh) {
  ^bb0(%a: bf16, %b: bf16, %c: f32):
    %a1 = arith.extf %a : bf16 to f32
    %b1 = arith.extf %b : bf16 to f32
    %ab = arith.mulf %a1, %b1 : f32
    %sum = arith.addf %c, %ab : f32
    linalg.yield %sum : f32
  } -> !eh
  %empty = tensor.empty() : !en
  %p1 = linalg.generic {indexing_maps = [#all, #hd, #all], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%p0, %bias : !eh, tensor<3x24xf32>) outs(%empty : !en) {
  ^bb0(%a: f32, %b: f32, %c: bf16):
    %ab = arith.addf %a, %b : f32
    %tenth = arith.constant 0.1 : f32
    %less = arith.mulf %ab, %tenth : f32
    %r = arith.truncf %less : f32 to bf16
    linalg.yield %r : bf16
  } -> !en
  %q = tile.transpose %p1 [0, 2, 1, 3] : !en -> !et
  %s = tile.dot %q, %q transpose_b : !et, !et -> !es
  %p = tile.softmax %s : !es
  %pn = arith.truncf %p : !es to tensor<2x3x37x37xbf16>
  %o = tile.dot %pn, %q : tensor<2x3x37x37xbf16>, !et -> !eo
  %on = arith.truncf %o : !eo to !et
  %none = arith.constant dense<0.0> : tensor<2x37x40xf32>
  %y = linalg.generic {indexing_maps = [#ox, #ow, #oo], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]}
      ins(%on, %out : !et, tensor<3x24x40xbf16>) outs(%none : tensor<2x37x40xf32>) {
  ^bb0(%a: bf16, %b: bf16, %c: f32):
    %a1 = arith.extf %a : bf16 to f32
    %b1 = arith.extf %b : bf16 to f32
    %ab = arith.mulf %a1, %b1 : f32
    %sum = arith.addf %c, %ab : f32
    linalg.yield %sum : f32
  } -> tensor<2x37x40xf32>
  %yn = arith.truncf %y : tensor<2x37x40xf32> to !ex
  return %yn : !ex
}

!dx = tensor<?x?x32xf32>
!dw = tensor<1x32x32xf32>
!dt = tensor<?x1x?x32xf32>
!ds = tensor<?x1x?x?xf32>
!dl = tensor<?x?xf32>
func.func @dynamic(%x: !dx, %w: tensor<32x32xf32>, %b: tensor<32xf32>) -> (!dx, !dl) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = tensor.dim %x, %c0 : !dx
  %m = tensor.dim %x, %c1 : !dx
  %w1 = tile.expand_dims %w dim 0 : tensor<32x32xf32> -> !dw
  %q0 = tile.dot %x, %w1 transpose_b : !dx, !dw -> !dx
  %b1 = tile.expand_dims %b dim 0 : tensor<32xf32> -> tensor<1x32xf32>
  %b2 = tile.expand_dims %b1 dim 0 : tensor<1x32xf32> -> tensor<1x1x32xf32>
  %b3 = tile.broadcast %b2 sizes %n, %m : tensor<1x1x32xf32> -> !dx
  %q1 = arith.addf %q0, %b3 : !dx
  %q = tile.expand_dims %q1 dim 1 : !dx -> !dt
  %k = tile.expand_dims %x dim 1 : !dx -> !dt
  %s = tile.dot %q, %k transpose_b : !dt, !dt -> !ds
  %p = tile.softmax %s : !ds
  %o = tile.dot %p, %k : !ds, !dt -> !dt
  %o1 = tensor.collapse_shape %o [[0, 1], [2], [3]] : !dt into !dx
  %y = arith.mulf %o1, %q1 : !dx
  %max = tile.reduce max %y dim 2 : !dx -> !dl
  return %y, %max : !dx, !dl
}

!one = tensor<1x2x1x32xf32>
!kv = tensor<1x2x45x32xf32>
!os = tensor<1x2x1x45xf32>
!om = tensor<1x2x1x45xi1>
func.func @one_row(%x: tensor<1x32xf32>, %w: tensor<32x64xf32>, %kv0: tensor<2x45x32xf32>) -> (tensor<1x64xf32>, tensor<2x32xf32>, tensor<2x32xf32>) {
  %q0 = tile.dot %x, %w : tensor<1x32xf32>, tensor<32x64xf32> -> tensor<1x64xf32>
  %q1 = tensor.expand_shape %q0 [[0], [1, 2]] output_shape [1, 2, 32] : tensor<1x64xf32> into tensor<1x2x32xf32>
  %q = tile.expand_dims %q1 dim 2 : tensor<1x2x32xf32> -> !one
  %kv = tile.expand_dims %kv0 dim 0 : tensor<2x45x32xf32> -> !kv
  // Keys count whose first element is above the mean of all of a head's, and those before the third.
  %sum = tile.reduce add %kv0 dim 1 : tensor<2x45x32xf32> -> tensor<2x32xf32>
  %first = tensor.extract_slice %kv0[0, 0, 0] [2, 45, 1] [1, 1, 1] : tensor<2x45x32xf32> to tensor<2x45xf32>
  %total0 = tensor.extract_slice %sum[0, 0] [2, 1] [1, 1] : tensor<2x32xf32> to tensor<2x1xf32>
  %total = tile.broadcast %total0 : tensor<2x1xf32> -> tensor<2x45xf32>
  %n = arith.constant dense<0.022222> : tensor<2x45xf32>
  %mean = arith.mulf %total, %n : tensor<2x45xf32>
  %above = arith.cmpf ogt, %first, %mean : tensor<2x45xf32>
  %i = tile.iota dim 1 : tensor<2x45xindex>
  %three = arith.constant dense<3> : tensor<2x45xindex>
  %early = arith.cmpi slt, %i, %three : tensor<2x45xindex>
  %seen0 = arith.ori %above, %early : tensor<2x45xi1>
  %seen1 = tile.expand_dims %seen0 dim 0 : tensor<2x45xi1> -> tensor<1x2x45xi1>
  %seen = tile.expand_dims %seen1 dim 2 : tensor<1x2x45xi1> -> !om
  %s0 = tile.dot %q, %kv transpose_b : !one, !kv -> !os
  %none = arith.constant dense<0xFF800000> : !os
  %s = arith.select %seen, %s0, %none : !om, !os
  %p = tile.softmax %s : !os
  %o = tile.dot %p, %kv : !os, !kv -> !one
  %o1 = tensor.collapse_shape %o [[0], [1, 2, 3]] : !one into tensor<1x64xf32>
  %y = arith.mulf %o1, %q0 : tensor<1x64xf32>
  %least = tile.reduce min %kv0 dim 1 : tensor<2x45x32xf32> -> tensor<2x32xf32>
  // What lies behind the 45th row of a tile would count 1 each.
  %e = math.exp %kv0 : tensor<2x45x32xf32>
  %weight = tile.reduce add %e dim 1 : tensor<2x45x32xf32> -> tensor<2x32xf32>
  return %y, %least, %weight : tensor<1x64xf32>, tensor<2x32xf32>, tensor<2x32xf32>
}

!a = tensor<1x2x20x16xf32>
!as = tensor<1x2x20x20xf32>
!al = tensor<1x2x20xf32>
func.func @loss(%x: !a, %k: !a, %scale: f32) -> (tensor<f32>, !al) {
  %c = tile.broadcast %scale : f32 -> !a
  %q = arith.mulf %x, %c : !a
  %s = tile.dot %q, %k transpose_b : !a, !a -> !as
  %p = tile.softmax %s : !as
  %o = tile.dot %p, %k : !as, !a -> !a
  %d = arith.subf %o, %x : !a
  %dd = arith.mulf %d, %d : !a
  %rows = tile.reduce add %dd dim 3 : !a -> !al
  %heads = tile.reduce add %rows dim 2 : !al -> tensor<1x2xf32>
  %batches = tile.reduce add %heads dim 1 : tensor<1x2xf32> -> tensor<1xf32>
  %all = tile.reduce add %batches dim 0 : tensor<1xf32> -> tensor<f32>
  %n = arith.constant dense<0.0015625> : tensor<f32>
  %mean = arith.mulf %all, %n : tensor<f32>
  return %mean, %rows : tensor<f32>, !al
}

!st = tensor<1x1x20x16xf32>
!sp = tensor<1x1x20x20xf32>
func.func @small(%x: !st, %a: tensor<5x3xf32>, %b: tensor<3x7xf32>, %c: tensor<2x9x5xf32>) -> (!st, tensor<5x7xf32>, tensor<5x7xf32>, tensor<2x9x3xf32>, tensor<5x5xf32>) {
  %s = tile.dot %x, %x transpose_b : !st, !st -> !sp
  %p = tile.softmax %s : !sp
  %o = tile.dot %p, %x : tensor<1x1x20x20xf32>, !st -> tensor<1x1x20x16xf32>
  %on = math.tanh %o : tensor<1x1x20x16xf32>
  %d = tile.dot %a, %b : tensor<5x3xf32>, tensor<3x7xf32> -> tensor<5x7xf32>
  // A sum over one element, and a line that is added to each row.
  %a0 = tensor.extract_slice %a[0, 1] [5, 1] [1, 1] : tensor<5x3xf32> to tensor<5x1xf32>
  %b0 = tensor.extract_slice %b[2, 0] [1, 7] [1, 1] : tensor<3x7xf32> to tensor<1x7xf32>
  %y0 = tile.dot %a0, %b0 : tensor<5x1xf32>, tensor<1x7xf32> -> tensor<5x7xf32>
  %line = tile.broadcast %b0 : tensor<1x7xf32> -> tensor<5x7xf32>
  %y = arith.addf %y0, %line : tensor<5x7xf32>
  %a1 = tile.expand_dims %a dim 0 : tensor<5x3xf32> -> tensor<1x5x3xf32>
  %e = tile.dot %c, %a1 : tensor<2x9x5xf32>, tensor<1x5x3xf32> -> tensor<2x9x3xf32>
  %at = tile.transpose %c [0, 2, 1] : tensor<2x9x5xf32> -> tensor<2x5x9xf32>
  %g = tile.dot %at, %c : tensor<2x5x9xf32>, tensor<2x9x5xf32> -> tensor<2x5x5xf32>
  %h = tile.reduce add %g dim 0 : tensor<2x5x5xf32> -> tensor<5x5xf32>
  return %on, %d, %y, %e, %h : !st, tensor<5x7xf32>, tensor<5x7xf32>, tensor<2x9x3xf32>, tensor<5x5xf32>
}

!sq = tensor<2x40x32xf32>
!sk = tensor<2x24x32xf32>
!ss = tensor<2x40x24xf32>
func.func @strided(%q0: tensor<2x32x40xf32>, %k: !sk, %w: tensor<32x20xf32>) -> tensor<2x40x20xf32> {
  %q = tile.transpose %q0 [0, 2, 1] : tensor<2x32x40xf32> -> !sq
  %s = tile.dot %q, %k transpose_b : !sq, !sk -> !ss
  %p = tile.softmax %s : !ss
  %o = tile.dot %p, %k : !ss, !sk -> !sq
  %w1 = tile.expand_dims %w dim 0 : tensor<32x20xf32> -> tensor<1x32x20xf32>
  %y = tile.dot %o, %w1 : !sq, tensor<1x32x20xf32> -> tensor<2x40x20xf32>
  return %y : tensor<2x40x20xf32>
}

func.func @refused(%x: !a, %k: !a) -> !a {
  %size = math.absf %x : !a
  %q = math.log1p %size : !a
  %s = tile.dot %q, %k transpose_b : !a, !a -> !as
  %p = tile.softmax %s : !as
  %o = tile.dot %p, %k : !as, !a -> !a
  return %o : !a
}
