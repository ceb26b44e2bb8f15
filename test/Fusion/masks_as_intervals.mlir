// What a mask's intervals say is what is compared, and read.
// RUN: fa-opt %s --split-input-file --pass-pipeline='builtin.module(tile-online-softmax,tile-to-kernel{variants=false},canonicalize,cse)' | FileCheck %s

!rows = tensor<?x?x?x64xf16>

// |i - j| <= 256 is i - 256 <= j <= i + 256.
// CHECK-LABEL: tile.kernel @window(
// CHECK: tile.dot
// CHECK-NOT: arith.maxsi
// CHECK-DAG: arith.cmpi sle
// CHECK-DAG: arith.cmpi sge
// CHECK: tile.online_softmax
// CHECK: tile.return
func.func @window(%q: !rows, %k: !rows, %v: !rows, %scale: f32) -> !rows {
  %o = tile.attention %q, %k, %v scale %scale : !rows, !rows, !rows -> !rows score {} mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %c0 = arith.constant 0 : index
    %c256 = arith.constant 256 : index
    %x = arith.subi %i, %j : index
    %y = arith.subi %c0, %x : index
    %distance = arith.maxsi %x, %y : index
    %seen = arith.cmpi sle, %distance, %c256 : index
    tile.yield %seen : i1
  }
  return %o : !rows
}

// -----

!rows = tensor<?x?x?x64xf16>

// Blocks: no quotient of keys, and one of queries a row, not an element.
// CHECK-LABEL: tile.kernel @blocks(
// CHECK: tile.dot
// CHECK-NOT: arith.divui {{.*}} : tensor<{{[0-9]+x[0-9]+}}xindex>
// CHECK: arith.divui {{.*}} : tensor<{{[0-9]+}}xindex>
// CHECK-NOT: arith.divui {{.*}} : tensor
// CHECK: tile.online_softmax
func.func @blocks(%q: !rows, %k: !rows, %v: !rows, %scale: f32) -> !rows {
  %o = tile.attention %q, %k, %v scale %scale : !rows, !rows, !rows -> !rows score {} mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %c512 = arith.constant 512 : index
    %x = arith.divui %i, %c512 : index
    %y = arith.divui %j, %c512 : index
    %seen = arith.cmpi eq, %x, %y : index
    tile.yield %seen : i1
  }
  return %o : !rows
}

// -----

!rows = tensor<?x?x?x64xf16>
!ids = tensor<?xi32>

// Equal numbers, with bounds that are the whole mask where a flag says so: then there are tiles without a mask. Both
// bounds are found in one loop over the rows, whose numbers lie one behind the other.
// CHECK-LABEL: tile.kernel @numbers(
// CHECK-SAME: memref<?xi32, strided<[1]>>
// CHECK-SAME: memref<?xi32, strided<[?]>>
// CHECK: scf.for {{.*}} -> (i32, i32, i32, i32)
// CHECK: %[[FLAG:.*]] = memref.load %arg4[
// CHECK: %[[IS:.*]] = arith.cmpi ne, %{{.*}}, %c0 : index
// CHECK: arith.select %[[IS]], %{{.*}}, %{{.*}} : index
// CHECK: scf.for
// CHECK: arith.select {{.*}} tensor
// CHECK: tile.online_softmax
// CHECK: scf.for
// CHECK-NOT: arith.select {{.*}} tensor
// CHECK: tile.online_softmax
// CHECK: scf.for
// CHECK: arith.select {{.*}} tensor
// CHECK: tile.online_softmax
func.func @numbers(%q: !rows, %k: !rows, %v: !rows, %ids: !ids, %grows: !ids, %first: !ids, %last: !ids, %scale: f32) -> !rows {
  %o = tile.attention %q, %k, %v scale %scale captures(%ids, %grows, %first, %last : !ids, !ids, !ids, !ids) : !rows, !rows, !rows -> !rows score {} mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %t: !ids, %g: !ids, %f: !ids, %l: !ids):
    %c0 = arith.constant 0 : index
    %x = tensor.extract %t[%i] : !ids
    %y = tensor.extract %t[%j] : !ids
    %same = arith.cmpi eq, %x, %y : i32
    %flag = tensor.extract %g[%b] : !ids
    %number = arith.index_cast %flag : i32 to index
    %whole = arith.cmpi ne, %number, %c0 : index
    %holds = arith.ori %whole, %same : i1
    %f32 = tensor.extract %f[%i] : !ids
    %begin = arith.index_cast %f32 : i32 to index
    %l32 = tensor.extract %l[%i] : !ids
    %end = arith.index_cast %l32 : i32 to index
    %after = arith.cmpi sge, %j, %begin : index
    %before = arith.cmpi slt, %j, %end : index
    %inside = arith.andi %after, %before : i1
    %seen = arith.andi %holds, %inside : i1
    tile.yield %seen : i1
  }
  return %o : !rows
}

// -----

!rows = tensor<?x?x?x64xf16>
!ids = tensor<?xi32>

// A flag of each query is none of all: every tile has a mask.
// CHECK-LABEL: tile.kernel @flags_of_rows(
// CHECK: scf.for
// CHECK: arith.select {{.*}} tensor
// CHECK: tile.online_softmax
// CHECK-NOT: tile.online_softmax
// CHECK: tile.return
func.func @flags_of_rows(%q: !rows, %k: !rows, %v: !rows, %ids: !ids, %flags: !ids, %scale: f32) -> !rows {
  %o = tile.attention %q, %k, %v scale %scale captures(%ids, %flags : !ids, !ids) : !rows, !rows, !rows -> !rows score {} mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %t: !ids, %g: !ids):
    %zero = arith.constant 0 : i32
    %x = tensor.extract %t[%i] : !ids
    %y = tensor.extract %t[%j] : !ids
    %same = arith.cmpi eq, %x, %y : i32
    %flag = tensor.extract %g[%i] : !ids
    %whole = arith.cmpi ne, %flag, %zero : i32
    %seen = arith.ori %whole, %same : i1
    tile.yield %seen : i1
  }
  return %o : !rows
}

// -----

!rows = tensor<?x?x?x64xf16>

// What is computed of a key's number, for each element, is computed in 32 bits, which hold it: natural numbers are below
// 2^31 and remainders below their divisor. A product of two keys is not, and a remainder of what is read may trap there.
// CHECK-LABEL: tile.kernel @remainders(
// CHECK: tile.dot
// CHECK: arith.remui {{.*}} : tensor<{{[0-9]+x[0-9]+}}xi32>
// CHECK: arith.cmpi sle, {{.*}} : tensor<{{[0-9]+x[0-9]+}}xi32>
// CHECK: arith.muli {{.*}} : tensor<{{[0-9]+x[0-9]+}}xindex>
// CHECK: arith.cmpi slt, {{.*}} : tensor<{{[0-9]+x[0-9]+}}xindex>
// CHECK: arith.remsi {{.*}} : tensor<{{[0-9]+x[0-9]+}}xindex>
// CHECK: tile.online_softmax
func.func @remainders(%q: !rows, %k: !rows, %v: !rows, %read: tensor<?xi32>, %scale: f32) -> !rows {
  %o = tile.attention %q, %k, %v scale %scale captures(%read : tensor<?xi32>) : !rows, !rows, !rows -> !rows score {} mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %t: tensor<?xi32>):
    %c48 = arith.constant 48 : index
    %c99 = arith.constant 99 : index
    %x = arith.remui %j, %c48 : index
    %y = arith.remui %i, %c48 : index
    %near = arith.cmpi sle, %x, %y : index
    %square = arith.muli %j, %j : index
    %low = arith.cmpi slt, %square, %c99 : index
    %element = tensor.extract %t[%j] : tensor<?xi32>
    %number = arith.index_cast %element : i32 to index
    %remainder = arith.remsi %number, %number : index
    %small = arith.cmpi eq, %remainder, %c99 : index
    %some = arith.ori %near, %low : i1
    %seen = arith.ori %some, %small : i1
    tile.yield %seen : i1
  }
  return %o : !rows
}

// -----

!rows = tensor<?x?x?x64xf16>

// Of a mask that takes keys by 32 and looks at their remainders tiles begin at multiples of 32, which is said to the mask,
// too. No tile is seen whole.
// CHECK-LABEL: tile.kernel @grid(
// CHECK: %[[BLOCKS:.*]] = arith.divui %{{.*}}, %c32 : index
// CHECK: %[[BEGIN:.*]] = arith.muli %[[BLOCKS]], %c32 : index
// CHECK: scf.for %[[AT:.*]] = %[[BEGIN]] to
// CHECK: tile.dot
// CHECK: %[[BLOCK:.*]] = arith.divui %[[AT]], %c32 : index
// CHECK: %[[KEY:.*]] = arith.muli %[[BLOCK]], %c32 : index
// CHECK: arith.index_cast %[[KEY]] : index to i32
// CHECK-NOT: arith.ori
// CHECK: tile.online_softmax
// CHECK-NOT: scf.for
// CHECK: tile.return
func.func @grid(%q: !rows, %k: !rows, %v: !rows, %scale: f32) -> !rows {
  %o = tile.attention %q, %k, %v scale %scale : !rows, !rows, !rows -> !rows score {} mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %c3 = arith.constant 3 : index
    %c32 = arith.constant 32 : index
    %c100 = arith.constant 100 : index
    %first = arith.subi %i, %c100 : index
    %behind = arith.cmpi sge, %j, %first : index
    %column = arith.remui %j, %c32 : index
    %seventh = arith.remui %i, %c3 : index
    %near = arith.cmpi sge, %column, %seventh : index
    %seen = arith.andi %behind, %near : i1
    tile.yield %seen : i1
  }
  return %o : !rows
}

// -----

!rows = tensor<?x?x?x64xf16>

// Where the mask reads a tensor at the key, tiles begin where its bounds do.
// CHECK-LABEL: tile.kernel @grid_of_reads(
// CHECK-NOT: arith.divui {{.*}}, %c32 : index
// CHECK: scf.for
func.func @grid_of_reads(%q: !rows, %k: !rows, %v: !rows, %t: tensor<?xi32>, %scale: f32) -> !rows {
  %o = tile.attention %q, %k, %v scale %scale captures(%t : tensor<?xi32>) : !rows, !rows, !rows -> !rows score {} mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %at: tensor<?xi32>):
    %c0 = arith.constant 0 : i32
    %c3 = arith.constant 3 : index
    %c32 = arith.constant 32 : index
    %c100 = arith.constant 100 : index
    %first = arith.subi %i, %c100 : index
    %behind = arith.cmpi sge, %j, %first : index
    %column = arith.remui %j, %c32 : index
    %seventh = arith.remui %i, %c3 : index
    %near = arith.cmpi sge, %column, %seventh : index
    %flag = tensor.extract %at[%j] : tensor<?xi32>
    %is = arith.cmpi ne, %flag, %c0 : i32
    %both = arith.andi %near, %is : i1
    %seen = arith.andi %behind, %both : i1
    tile.yield %seen : i1
  }
  return %o : !rows
}
