// A bias that rises or falls along all keys, without a mask: the scores' dot adds to it, and the last tile, whole or cut, comes
// first, so that maxima do not rise with every tile.
// RUN: fa-opt %s --tile-online-softmax --tile-to-kernel='machine=sm_90a constraints="schedule=persistent stages=2 splits=1"' | FileCheck %s
// RUN: fa-run %s --entry=signed --in 1x2x200x64 --in 1x2x320x64 --in 1x2x320x64 --in 2 --in 0.125 --check --target=emulator:sm_90a | FileCheck %s --check-prefix=RIGHT
// RUN: fa-run %s --entry=signed --in 1x2x200x64 --in 1x2x300x64 --in 1x2x300x64 --in 2 --in 0.125 --check --target=emulator:sm_90a | FileCheck %s --check-prefix=RIGHT
// RUN: fa-run %s --entry=signed --in 1x2x70x64 --in 1x2x1x64 --in 1x2x1x64 --in 2 --in 0.125 --check --target=emulator:sm_90a | FileCheck %s --check-prefix=RIGHT
// RIGHT: kernel   @signed_roles
// RIGHT: PASS

!rows = tensor<?x?x?x64xbf16>

// CHECK: tile.kernel @signed_roles(
// Whole tiles without the last one: of as many keys less one.
// CHECK: %[[KEYS:.*]] = arith.subi %dim{{.*}}, %c0{{.*}} : index
// CHECK: %[[ONE:.*]] = arith.constant 1 : index
// CHECK-NEXT: %[[REST:.*]] = arith.subi %[[KEYS]], %[[ONE]] : index
// CHECK: %[[NATURAL:.*]] = arith.maxsi %[[REST]], %c0{{.*}} : index
// CHECK-NEXT: %[[TILES:.*]] = arith.divui %[[NATURAL]]
// CHECK-NEXT: %[[WHOLE:.*]] = arith.muli %[[TILES]]
// CHECK-NEXT: %[[LAST:.*]] = arith.addi %{{.*}}, %[[WHOLE]] : index
// CHECK: scf.for %[[J:.*]] = %[[LAST]] to
// CHECK: %[[R:.*]] = tile.ramp %{{.*}}, %[[J]] :
// CHECK-NEXT: %[[S:.*]] = tile.dot {{.*}} transpose_b acc %[[R]]
// CHECK: arith.select %{{.*}}, %[[S]]
// CHECK: scf.for %[[J:.*]] = %c0{{.*}} to %[[LAST]]
// CHECK: %[[R:.*]] = tile.ramp %{{.*}}, %[[J]] :
// CHECK-NEXT: %[[S:.*]] = tile.dot {{.*}} transpose_b acc %[[R]]
// CHECK-NEXT: tile.online_softmax %[[S]]
func.func @signed(%q: !rows, %k: !rows, %v: !rows, %slopes: tensor<?xf32>, %scale: f32) -> !rows {
  %o = tile.attention %q, %k, %v scale %scale captures(%slopes : tensor<?xf32>) : !rows, !rows, !rows -> !rows score {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %t: tensor<?xf32>):
    %slope = tensor.extract %t[%h] : tensor<?xf32>
    %x = arith.subi %j, %i : index
    %y = arith.index_cast %x : index to i32
    %f = arith.sitofp %y : i32 to f32
    %p = arith.mulf %slope, %f : f32
    %z = arith.addf %s, %p : f32
    tile.yield %z : f32
  } mask {}
  return %o : !rows
}
