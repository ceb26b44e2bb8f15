// Not fused: every kind of number meets functions, conversions and divisions for
// which code could call a compiler's run-time library.
func.func @convert(%a: tensor<?xf32>, %b: tensor<?xf16>, %c: tensor<?xbf16>, %d: tensor<?xf64>, %n: tensor<?xi64>) -> (tensor<?xf16>, tensor<?xbf16>, tensor<?xf64>) {
  %zero = arith.constant 0 : index
  %size = tensor.dim %a, %zero : tensor<?xf32>
  %f16 = tensor.empty(%size) : tensor<?xf16>
  %bf16 = tensor.empty(%size) : tensor<?xbf16>
  %f64 = tensor.empty(%size) : tensor<?xf64>
  %r:3 = linalg.generic {
    indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>,
                     affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
    iterator_types = ["parallel"]}
    ins(%a, %b, %c, %d, %n : tensor<?xf32>, tensor<?xf16>, tensor<?xbf16>, tensor<?xf64>, tensor<?xi64>)
    outs(%f16, %bf16, %f64 : tensor<?xf16>, tensor<?xbf16>, tensor<?xf64>) {
  ^bb0(%x: f32, %h: f16, %g: bf16, %y: f64, %k: i64, %o0: f16, %o1: bf16, %o2: f64):
    %h2 = arith.mulf %h, %h : f16
    %g2 = arith.addf %g, %g : bf16
    %xh = arith.truncf %x : f32 to f16
    %xg = arith.truncf %x : f32 to bf16
    %yh = arith.truncf %y : f64 to f16
    %yg = arith.truncf %y : f64 to bf16
    %kh = arith.sitofp %k : i64 to f16
    %less = arith.cmpf olt, %h2, %xh : f16
    %ha = arith.select %less, %yh, %kh : f16
    %hb = arith.addf %ha, %h2 : f16
    %m = arith.remf %x, %x : f32
    %mg = arith.truncf %m : f32 to bf16
    %ga = arith.maximumf %yg, %xg : bf16
    %gb = arith.addf %ga, %g2 : bf16
    %gc = arith.addf %gb, %mg : bf16
    %three = arith.constant 3 : i64
    %q = arith.divsi %k, %three : i64
    %w = arith.sitofp %q : i64 to f64
    %he = arith.extf %hb : f16 to f64
    %s = arith.addf %w, %he : f64
    %e = math.exp2 %s : f64
    linalg.yield %hb, %gc, %e : f16, bf16, f64
  } -> (tensor<?xf16>, tensor<?xbf16>, tensor<?xf64>)
  return %r#0, %r#1, %r#2 : tensor<?xf16>, tensor<?xbf16>, tensor<?xf64>
}
