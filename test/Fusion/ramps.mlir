// A bias that is linear in the distance of key and query is what the scores' dot of warp-specialized kernels adds to.
// RUN: fa-run --attention "d=128 type=bf16 alibi causal" --arch=sm_90a --emit=kernel | FileCheck %s --check-prefix=ONE
// ONE: tile.kernel @attention_roles(
// The slope over the scale is bounded, and the distance counted from the tile's rows.
// ONE: %[[SLOPE:.*]] = memref.load %arg3
// ONE-NEXT: %[[RATIO:.*]] = arith.divf %[[SLOPE]], %arg4
// ONE: %[[BOUND:.*]] = math.copysign %{{.*}}, %[[RATIO]]
// ONE: %[[FACTOR:.*]] = arith.select %{{.*}}, %[[BOUND]], %[[RATIO]]
// The tiles of the diagonal first; scores have no other operation than the mask.
// ONE: scf.for %[[J:.*]] = %[[EDGE:.*]] to
// ONE: %[[R:.*]] = tile.ramp %[[FACTOR]] from %[[ROW:.*]], %[[J]] :
// ONE-NEXT: %[[S:.*]] = tile.dot {{.*}} transpose_b acc %[[R]]
// ONE: %[[M:.*]] = arith.select %{{.*}}, %[[S]]
// ONE: tile.online_softmax %[[M]], {{.*}} scale %arg4
// ONE: scf.for %[[J:.*]] = %c0 to %[[EDGE]]
// ONE: %[[R:.*]] = tile.ramp %[[FACTOR]] from %[[ROW]], %[[J]] :
// ONE-NEXT: %[[S:.*]] = tile.dot {{.*}} transpose_b acc %[[R]]
// ONE-NEXT: tile.online_softmax %[[S]], {{.*}} scale %arg4
// Without warp specialization the region stays as it is.
// ONE: tile.kernel @attention(
// ONE-NOT: tile.ramp

// With |i - j| and no mask: first tiles in which the sign may change, and the one that is cut, then the others, each on one side.
// RUN: fa-run --attention "d=128 type=bf16 alibi" --arch=sm_90a --emit=kernel | FileCheck %s --check-prefix=BOTH
// BOTH: tile.kernel @attention_roles(
// BOTH: scf.for %[[P:.*]] = %[[BEGIN:.*]] to
// BOTH: %[[CUT:.*]] = arith.cmpi sge, %[[P]], %[[BEHIND:.*]] : index
// BOTH-NEXT: %[[MORE:.*]] = arith.select %[[CUT]]
// BOTH-NEXT: arith.addi %[[P]], %[[MORE]]
// BOTH-NOT: tile.ramp
// BOTH: math.absf
// BOTH: tile.online_softmax
// BOTH: scf.for %[[P:.*]] = %c0 to
// BOTH: %[[LATER:.*]] = arith.cmpi sge, %[[P]], %[[BEGIN]] : index
// BOTH-NEXT: %[[MORE:.*]] = arith.select %[[LATER]]
// BOTH-NEXT: %[[J:.*]] = arith.addi %[[P]], %[[MORE]]
// BOTH: %[[BEFORE:.*]] = arith.cmpi slt, %[[J]], %[[ROW:.*]] : index
// BOTH: %[[FACTOR:.*]] = arith.select %[[BEFORE]]
// BOTH: %[[R:.*]] = tile.ramp %[[FACTOR]] from %[[ROW]], %[[J]] :
// BOTH-NEXT: %[[S:.*]] = tile.dot {{.*}} transpose_b acc %[[R]]
// BOTH-NEXT: tile.online_softmax %[[S]]

// Not with another operation on the scores, where tiles in which the sign changes are not all of those at an edge, or where keys
// come in several intervals.
// RUN: fa-run --attention "d=128 type=bf16 alibi softcap=30" --arch=sm_90a --emit=kernel | FileCheck %s --check-prefix=NONE
// RUN: fa-run --attention "d=128 type=bf16 alibi window=100,100" --arch=sm_90a --emit=kernel | FileCheck %s --check-prefix=NONE
// RUN: fa-run --attention "d=128 type=bf16 alibi causal prefix=100" --arch=sm_90a --emit=kernel | FileCheck %s --check-prefix=NONE
// NONE: tile.kernel @attention_roles(
// NONE-NOT: tile.ramp

// A mask that is not the same for all rows has tiles at edges of its own.
// RUN: fa-opt %s --pass-pipeline='builtin.module(tile-online-softmax,tile-to-kernel{variants=false machine=sm_90a constraints="splits=1 schedule=persistent"},canonicalize,cse)' | FileCheck %s
// CHECK-LABEL: tile.kernel @backwards_roles(
// CHECK-NOT: tile.ramp
// CHECK: math.absf
// CHECK-NOT: tile.ramp
// CHECK-LABEL: tile.kernel @length_roles(
// CHECK: tile.ramp
!rows = tensor<?x?x?x64xf16>
func.func @backwards(%q: !rows, %k: !rows, %v: !rows, %scale: f32, %slope: f32, %n: index) -> !rows {
  %o = tile.attention %q, %k, %v scale %scale captures(%slope, %n : f32, index) : !rows, !rows, !rows -> !rows score {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %t: f32, %c: index):
    %x = arith.subi %i, %j : index
    %y = arith.index_cast %x : index to i32
    %f = arith.sitofp %y : i32 to f32
    %a = math.absf %f : f32
    %p = arith.mulf %t, %a : f32
    %z = arith.subf %s, %p : f32
    tile.yield %z : f32
  } mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %t: f32, %c: index):
    %r = arith.subi %c, %i : index
    %seen = arith.cmpi sle, %j, %r : index
    tile.yield %seen : i1
  }
  return %o : !rows
}
func.func @length(%q: !rows, %k: !rows, %v: !rows, %scale: f32, %slope: f32, %n: index) -> !rows {
  %o = tile.attention %q, %k, %v scale %scale captures(%slope, %n : f32, index) : !rows, !rows, !rows -> !rows score {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %t: f32, %c: index):
    %x = arith.subi %i, %j : index
    %y = arith.index_cast %x : index to i32
    %f = arith.sitofp %y : i32 to f32
    %a = math.absf %f : f32
    %p = arith.mulf %t, %a : f32
    %z = arith.subf %s, %p : f32
    tile.yield %z : f32
  } mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %t: f32, %c: index):
    %seen = arith.cmpi slt, %j, %c : index
    tile.yield %seen : i1
  }
  return %o : !rows
}
