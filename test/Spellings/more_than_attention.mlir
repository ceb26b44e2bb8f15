// Functions that are more than one attention: each attention is a kernel of its own, and what is around it is computed beside it.
// RUN: fa-opt --explain %s | FileCheck %s
// CHECK-COUNT-11: fused: softmax(Q Kᵀ) V is one attention
// CHECK: 11 fused, 0 not
// CHECK-COUNT-7: becomes several kernels, one for each attention

// A layer of a transformer without its weights for Q and K: projections in one, a residual.
// RUN: fa-run %s --entry=layer --in 2x40x64 --in 64x192 --in 64x64 --check --target=cpu | FileCheck %s --check-prefixes=RAN,LAYER
// LAYER: kernel   @layer_rest, grid
// LAYER: kernel   @layer_attention, grid {{.*}}, after the one above
// LAYER: kernel   @layer_rest_0, grid {{.*}}, after the one above
// LAYER: memory   workspace
// The keys of the second attention are computed from the first one's result; nothing between them is anything but a view.
// RUN: fa-run %s --entry=crossed --in 1x2x40x32 --in 1x2x24x32 --in 1x2x24x32 --check --target=cpu | FileCheck %s --check-prefixes=RAN,CROSSED
// CROSSED-NOT: not fused
// CROSSED: kernel   @crossed_attention, grid
// CROSSED: kernel   @crossed_attention_0, grid {{.*}}, after the one above
// RUN: fa-run %s --entry=crossed --in 1x2x40x32 --in 1x2x24x32 --in 1x2x24x32 --check --target=emulator:sm_80 | FileCheck %s --check-prefixes=RAN,CROSSED
// RUN: fa-run %s --entry=crossed --in 1x2x40x32 --in 1x2x24x32 --in 1x2x24x32 --check --target=emulator:gfx942 | FileCheck %s --check-prefixes=RAN,CROSSED
// Where what is given has other strides than the kernels before ask for, those behind run.
// RUN: fa-run %s --entry=strided --in 1x2x32x40 --in 1x2x32x24 --in 1x2x24x32 --check --target=cpu | FileCheck %s --check-prefix=RAN
// Sizes that are known at launch alone, in 16 bits, with a mask that is computed and handed over, and the log-sum-exp.
// RUN: fa-run %s --entry=dynamic --in 2x40x64 --in 1x64x64 --in 2x24x64 --in 24 --check --target=cpu | FileCheck %s --check-prefix=RAN
// RUN: fa-run %s --entry=dynamic --in 1x1x64 --in 1x64x64 --in 1x300x64 --in 300 --check --target=cpu | FileCheck %s --check-prefix=RAN
// A query a head, of which each element is multiplied with one of a gate.
// RUN: fa-run %s --entry=gated --in 2x4x1x32 --in 2x2x80x32 --in 2x2x80x32 --in 2x4x1x32 --check --target=cpu | FileCheck %s --check-prefixes=RAN,GATED
// GATED: kernel   @gated_attention_decode, grid
// Three heads in a row, each of which reads what those before give.
// RUN: fa-run %s --entry=chain --in 40x32 --in 40x32 --check --target=cpu | FileCheck %s --check-prefix=RAN
// RUN: fa-run %s --entry=two_attentions --in 1x2x20x16 --in 1x2x20x16 --in 1x2x20x16 --check --target=cpu | FileCheck %s --check-prefixes=RAN,TWO
// TWO-NOT: not fused
// RAN: PASS
// RAN-NOT: FAIL
// Arguments are checked as those of the whole function.
// RUN: not fa-run %s --entry=dynamic --in 2x40x64 --in 1x64x64 --in 3x24x64 --in 24 --target=cpu 2>&1 | FileCheck %s --check-prefix=WRONG
// WRONG: argument 0: expected size 3 in dimension 0 as in dimension 0 of argument 2, found 2

!x = tensor<2x40x64xf32>
!r = tensor<80x64xf32>
!heads = tensor<2x40x4x16xf32>
!t = tensor<2x4x40x16xf32>
!s = tensor<2x4x40x40xf32>
func.func @layer(%x: !x, %packed: tensor<64x192xf32>, %out: tensor<64x64xf32>) -> !x {
  %rows = tensor.collapse_shape %x [[0, 1], [2]] : !x into !r
  %all = tile.dot %rows, %packed : !r, tensor<64x192xf32> -> tensor<80x192xf32>
  %each = tensor.expand_shape %all [[0, 1], [2, 3, 4]] output_shape [2, 40, 3, 4, 16] : tensor<80x192xf32> into tensor<2x40x3x4x16xf32>
  %q0 = tensor.extract_slice %each[0, 0, 0, 0, 0] [2, 40, 1, 4, 16] [1, 1, 1, 1, 1] : tensor<2x40x3x4x16xf32> to !heads
  %k0 = tensor.extract_slice %each[0, 0, 1, 0, 0] [2, 40, 1, 4, 16] [1, 1, 1, 1, 1] : tensor<2x40x3x4x16xf32> to !heads
  %v0 = tensor.extract_slice %each[0, 0, 2, 0, 0] [2, 40, 1, 4, 16] [1, 1, 1, 1, 1] : tensor<2x40x3x4x16xf32> to !heads
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
  %y0 = tile.dot %o2, %out : !r, tensor<64x64xf32> -> !r
  %y1 = arith.addf %y0, %rows : !r
  %y = tensor.expand_shape %y1 [[0, 1], [2]] output_shape [2, 40, 64] : !r into !x
  return %y : !x
}

!long = tensor<1x2x40x32xf32>
!short = tensor<1x2x24x32xf32>
!ls = tensor<1x2x40x24xf32>
!sl = tensor<1x2x24x40xf32>
func.func @crossed(%q: !long, %k: !short, %v: !short) -> !short {
  %s = tile.dot %q, %k transpose_b : !long, !short -> !ls
  %p = tile.softmax %s : !ls
  %o = tile.dot %p, %v : !ls, !short -> !long
  %s2 = tile.dot %k, %o transpose_b : !short, !long -> !sl
  %p2 = tile.softmax %s2 : !sl
  %o2 = tile.dot %p2, %o : !sl, !long -> !short
  return %o2 : !short
}

func.func @strided(%q0: tensor<1x2x32x40xf32>, %k0: tensor<1x2x32x24xf32>, %v: !short) -> !long {
  %q1 = tile.transpose %q0 [0, 1, 3, 2] : tensor<1x2x32x40xf32> -> !long
  %k = tile.transpose %k0 [0, 1, 3, 2] : tensor<1x2x32x24xf32> -> !short
  %q = arith.addf %q1, %q1 : !long
  %s = tile.dot %q, %k transpose_b : !long, !short -> !ls
  %p = tile.softmax %s : !ls
  %o = tile.dot %p, %v : !ls, !short -> !long
  return %o : !long
}

!dx = tensor<?x?x64xf16>
!df = tensor<?x?x64xf32>
!dt = tensor<?x1x?x64xf16>
!do = tensor<?x1x?x64xf32>
!ds = tensor<?x1x?x?xf32>
!dm = tensor<?x1x?xf32>
func.func @dynamic(%x: !dx, %w: tensor<1x64x64xf16>, %y: !dx, %bias: tensor<?xf32>) -> (!dx, !dm) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %b = tensor.dim %x, %c0 : !dx
  %m = tensor.dim %x, %c1 : !dx
  %n = tensor.dim %y, %c1 : !dx
  %q0 = tile.dot %x, %w : !dx, tensor<1x64x64xf16> -> !df
  %q1 = arith.truncf %q0 : !df to !dx
  %q = tile.expand_dims %q1 dim 1 : !dx -> !dt
  %k = tile.expand_dims %y dim 1 : !dx -> !dt
  %zero = arith.constant 0.0 : f32
  %zeros = tile.broadcast %zero sizes %n : f32 -> tensor<?xf32>
  %seen = arith.cmpf ogt, %bias, %zeros : tensor<?xf32>
  %seen1 = tile.expand_dims %seen dim 0 : tensor<?xi1> -> tensor<1x?xi1>
  %seen2 = tile.expand_dims %seen1 dim 0 : tensor<1x?xi1> -> tensor<1x1x?xi1>
  %seen3 = tile.expand_dims %seen2 dim 0 : tensor<1x1x?xi1> -> tensor<1x1x1x?xi1>
  %mask = tile.broadcast %seen3 sizes %b, %m, %n : tensor<1x1x1x?xi1> -> tensor<?x1x?x?xi1>
  %s0 = tile.dot %q, %k transpose_b : !dt, !dt -> !ds
  %inf = arith.constant 0xFF800000 : f32
  %none = tile.broadcast %inf sizes %b, %m, %n : f32 -> !ds
  %s = arith.select %mask, %s0, %none : tensor<?x1x?x?xi1>, !ds
  %p0 = tile.softmax %s : !ds
  %lse = tile.log_sum_exp %s : !ds -> !dm
  %p = arith.truncf %p0 : !ds to tensor<?x1x?x?xf16>
  %o0 = tile.dot %p, %k : tensor<?x1x?x?xf16>, !dt -> !do
  %o1 = arith.truncf %o0 : !do to !dt
  %o2 = tensor.collapse_shape %o1 [[0, 1], [2], [3]] : !dt into !dx
  %o = arith.addf %o2, %x : !dx
  return %o, %lse : !dx, !dm
}

!one = tensor<2x4x1x32xf32>
!kv = tensor<2x2x80x32xf32>
!os = tensor<2x4x1x80xf32>
func.func @gated(%q: !one, %k: !kv, %v: !kv, %gate: !one) -> !one {
  %s = tile.dot %q, %k transpose_b : !one, !kv -> !os
  %p = tile.softmax %s : !os
  %o = tile.dot %p, %v : !os, !kv -> !one
  %y = arith.mulf %o, %gate : !one
  return %y : !one
}

!h = tensor<40x32xf32>
!hs = tensor<40x40xf32>
func.func @chain(%x: !h, %y: !h) -> (!h, !h) {
  %s = tile.dot %x, %y transpose_b : !h, !h -> !hs
  %p = tile.softmax %s : !hs
  %o = tile.dot %p, %y : !hs, !h -> !h
  %q = math.tanh %o : !h
  %s2 = tile.dot %q, %y transpose_b : !h, !h -> !hs
  %p2 = tile.softmax %s2 : !hs
  %o2 = tile.dot %p2, %o : !hs, !h -> !h
  %s3 = tile.dot %q, %o2 transpose_b : !h, !h -> !hs
  %p3 = tile.softmax %s3 : !hs
  %o3 = tile.dot %p3, %y : !hs, !h -> !h
  %z = arith.addf %o3, %o : !h
  return %z, %o2 : !h, !h
}

!any = tensor<?x?x?x16xf32>
!anys = tensor<?x?x?x?xf32>
func.func @two_attentions(%q: !any, %k: !any, %v: !any) -> !any {
  %s = tile.dot %q, %k transpose_b : !any, !any -> !anys
  %p = tile.softmax %s : !anys
  %o = tile.dot %p, %v : !anys, !any -> !any
  %s2 = tile.dot %o, %k transpose_b : !any, !any -> !anys
  %t2 = math.tanh %s2 : !anys
  %p2 = tile.softmax %t2 : !anys
  %o2 = tile.dot %p2, %v : !anys, !any -> !any
  return %o2 : !any
}
