// RUN: fa-opt %s --tile-online-softmax --canonicalize --cse | FileCheck %s

!rows = tensor<?x?x?x64xf16>

// CHECK-LABEL: func.func @attention
// CHECK-DAG: %[[ZERO:.*]] = arith.constant 0.000000e+00 : f32
// CHECK-DAG: %[[NONE:.*]] = arith.constant 0xFF800000 : f32
// CHECK: %[[ACC:.*]] = tile.broadcast %[[ZERO]] sizes {{.*}} : f32 -> tensor<?x?x?x64xf32>
// CHECK: %[[MAX:.*]] = tile.broadcast %[[NONE]] sizes {{.*}} : f32 -> tensor<?x?x?xf32>
// CHECK: %[[SUM:.*]] = tile.broadcast %{{.*}} sizes {{.*}} : f32 -> tensor<?x?x?xf32>
// CHECK: %[[A:.*]], %[[M:.*]], %[[L:.*]] = tile.online_attention %arg0, %arg1, %arg2 scale %arg3 state(%[[ACC]], %[[MAX]], %[[SUM]])
// CHECK: %[[O:.*]], %[[LSE:.*]] = tile.online_finalize %[[A]], %[[M]], %[[L]]
// CHECK: %[[T:.*]] = arith.truncf %[[O]] : tensor<?x?x?x64xf32> to tensor<?x?x?x64xf16>
// CHECK: return %[[T]], %[[LSE]]
func.func @attention(%q: !rows, %k: !rows, %v: !rows, %scale: f32) -> (!rows, tensor<?x?x?xf32>) {
  %o, %l = tile.attention %q, %k, %v scale %scale : !rows, !rows, !rows -> !rows lse tensor<?x?x?xf32> score {} mask {}
  return %o, %l : !rows, tensor<?x?x?xf32>
}
