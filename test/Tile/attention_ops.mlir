// RUN: fa-opt %s | fa-opt | FileCheck %s
// RUN: fa-opt %s --emit-bytecode | fa-opt | FileCheck %s

!rows = tensor<?x?x?x64xf16>
!lse = tensor<?x?x?xf32>

// CHECK-LABEL: func.func @plain
// CHECK: tile.attention %{{.*}}, %{{.*}}, %{{.*}} scale %{{.*}} : {{.*}} -> tensor<?x?x?x64xf16> score {
func.func @plain(%q: !rows, %k: !rows, %v: !rows, %scale: f32) -> !rows {
  %o = tile.attention %q, %k, %v scale %scale : !rows, !rows, !rows -> !rows score {} mask {}
  return %o : !rows
}

// CHECK-LABEL: func.func @regions
// CHECK: lse tensor<?x?x?xf32> score {
// CHECK: ^bb0(%{{.*}}: f32, %{{.*}}: index, %{{.*}}: index, %{{.*}}: index, %{{.*}}: index, %{{.*}}: index, %[[S:.*]]: tensor<?xf32>):
// CHECK: tensor.extract %[[S]]
// CHECK: mask {
// CHECK: tile.yield %{{.*}} : i1
func.func @regions(%q: !rows, %k: !rows, %v: !rows, %scale: f32, %off: index, %slopes: tensor<?xf32>) -> (!rows, !lse) {
  %o, %l = tile.attention %q, %k, %v scale %scale captures(%off, %slopes : index, tensor<?xf32>)
      : !rows, !rows, !rows -> !rows lse !lse
  score {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %o1: index, %slopes1: tensor<?xf32>):
    %slope = tensor.extract %slopes1[%h] : tensor<?xf32>
    %s1 = arith.addf %s, %slope : f32
    tile.yield %s1 : f32
  } mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %o1: index, %slopes1: tensor<?xf32>):
    %lim = arith.addi %i, %o1 : index
    %m = arith.cmpi sle, %j, %lim : index
    tile.yield %m : i1
  }
  return %o, %l : !rows, !lse
}

// CHECK-LABEL: func.func @narrow_keys
// CHECK: tile.attention %{{.*}} scale %{{.*}} key_scales %{{.*}} : tensor<?x?xf32> value_scales %{{.*}} : tensor<?x?xf32> : tensor<?x?x?x64xf16>, tensor<?x?x?x64xf8E4M3FN>, tensor<?x?x?x64xf8E4M3FN> -> tensor<?x?x?x64xf16> score {
func.func @narrow_keys(%q: !rows, %k: tensor<?x?x?x64xf8E4M3FN>, %c: tensor<?x?xf32>, %scale: f32) -> !rows {
  %o = tile.attention %q, %k, %k scale %scale key_scales %c : tensor<?x?xf32> value_scales %c : tensor<?x?xf32> : !rows, tensor<?x?x?x64xf8E4M3FN>, tensor<?x?x?x64xf8E4M3FN> -> !rows score {} mask {}
  return %o : !rows
}

// CHECK-LABEL: func.func @online
// CHECK: tile.online_attention {{.*}} state(%{{.*}}, %{{.*}}, %{{.*}})
// CHECK: tile.online_finalize
func.func @online(%q: !rows, %k: !rows, %v: !rows, %scale: f32, %acc: tensor<?x?x?x64xf32>, %max: !lse, %sum: !lse) -> tensor<?x?x?x64xf32> {
  %a, %m, %l = tile.online_attention %q, %k, %v scale %scale state(%acc, %max, %sum)
      : !rows, !rows, !rows -> tensor<?x?x?x64xf32>, !lse, !lse score {} mask {}
  %o, %lse = tile.online_finalize %a, %m, %l : tensor<?x?x?x64xf32>, !lse
  return %o : tensor<?x?x?x64xf32>
}

// CHECK-LABEL: func.func @softmax_step
// CHECK: tile.online_softmax %{{.*}}, %{{.*}}, %{{.*}} : tensor<64x128xf32>, tensor<64xf32>
func.func @softmax_step(%s: tensor<64x128xf32>, %m: tensor<64xf32>, %l: tensor<64xf32>) {
  %p, %alpha, %m1, %l1 = tile.online_softmax %s, %m, %l : tensor<64x128xf32>, tensor<64xf32>
  return
}

// CHECK-LABEL: func.func @finalize_apart
// CHECK: tile.online_finalize %{{.*}}, %{{.*}}, %{{.*}} : tensor<16x64xf32>, tensor<16xf32> apart tensor<16xf32>
func.func @finalize_apart(%a: tensor<16x64xf32>, %m: tensor<16xf32>, %l: tensor<16xf32>) {
  %o, %s, %om = tile.online_finalize %a, %m, %l : tensor<16x64xf32>, tensor<16xf32> apart tensor<16xf32>
  return
}

// CHECK-LABEL: func.func @merge
// CHECK: tile.online_merge %{{.*}}, %{{.*}}, %{{.*}} with %{{.*}}, %{{.*}}, %{{.*}} : tensor<16x64xf32>, tensor<16xf32>
func.func @merge(%a: tensor<16x64xf32>, %m: tensor<16xf32>, %l: tensor<16xf32>, %o: tensor<16x64xf32>, %om: tensor<16xf32>, %s: tensor<16xf32>) {
  %a1, %m1, %l1 = tile.online_merge %a, %m, %l with %o, %om, %s : tensor<16x64xf32>, tensor<16xf32>
  return
}

// CHECK-LABEL: tile.kernel @parts
// CHECK: tile.part_id
// CHECK: tile.merge_parts %{{.*}}, %{{.*}}, %{{.*}} : (tensor<16x64xf32>, tensor<16xf32>, tensor<16xf32>) -> (tensor<16x64xf32>, tensor<16xf32>, tensor<16xf32>)
tile.kernel @parts() attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>, tile.parts = 4 : i64} {
  %a = arith.constant dense<0.0> : tensor<16x64xf32>
  %m = arith.constant dense<0.0> : tensor<16xf32>
  %part = tile.part_id
  %a1, %m1, %l1 = tile.merge_parts %a, %m, %m : (tensor<16x64xf32>, tensor<16xf32>, tensor<16xf32>) -> (tensor<16x64xf32>, tensor<16xf32>, tensor<16xf32>)
  tile.return
}

!lines = tensor<?x?x?xf32>
// CHECK-LABEL: func @backward
// CHECK: %{{.*}}, %{{.*}} = tile.attention_backward {{.*}} dlse %{{.*}} : tensor<?x?x?xf32> scale %{{.*}} captures(%{{.*}} : tensor<?xf32>) {wide_p} : {{.*}} dq tensor<?x?x?x64xf16> dv tensor<?x?x?x64xf16> score {
// CHECK: } mask {
// CHECK-NEXT: } derivative {
func.func @backward(%q: !rows, %lse: !lines, %scale: f32, %slopes: tensor<?xf32>) -> (!rows, !rows) {
  %dq, %dv = tile.attention_backward %q, %q, %q, %q, %lse, %q dlse %lse : !lines scale %scale captures(%slopes : tensor<?xf32>)
      {wide_p} : !rows, !rows, !rows, !rows, !lines, !rows dq !rows dv !rows
  score {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %x: tensor<?xf32>):
    %e = tensor.extract %x[%h] : tensor<?xf32>
    %m = arith.mulf %s, %e : f32
    tile.yield %m : f32
  } mask {} derivative {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %x: tensor<?xf32>):
    %e = tensor.extract %x[%h] : tensor<?xf32>
    tile.yield %e : f32
  }
  return %dq, %dv : !rows, !rows
}

!rng = tensor<2xi64>
// CHECK-LABEL: func @dropout
// CHECK: tile.attention {{.*}} scale %{{.*}} dropout %{{.*}} : tensor<2xi64> probability 1.000000e-01 : {{.*}} lse
// CHECK: tile.attention_backward {{.*}} scale %{{.*}} dropout %{{.*}} : tensor<2xi64> probability 1.000000e-01 : {{.*}} dq
// CHECK: tile.online_attention {{.*}} state({{.*}}) dropout %{{.*}} : tensor<2xi64> probability 1.000000e-01 : {{.*}} score
func.func @dropout(%q: !rows, %acc: tensor<?x?x?x64xf32>, %rng: !rng, %c: f32) {
  %o, %lse = tile.attention %q, %q, %q scale %c dropout %rng : !rng probability 0.1 : !rows, !rows, !rows -> !rows lse !lines score {} mask {}
  %dq = tile.attention_backward %q, %q, %q, %o, %lse, %q scale %c dropout %rng : !rng probability 0.1 : !rows, !rows, !rows, !rows, !lines, !rows dq !rows score {} mask {} derivative {}
  %a, %m, %l = tile.online_attention %q, %q, %q scale %c state(%acc, %lse, %lse) dropout %rng : !rng probability 0.1 : !rows, !rows, !rows -> tensor<?x?x?x64xf32>, !lines, !lines score {} mask {}
  return
}
