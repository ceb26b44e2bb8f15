// What all scores are multiplied with first is a part of the scale.
// RUN: fa-opt %s --canonicalize | FileCheck %s

!t = tensor<?x?x?x64xf16>

// CHECK-LABEL: func.func @softcap(
// CHECK-SAME: , %[[S:[^:]*]]: f32)
// CHECK: %[[C:.*]] = arith.constant 0.0333333351 : f32
// CHECK: %[[X:.*]] = arith.mulf %[[S]], %[[C]] : f32
// CHECK: tile.attention %{{.*}} scale %[[X]]
// CHECK: ^bb0(%[[SCORE:[^:]*]]: f32
// CHECK-NOT: arith.divf
// CHECK: math.tanh %[[SCORE]] : f32
func.func @softcap(%q: !t, %s: f32) -> !t {
  %o = tile.attention %q, %q, %q scale %s : !t, !t, !t -> !t score {
  ^bb0(%x: f32, %b: index, %h: index, %i: index, %j: index):
    %cap = arith.constant 30.0 : f32
    %y = arith.divf %x, %cap : f32
    %z = math.tanh %y : f32
    %capped = arith.mulf %z, %cap : f32
    tile.yield %capped : f32
  } mask {}
  return %o : !t
}

// A region that did nothing else is empty.
// CHECK-LABEL: func.func @scaled(
// CHECK: tile.attention
// CHECK-SAME: score {
// CHECK-NEXT: } mask {
func.func @scaled(%q: !t, %s: f32) -> !t {
  %o = tile.attention %q, %q, %q scale %s : !t, !t, !t -> !t score {
  ^bb0(%x: f32, %b: index, %h: index, %i: index, %j: index):
    %two = arith.constant 2.0 : f32
    %y = arith.mulf %two, %x : f32
    tile.yield %y : f32
  } mask {}
  return %o : !t
}

// Nor a quotient of a constant, a score that is read twice, or a factor of which a scale would become infinite.
// CHECK-LABEL: func.func @kept(
// CHECK-SAME: , %[[S:[^:]*]]: f32)
// CHECK-COUNT-3: tile.attention %{{.*}} scale %[[S]]
func.func @kept(%q: !t, %s: f32) -> (!t, !t, !t) {
  %o = tile.attention %q, %q, %q scale %s : !t, !t, !t -> !t score {
  ^bb0(%x: f32, %b: index, %h: index, %i: index, %j: index):
    %two = arith.constant 2.0 : f32
    %y = arith.divf %two, %x : f32
    tile.yield %y : f32
  } mask {}
  %p = tile.attention %q, %q, %q scale %s : !t, !t, !t -> !t score {
  ^bb0(%x: f32, %b: index, %h: index, %i: index, %j: index):
    %two = arith.constant 2.0 : f32
    %y = arith.mulf %two, %x : f32
    %z = arith.mulf %x, %y : f32
    tile.yield %z : f32
  } mask {}
  %r = tile.attention %q, %q, %q scale %s : !t, !t, !t -> !t score {
  ^bb0(%x: f32, %b: index, %h: index, %i: index, %j: index):
    %large = arith.constant 1.0e+30 : f32
    %y = arith.mulf %large, %x : f32
    tile.yield %y : f32
  } mask {}
  return %o, %p, %r : !t, !t, !t
}
