// Warp-specialized kernels have more rows where heads are narrow and few numbers live beside the tiles.
// RUN: fa-opt %s --tile-online-softmax --tile-to-kernel='machine=sm_90a constraints="schedule=persistent stages=2 splits=1"' | FileCheck %s
// RUN: fa-opt %s --tile-online-softmax --tile-to-kernel='machine=sm_90a constraints="splits=1"' | FileCheck %s --check-prefix=FEW
// Rows of all heads of a group, for launches in which that costs less: tiles of as many rows as those of one head, and smaller ones. Those of 64 rows are for launches in which they have at most half of these.
// RUN: fa-opt %s --tile-online-softmax --tile-to-kernel='machine=sm_90a constraints="splits=0"' | FileCheck %s --check-prefix=PACKED
// PACKED: tile.kernel @causal_packed(
// PACKED-NOT: tile.fewer_rows
// PACKED-SAME: tile.half_rows
// PACKED: tile.kernel @causal_roles_packed_many_split(
// PACKED-SAME: tile.alternative = @causal, tile.at_most = array<i64: 0, 2, 1024>, tile.fewer_rows, tile.packed_heads = #{{.*}}, tile.shape = array<i64: 192, 128>
// PACKED: tile.kernel @causal_roles_packed_many(
// PACKED: tile.kernel @causal_roles_packed_split(
// PACKED-SAME: tile.alternative = @causal, tile.at_most = array<i64: 0, 2, 1024>, tile.fewer_rows, tile.packed_heads = {{.*}}, tile.shape = array<i64: 128, 128>
// PACKED: tile.kernel @causal_roles_packed_merge(
// PACKED-SAME: tile.follows = @causal_roles_packed_split
// PACKED-SAME: tile.warp_rows
// PACKED-NOT: tile.fewer_rows
// PACKED: tile.kernel @causal_roles_packed(
// PACKED-SAME: tile.fewer_rows
// PACKED: tile.grouped_view %{{.*}} block 64
// PACKED: tile.kernel @causal_roles_few_split(
// Keys between powers of two: where two tiles of them and one of queries have room, for plain scores of masks without a lower edge and many programs.
// RUN: fa-opt %s --tile-online-softmax --tile-to-kernel='machine=sm_90a constraints="splits=1" shared-bytes=196608' | FileCheck %s --check-prefixes=ROOM,MORE
// RUN: fa-opt %s --tile-online-softmax --tile-to-kernel='machine=sm_90a constraints="splits=1" shared-bytes=196607' | FileCheck %s --check-prefixes=ROOM,LESS
// ROOM: tile.kernel @middle_roles_few(
// ROOM-SAME: tile.shape = array<i64: 64, 64>
// ROOM: tile.kernel @middle_roles(
// ROOM-SAME: tile.shape = array<i64: 192, 96>
// ROOM: tile.kernel @middle_window_roles(
// ROOM-SAME: tile.shape = array<i64: 192, 64>
// ROOM: tile.kernel @broad_roles(
// MORE-SAME: tile.shape = array<i64: 128, 96>
// LESS-SAME: tile.shape = array<i64: 128, 64>
// ROOM: tile.kernel @broader_roles(
// ROOM-SAME: tile.shape = array<i64: 128, 64>

!rows = tensor<?x?x?x64xf16>

// For launches of few programs there is one with smaller tiles before it.
// FEW: tile.kernel @causal_roles_few(
// FEW-SAME: tile.alternative = @causal, tile.few_programs = 2 : i64, tile.least_keys = #[[LEAST:.*]], tile.price = array<i64: 1700, 770, 1138, 1351, 1, 100>, tile.priced_keys = #[[KEYS:.*]], tile.shape = array<i64: 64, 128>
// Two blocks share a processor, for few keys. What launches of few keys take is predicted.
// FEW: tile.kernel @causal_roles_paired(
// FEW-SAME: tile.alternative = @causal, tile.at_most = array<i64: 1, 2, 512>, tile.least_keys = #[[LEAST]], tile.price = array<i64: 1500, 1032, 884, 778, 2, 84>, tile.priced_keys = #[[KEYS]], tile.shape = array<i64: 64, 64>
// FEW: tile.kernel @causal_roles(
// FEW-NOT: tile.few_programs
// FEW-SAME: tile.shape = array<i64: 192, 128>
// CHECK-NOT: tile.few_programs
// CHECK: tile.kernel @causal_roles(
// CHECK-NOT: tile.at_most
// CHECK-SAME: tile.shape = array<i64: 192, 128>
// Their tiles are counted from the end, the longest first: where there are not as many queries, the one that sees the fewest keys has rows that are none.
// CHECK: %[[ID:.*]] = tile.program_id 0
// CHECK: %[[QUERIES:.*]] = memref.dim %arg0, %c2
// CHECK: %[[BEHIND:.*]] = arith.muli %[[ID]], %c192
// CHECK: %[[PARTS:.*]] = arith.ceildivui %[[QUERIES]], %c64
// CHECK: %[[END:.*]] = arith.muli %[[PARTS]], %c64
// CHECK: %[[LAST:.*]] = arith.subi %[[END]], %[[BEHIND]]
// CHECK: %[[START:.*]] = arith.subi %[[LAST]], %c192
// CHECK: %[[FIRST:.*]] = arith.maxsi %[[START]], %c0
// CHECK: tile.load %{{.*}}[%[[START]], %c0
// CHECK-NOT: tile.own_rows
// CHECK-COUNT-2: scf.for
// CHECK: tile.kernel @causal(
func.func @causal(%q: !rows, %k: !rows, %v: !rows, %scale: f32) -> !rows {
  %o = tile.attention %q, %k, %v scale %scale : !rows, !rows, !rows -> !rows score {} mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %seen = arith.cmpi sle, %j, %i : index
    tile.yield %seen : i1
  }
  return %o : !rows
}
// A mask that leaves out keys before those that are seen has one loop, over the tiles that the rows computed here see.
// Where all of them see every key the mask holds.
// Its programs are all as long.
// FEW: tile.kernel @window_roles_few(
// FEW-SAME: tile.alternative = @window, tile.few_programs = 1 : i64, tile.shape = array<i64: 64, 128>
// CHECK: tile.kernel @window_roles(
// CHECK-SAME: tile.shape = array<i64: 192, 128>
// CHECK: %[[OFFSET:.*]], %[[COUNT:.*]] = tile.own_rows of 192
// CHECK: arith.addi %{{.*}}, %[[OFFSET]] : index
// CHECK: %[[BEGIN32:.*]] = arith.index_cast %{{.*}} : index to i32
// CHECK: %[[PLACES:.*]] = arith.maxsi %{{.*}}, %c0_i32 : i32
// CHECK: scf.for %[[KEY:.*]] = %{{.*}} to %{{.*}} step
// CHECK: %[[KEY32:.*]] = arith.index_cast %[[KEY]] : index to i32
// CHECK: %[[BEHIND:.*]] = arith.subi %[[KEY32]], %[[BEGIN32]] : i32
// CHECK: %[[WHOLE:.*]] = arith.cmpi ult, %[[BEHIND]], %[[PLACES]] : i32
// CHECK: %[[ANY:.*]] = tile.broadcast %[[WHOLE]] : i1
// CHECK: %[[MASK:.*]] = arith.ori %[[ANY]], %{{.*}} : tensor<192x128xi1>
// CHECK: arith.select %[[MASK]]
// CHECK-NOT: scf.for
// CHECK: tile.kernel @window(
func.func @window(%q: !rows, %k: !rows, %v: !rows, %scale: f32) -> !rows {
  %o = tile.attention %q, %k, %v scale %scale : !rows, !rows, !rows -> !rows score {} mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %c256 = arith.constant 256 : index
    %first = arith.subi %i, %c256 : index
    %after = arith.cmpi sge, %j, %first : index
    %before = arith.cmpi sle, %j, %i : index
    %seen = arith.andi %after, %before : i1
    tile.yield %seen : i1
  }
  return %o : !rows
}
// Bounds that are read for each row: one loop over the keys, as many rows as registers for their bounds allow.
// CHECK: tile.kernel @documents_roles(
// CHECK-SAME: tile.shape = array<i64: 128, 128>
// CHECK-NOT: tile.own_rows
// CHECK: scf.for {{.*}} -> (i32, i32)
// CHECK: scf.for {{.*}} -> (tensor<128x64xf32>
// CHECK-NOT: scf.for
// CHECK: tile.kernel @documents(
func.func @documents(%q: !rows, %k: !rows, %v: !rows, %starts: tensor<?xi32>, %scale: f32) -> !rows {
  %o = tile.attention %q, %k, %v scale %scale captures(%starts : tensor<?xi32>) : !rows, !rows, !rows -> !rows score {} mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %s: tensor<?xi32>):
    %n = tensor.extract %s[%i] : tensor<?xi32>
    %first = arith.index_cast %n : i32 to index
    %seen = arith.cmpi sge, %j, %first : index
    tile.yield %seen : i1
  }
  return %o : !rows
}
// A wide one begins with tiles that all rows see; those at its lower edge come last.
// CHECK: tile.kernel @wide_window_roles(
// CHECK-SAME: tile.shape = array<i64: 192, 128>
// CHECK-NOT: tile.own_rows
// CHECK: scf.for %[[TURN:.*]] = %{{.*}} to %{{.*}} step
// CHECK: %[[IS_BACK:.*]] = arith.cmpi sge, %[[TURN]], %{{.*}} : index
// CHECK: %[[BACK:.*]] = arith.select %[[IS_BACK]], %{{.*}}, %c0
// CHECK: %[[KEY:.*]] = arith.subi %[[TURN]], %[[BACK]] : index
// CHECK: tile.load %{{.*}}[%[[KEY]], %c0
// CHECK-NOT: scf.for
// CHECK: tile.kernel @wide_window(
func.func @wide_window(%q: !rows, %k: !rows, %v: !rows, %scale: f32) -> !rows {
  %o = tile.attention %q, %k, %v scale %scale : !rows, !rows, !rows -> !rows score {} mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %c1023 = arith.constant 1023 : index
    %first = arith.subi %i, %c1023 : index
    %after = arith.cmpi sge, %j, %first : index
    %before = arith.cmpi sle, %j, %i : index
    %seen = arith.andi %after, %before : i1
    tile.yield %seen : i1
  }
  return %o : !rows
}
// Two intervals: one loop that leaves out the keys between them.
// CHECK: tile.kernel @sinks_roles(
// CHECK-SAME: tile.shape = array<i64: 192, 128>
// CHECK-NOT: tile.own_rows
// CHECK: scf.for %[[TURN:.*]] = %{{.*}} to %{{.*}} step
// CHECK: %[[PLACE:.*]] = arith.subi %[[TURN]], %{{.*}} : index
// CHECK: %[[IS_BEHIND:.*]] = arith.cmpi sge, %[[PLACE]], %{{.*}} : index
// CHECK: %[[SHIFT:.*]] = arith.select %[[IS_BEHIND]], %{{.*}}, %c0
// CHECK: %[[KEY:.*]] = arith.addi %[[PLACE]], %[[SHIFT]] : index
// CHECK: tile.load %{{.*}}[%[[KEY]], %c0
// CHECK: arith.cmpi ult
// CHECK: arith.cmpi ult
// CHECK: %[[WHOLE:.*]] = arith.ori %{{.*}}, %{{.*}} : i1
// CHECK: tile.broadcast %[[WHOLE]] : i1
// CHECK-NOT: scf.for
// CHECK: tile.kernel @sinks(
func.func @sinks(%q: !rows, %k: !rows, %v: !rows, %scale: f32) -> !rows {
  %o = tile.attention %q, %k, %v scale %scale : !rows, !rows, !rows -> !rows score {} mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %c4 = arith.constant 4 : index
    %c256 = arith.constant 256 : index
    %first = arith.subi %i, %c256 : index
    %after = arith.cmpi sge, %j, %first : index
    %before = arith.cmpi sle, %j, %i : index
    %window = arith.andi %after, %before : i1
    %sink = arith.cmpi slt, %j, %c4 : index
    %seen = arith.ori %window, %sink : i1
    tile.yield %seen : i1
  }
  return %o : !rows
}
// A prefix that all see is a bound farther than the causal one: the same tiles as with that alone.
// CHECK: tile.kernel @prefix_roles(
// CHECK-SAME: tile.shape = array<i64: 192, 128>
// CHECK-COUNT-2: scf.for
// CHECK-NOT: scf.for
// CHECK: tile.kernel @prefix(
func.func @prefix(%q: !rows, %k: !rows, %v: !rows, %scale: f32) -> !rows {
  %o = tile.attention %q, %k, %v scale %scale : !rows, !rows, !rows -> !rows score {} mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %c300 = arith.constant 300 : index
    %before = arith.cmpi sle, %j, %i : index
    %prefix = arith.cmpi slt, %j, %c300 : index
    %seen = arith.ori %before, %prefix : i1
    tile.yield %seen : i1
  }
  return %o : !rows
}
// CHECK: tile.kernel @scored_roles(
// CHECK-SAME: tile.shape = array<i64: 128, 128>
func.func @scored(%q: !rows, %k: !rows, %v: !rows, %scale: f32) -> !rows {
  %o = tile.attention %q, %k, %v scale %scale : !rows, !rows, !rows -> !rows score {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index):
    %t = math.tanh %s : f32
    tile.yield %t : f32
  } mask {}
  return %o : !rows
}
// FEW: tile.kernel @plain_roles_few(
// FEW-SAME: tile.few_programs = 1 : i64
// CHECK: tile.kernel @plain_roles(
// CHECK-SAME: tile.shape = array<i64: 192, 128>
// CHECK-NOT: arith.ceildivui
func.func @plain(%q: !rows, %k: !rows, %v: !rows, %scale: f32) -> !rows {
  %o = tile.attention %q, %k, %v scale %scale : !rows, !rows, !rows -> !rows score {} mask {}
  return %o : !rows
}
// CHECK: tile.kernel @middle_roles(
// CHECK-SAME: tile.shape = array<i64: 192, 96>
!middle = tensor<?x?x?x72xf16>
func.func @middle(%q: !middle, %k: !middle, %v: !middle, %scale: f32) -> !middle {
  %o = tile.attention %q, %k, %v scale %scale : !middle, !middle, !middle -> !middle score {} mask {}
  return %o : !middle
}
// CHECK: tile.kernel @middle_causal_roles(
// CHECK-SAME: tile.shape = array<i64: 192, 96>
// CHECK: tile.own_rows of 192
// CHECK-COUNT-2: scf.for
// CHECK-NOT: scf.for
// CHECK: tile.kernel @middle_causal(
func.func @middle_causal(%q: !middle, %k: !middle, %v: !middle, %scale: f32) -> !middle {
  %o = tile.attention %q, %k, %v scale %scale : !middle, !middle, !middle -> !middle score {} mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %seen = arith.cmpi sle, %j, %i : index
    tile.yield %seen : i1
  }
  return %o : !middle
}
// CHECK: tile.kernel @middle_scored_roles(
// CHECK-SAME: tile.shape = array<i64: 128, 128>
func.func @middle_scored(%q: !middle, %k: !middle, %v: !middle, %scale: f32) -> !middle {
  %o = tile.attention %q, %k, %v scale %scale : !middle, !middle, !middle -> !middle score {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index):
    %t = math.tanh %s : f32
    tile.yield %t : f32
  } mask {}
  return %o : !middle
}
// CHECK: tile.kernel @wide_roles(
// CHECK-SAME: tile.shape = array<i64: 128, 128>
!wide = tensor<?x?x?x128xf16>
func.func @wide(%q: !wide, %k: !wide, %v: !wide, %scale: f32) -> !wide {
  %o = tile.attention %q, %k, %v scale %scale : !wide, !wide, !wide -> !wide score {} mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %seen = arith.cmpi sle, %j, %i : index
    tile.yield %seen : i1
  }
  return %o : !wide
}

// A captured tensor that has an element for each score is promised to have rows that can be fetched; the next variant takes
// any. What has one row for all queries is read as it is.
// CHECK-NOT: tile.kernel @{{.*}}_roles_fetched
// CHECK: tile.kernel @biased_roles_fetched(
// CHECK-SAME: %arg3: memref<?x1x?x?xf16, strided<[?, ?, ?, 1]>> {tile.access = #tile.access<in>, tile.alignment = 16 : i64}
// CHECK-SAME: tile.alternative = @biased
// CHECK: tile.kernel @biased_roles(
// CHECK-SAME: %arg3: memref<?x1x?x?xf16, strided<[?, ?, ?, ?]>> {tile.access = #tile.access<in>}
func.func @biased(%q: !rows, %k: !rows, %v: !rows, %t: tensor<?x1x?x?xf16>, %scale: f32) -> !rows {
  %o = tile.attention %q, %k, %v scale %scale captures(%t : tensor<?x1x?x?xf16>) : !rows, !rows, !rows -> !rows score {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %u: tensor<?x1x?x?xf16>):
    %c0 = arith.constant 0 : index
    %x = tensor.extract %u[%b, %c0, %i, %j] : tensor<?x1x?x?xf16>
    %w = arith.extf %x : f16 to f32
    %y = arith.addf %s, %w : f32
    tile.yield %y : f32
  } mask {}
  return %o : !rows
}
// CHECK-NOT: tile.kernel @row_roles_fetched
// CHECK: tile.kernel @row_roles(
func.func @row(%q: !rows, %k: !rows, %v: !rows, %t: tensor<?x?xf16>, %scale: f32) -> !rows {
  %o = tile.attention %q, %k, %v scale %scale captures(%t : tensor<?x?xf16>) : !rows, !rows, !rows -> !rows score {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %u: tensor<?x?xf16>):
    %x = tensor.extract %u[%b, %j] : tensor<?x?xf16>
    %w = arith.extf %x : f16 to f32
    %y = arith.addf %s, %w : f32
    tile.yield %y : f32
  } mask {}
  return %o : !rows
}

// A mask with a lower edge lets keys begin anywhere, boxes of its bias at multiples of 16 keys.
// RUN: fa-run --attention "d=40 type=f16 bias=bhqk window=60,30" --arch=sm_90a --emit=kernel | FileCheck %s --check-prefix=EDGE
// EDGE: tile.kernel @attention_roles_fetched(
// EDGE: %[[SEEN:.*]] = arith.maxsi %{{.*}}, %c0 : index
// EDGE: %[[BOX:.*]] = arith.divui %[[SEEN]], %c16 : index
// EDGE-NEXT: %[[FIRST:.*]] = arith.muli %[[BOX]], %c16 : index
// EDGE: scf.for %{{.*}} = %[[FIRST]] to
// EDGE: tile.kernel @attention_roles(
// EDGE-NOT: arith.divui %{{.*}}, %c16 : index
// EDGE: scf.for
func.func @middle_window(%q: !middle, %k: !middle, %v: !middle, %scale: f32) -> !middle {
  %o = tile.attention %q, %k, %v scale %scale : !middle, !middle, !middle -> !middle score {} mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %seen = arith.cmpi sge, %j, %i : index
    tile.yield %seen : i1
  }
  return %o : !middle
}
!broad = tensor<?x?x?x160xf16>
func.func @broad(%q: !broad, %k: !broad, %v: !broad, %scale: f32) -> !broad {
  %o = tile.attention %q, %k, %v scale %scale : !broad, !broad, !broad -> !broad score {} mask {}
  return %o : !broad
}
!broader = tensor<?x?x?x192xf16>
func.func @broader(%q: !broader, %k: !broader, %v: !broader, %scale: f32) -> !broader {
  %o = tile.attention %q, %k, %v scale %scale : !broader, !broader, !broader -> !broader score {} mask {}
  return %o : !broader
}
