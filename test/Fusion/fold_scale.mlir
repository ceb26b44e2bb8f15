// RUN: fa-opt %s --split-input-file --pass-pipeline='builtin.module(tile-online-softmax,tile-to-kernel{variants=false machine=sm_80},canonicalize,cse)' | FileCheck %s
// RUN: fa-opt %s --split-input-file --pass-pipeline='builtin.module(tile-online-softmax,tile-to-kernel{variants=false},canonicalize,cse)' | FileCheck %s --check-prefix=KEPT

!rows = tensor<?x?x?x64xf16>

// The factor of a softcap is the softmax's, in both loops the same.
// CHECK-LABEL: tile.kernel @softcap(
// CHECK: %[[CAP:.*]] = arith.constant 3.000000e+01 : f32
// CHECK: %[[T:.*]] = math.tanh
// CHECK-NEXT: tile.online_softmax %[[T]], %{{.*}}, %{{.*}} scale %[[CAP]]
// CHECK: %[[T:.*]] = math.tanh
// CHECK: %[[S:.*]] = arith.select %{{.*}}, %[[T]],
// CHECK: tile.online_softmax %[[S]], %{{.*}}, %{{.*}} scale %[[CAP]]
// KEPT-LABEL: tile.kernel @softcap(
// KEPT: %[[T:.*]] = math.tanh
// KEPT-NEXT: %[[S:.*]] = arith.mulf %[[T]],
// KEPT-NEXT: tile.online_softmax %[[S]], %{{[^ ]*}}, %{{[^ ]*}} :
func.func @softcap(%q: !rows, %k: !rows, %v: !rows, %scale: f32) -> !rows {
  %o = tile.attention %q, %k, %v scale %scale : !rows, !rows, !rows -> !rows score {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index):
    %cap = arith.constant 30.0 : f32
    %t = math.tanh %s : f32
    %c = arith.mulf %t, %cap : f32
    tile.yield %c : f32
  } mask {}
  return %o : !rows
}

// -----

!rows = tensor<?x?x?x64xf16>

// A factor below 0 turns the order of scores around, and one before a sum is
// not that of all.
// CHECK-LABEL: tile.kernel @below(
// CHECK: arith.mulf
// CHECK: tile.online_softmax %{{[^ ]*}}, %{{[^ ]*}}, %{{[^ ]*}} :
func.func @below(%q: !rows, %k: !rows, %v: !rows) -> !rows {
  %one = arith.constant 1.0 : f32
  %o = tile.attention %q, %k, %v scale %one : !rows, !rows, !rows -> !rows score {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index):
    %cap = arith.constant -2.0 : f32
    %c = arith.mulf %s, %cap : f32
    tile.yield %c : f32
  } mask {}
  return %o : !rows
}

// -----

!rows = tensor<?x?x?x64xf16>

// CHECK-LABEL: tile.kernel @sum(
// CHECK: arith.mulf
// CHECK: arith.addf
// CHECK-NEXT: tile.online_softmax %{{[^ ]*}}, %{{[^ ]*}}, %{{[^ ]*}} :
func.func @sum(%q: !rows, %k: !rows, %v: !rows) -> !rows {
  %one = arith.constant 1.0 : f32
  %o = tile.attention %q, %k, %v scale %one : !rows, !rows, !rows -> !rows score {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index):
    %cap = arith.constant 2.0 : f32
    %c = arith.mulf %s, %cap : f32
    %d = arith.addf %c, %cap : f32
    tile.yield %d : f32
  } mask {}
  return %o : !rows
}
