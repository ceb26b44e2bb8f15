// The form in which JAX's attention comes through StableHLO: [B, S, H, D] with
// dot_general as linalg.generic, query heads in groups, iotas compared for a
// causal mask, casts to f32 around the softmax and back.
// RUN: fa-opt --explain %s | FileCheck %s
// RUN: fa-run %s --in 2x50x3x2x32 --in 2x50x3x32 --in 2x50x3x32 --check | FileCheck %s --check-prefix=RAN
// CHECK: fused: softmax(Q Kᵀ) V is one attention
// CHECK: an interval of keys: 0 lower and 1 upper bounds of the row; nothing is evaluated between them
// RAN-NOT: not fused
// RAN: PASS

// q[b, t, k, g, d], k[b, s, k, d] -> [b, k, g, t, s]
#q = affine_map<(b, h, g, t, s, d) -> (b, t, h, g, d)>
#k = affine_map<(b, h, g, t, s, d) -> (b, s, h, d)>
#s = affine_map<(b, h, g, t, s, d) -> (b, h, g, t, s)>
// p[b, k, g, t, s], v[b, s, k, d] -> [b, k, g, t, d]
#p = affine_map<(b, h, g, t, d, s) -> (b, h, g, t, s)>
#v = affine_map<(b, h, g, t, d, s) -> (b, s, h, d)>
#o = affine_map<(b, h, g, t, d, s) -> (b, h, g, t, d)>
#id5 = affine_map<(a, b, c, d, e) -> (a, b, c, d, e)>
#id2 = affine_map<(a, b) -> (a, b)>
#last = affine_map<(a, b, c, d, e) -> (a, b, c, d)>
#ts = affine_map<(a, b, c, d, e) -> (d, e)>
!q = tensor<2x50x3x2x32xf16>
!k = tensor<2x50x3x32xf16>
!s = tensor<2x3x2x50x50xf32>
!h = tensor<2x3x2x50x50xf16>
!r = tensor<2x3x2x50xf32>
!o = tensor<2x3x2x50x32xf32>
func.func @f(%q: !q, %k: !k, %v: !k) -> !q {
  %zero = arith.constant 0.0 : f32
  %inf = arith.constant 0xFF800000 : f32
  %low = arith.constant -1.0e+30 : f32
  %scale = arith.constant 0.176776695 : f32
  %se = tensor.empty() : !s
  %s0 = linalg.fill ins(%zero : f32) outs(%se : !s) -> !s
  %s1 = linalg.generic {indexing_maps = [#q, #k, #s], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%q, %k : !q, !k) outs(%s0 : !s) {
  ^bb0(%x: f16, %y: f16, %a: f32):
    %xw = arith.extf %x : f16 to f32
    %yw = arith.extf %y : f16 to f32
    %m = arith.mulf %xw, %yw : f32
    %n = arith.addf %a, %m : f32
    linalg.yield %n : f32
  } -> !s
  %me = tensor.empty() : tensor<50x50xi1>
  %mask = linalg.generic {indexing_maps = [#id2], iterator_types = ["parallel", "parallel"]} outs(%me : tensor<50x50xi1>) {
  ^bb0(%a: i1):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %i32 = arith.index_cast %i : index to i32
    %j32 = arith.index_cast %j : index to i32
    %c = arith.cmpi sge, %i32, %j32 : i32
    linalg.yield %c : i1
  } -> tensor<50x50xi1>
  %s = linalg.generic {indexing_maps = [#id5, #ts, #id5], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%s1, %mask : !s, tensor<50x50xi1>) outs(%se : !s) {
  ^bb0(%x: f32, %c: i1, %a: f32):
    %y = arith.mulf %x, %scale : f32
    %z = arith.select %c, %y, %low : f32
    linalg.yield %z : f32
  } -> !s
  %re = tensor.empty() : !r
  %m0 = linalg.fill ins(%inf : f32) outs(%re : !r) -> !r
  %m = linalg.reduce ins(%s : !s) outs(%m0 : !r) dimensions = [4] (%x: f32, %a: f32) {
    %n = arith.maximumf %x, %a : f32
    linalg.yield %n : f32
  }
  %e = linalg.generic {indexing_maps = [#id5, #last, #id5], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%s, %m : !s, !r) outs(%se : !s) {
  ^bb0(%x: f32, %y: f32, %a: f32):
    %d = arith.subf %x, %y : f32
    %n = math.exp %d : f32
    linalg.yield %n : f32
  } -> !s
  %l0 = linalg.fill ins(%zero : f32) outs(%re : !r) -> !r
  %l = linalg.reduce ins(%e : !s) outs(%l0 : !r) dimensions = [4] (%x: f32, %a: f32) {
    %n = arith.addf %x, %a : f32
    linalg.yield %n : f32
  }
  %he = tensor.empty() : !h
  %p = linalg.generic {indexing_maps = [#id5, #last, #id5], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%e, %l : !s, !r) outs(%he : !h) {
  ^bb0(%x: f32, %y: f32, %a: f16):
    %d = arith.divf %x, %y : f32
    %n = arith.truncf %d : f32 to f16
    linalg.yield %n : f16
  } -> !h
  %oe = tensor.empty() : !o
  %o0 = linalg.fill ins(%zero : f32) outs(%oe : !o) -> !o
  %o = linalg.generic {indexing_maps = [#p, #v, #o], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%p, %v : !h, !k) outs(%o0 : !o) {
  ^bb0(%x: f16, %y: f16, %a: f32):
    %xw = arith.extf %x : f16 to f32
    %yw = arith.extf %y : f16 to f32
    %mm = arith.mulf %xw, %yw : f32
    %n = arith.addf %a, %mm : f32
    linalg.yield %n : f32
  } -> !o
  %fe = tensor.empty() : !q
  %f = linalg.generic {indexing_maps = [affine_map<(b, t, h, g, d) -> (b, h, g, t, d)>, #id5], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%o : !o) outs(%fe : !q) {
  ^bb0(%x: f32, %a: f16):
    %n = arith.truncf %x : f32 to f16
    linalg.yield %n : f16
  } -> !q
  return %f : !q
}
