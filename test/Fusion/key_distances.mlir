// RUN: fa-opt %s --split-input-file --pass-pipeline='builtin.module(tile-online-softmax,tile-to-kernel{variants=false},canonicalize,cse)' | FileCheck %s

!rows = tensor<?x?x?x64xf16>

// The mask lets no key pass that is behind its query: its distance has no sign to take away. The bias is
// linear along the keys then, so that the tiles at the edge, which have masks, come first.
// CHECK-LABEL: tile.kernel @before(
// CHECK-NOT: math.absf
// CHECK: scf.for
// CHECK: arith.sitofp
// CHECK: arith.select
// CHECK: tile.online_softmax
// CHECK: scf.for
// CHECK: arith.sitofp
// CHECK-NOT: arith.select
// CHECK-NOT: math.absf
// CHECK: tile.return
func.func @before(%q: !rows, %k: !rows, %v: !rows, %scale: f32, %slope: f32, %n: index) -> !rows {
  %m = arith.addi %n, %n : index
  %same = arith.addi %n, %n : index
  %o = tile.attention %q, %k, %v scale %scale captures(%slope, %m, %same : f32, index, index) : !rows, !rows, !rows -> !rows score {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %t: f32, %c: index, %d: index):
    %r = arith.addi %i, %c : index
    %x = arith.subi %r, %j : index
    %y = arith.index_cast %x : index to i32
    %f = arith.sitofp %y : i32 to f32
    %a = math.absf %f : f32
    %p = arith.mulf %t, %a : f32
    %z = arith.subf %s, %p : f32
    tile.yield %z : f32
  } mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %t: f32, %c: index, %d: index):
    %r = arith.addi %i, %d : index
    %seen = arith.cmpi sle, %j, %r : index
    tile.yield %seen : i1
  }
  return %o : !rows
}

// -----

!rows = tensor<?x?x?x64xf16>

// Here the last key that a row sees is one behind its query.
// CHECK-LABEL: tile.kernel @behind(
// CHECK: scf.for
// CHECK: math.absf
// CHECK-NOT: arith.select
// CHECK: scf.for
// CHECK: math.absf
// CHECK: arith.select
func.func @behind(%q: !rows, %k: !rows, %v: !rows, %scale: f32, %slope: f32) -> !rows {
  %o = tile.attention %q, %k, %v scale %scale captures(%slope : f32) : !rows, !rows, !rows -> !rows score {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %t: f32):
    %x = arith.subi %i, %j : index
    %y = arith.index_cast %x : index to i32
    %f = arith.sitofp %y : i32 to f32
    %a = math.absf %f : f32
    %p = arith.mulf %t, %a : f32
    %z = arith.subf %s, %p : f32
    tile.yield %z : f32
  } mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %t: f32):
    %one = arith.constant 1 : index
    %r = arith.addi %i, %one : index
    %seen = arith.cmpi sle, %j, %r : index
    tile.yield %seen : i1
  }
  return %o : !rows
}

// -----

!rows = tensor<?x?x?x64xf16>

// Another distance than that of the mask.
// CHECK-LABEL: tile.kernel @other(
// CHECK: math.absf
// CHECK: math.absf
func.func @other(%q: !rows, %k: !rows, %v: !rows, %scale: f32, %slope: f32, %n: index, %m: index) -> !rows {
  %o = tile.attention %q, %k, %v scale %scale captures(%slope, %n, %m : f32, index, index) : !rows, !rows, !rows -> !rows score {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %t: f32, %c: index, %d: index):
    %r = arith.addi %i, %c : index
    %x = arith.subi %r, %j : index
    %y = arith.index_cast %x : index to i32
    %f = arith.sitofp %y : i32 to f32
    %a = math.absf %f : f32
    %p = arith.mulf %t, %a : f32
    %z = arith.subf %s, %p : f32
    tile.yield %z : f32
  } mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %t: f32, %c: index, %d: index):
    %r = arith.addi %i, %d : index
    %seen = arith.cmpi sle, %j, %r : index
    tile.yield %seen : i1
  }
  return %o : !rows
}
