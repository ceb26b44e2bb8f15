// RUN: fa-opt %s --inline --triton-to-tile --canonicalize --cse | FileCheck %s

// Addresses and masks as views: a mask's bound is a size.
// CHECK-LABEL: tile.kernel @add(
// CHECK-SAME: %[[X:.*]]: memref<?xf32> {tile.access = #tile.access<in>}
// CHECK-SAME: %[[OUT:.*]]: memref<?xf32> {tile.access = #tile.access<out>}
// CHECK-SAME: %[[N:.*]]: i32
// CHECK-SAME: memref<?x?x?xf32, strided<[?, ?, ?]>> {tile.access = #tile.access<in>}
// CHECK-SAME: grid_sizes = array<i64: 3, 0, 3, 1, 3, 2>
// CHECK: %[[SIZE:.*]] = arith.maxsi
// CHECK: %[[VIEW:.*]] = memref.reinterpret_cast %[[X]] to offset: [%[[AT:.*]]], sizes: [%[[SIZE]]], strides: [1]
// CHECK: tile.load %[[VIEW]][%{{.*}}] : memref<?xf32, strided<[1], offset: ?>> -> tensor<64xf32>
// CHECK-NOT: arith.select
// CHECK: memref.reinterpret_cast %[[OUT]] to offset: [%[[AT]]], sizes: [%[[SIZE]]]
// CHECK: tile.store
tt.func public @add(%x: !tt.ptr<f32>, %out: !tt.ptr<f32>, %n: i32) {
  %c64 = arith.constant 64 : i32
  %pid = tt.get_program_id x : i32
  %first = arith.muli %pid, %c64 : i32
  %range = tt.make_range {start = 0 : i32, end = 64 : i32} : tensor<64xi32>
  %firsts = tt.splat %first : i32 -> tensor<64xi32>
  %at = arith.addi %firsts, %range : tensor<64xi32>
  %ns = tt.splat %n : i32 -> tensor<64xi32>
  %mask = arith.cmpi slt, %at, %ns : tensor<64xi32>
  %xs = tt.splat %x : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>>
  %px = tt.addptr %xs, %at : tensor<64x!tt.ptr<f32>>, tensor<64xi32>
  %zero = arith.constant dense<0.0> : tensor<64xf32>
  %a = tt.load %px, %mask, %zero : tensor<64x!tt.ptr<f32>>
  %s = arith.addf %a, %a : tensor<64xf32>
  %outs = tt.splat %out : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>>
  %po = tt.addptr %outs, %at : tensor<64x!tt.ptr<f32>>, tensor<64xi32>
  tt.store %po, %s, %mask : tensor<64x!tt.ptr<f32>>
  tt.return
}

// Without a mask nothing is checked; another value than 0 outside is selected.
// CHECK-LABEL: tile.kernel @no_mask(
// CHECK: tile.load %{{.*}}[%{{.*}}] in_bounds : memref<16xf32, strided<[1], offset: ?>> -> tensor<16xf32>
// CHECK: tile.load %{{.*}}[%{{.*}}] : memref<?xf32, strided<[1], offset: ?>> -> tensor<16xf32>
// CHECK: arith.select %{{.*}}, %{{.*}}, %{{.*}} : tensor<16xi1>, tensor<16xf32>
tt.func public @no_mask(%x: !tt.ptr<f32>, %out: !tt.ptr<f32>, %n: i32) {
  %at = tt.make_range {start = 0 : i32, end = 16 : i32} : tensor<16xi32>
  %xs = tt.splat %x : !tt.ptr<f32> -> tensor<16x!tt.ptr<f32>>
  %px = tt.addptr %xs, %at : tensor<16x!tt.ptr<f32>>, tensor<16xi32>
  %a = tt.load %px : tensor<16x!tt.ptr<f32>>
  %ns = tt.splat %n : i32 -> tensor<16xi32>
  %mask = arith.cmpi sgt, %ns, %at : tensor<16xi32>
  %one = arith.constant dense<1.0> : tensor<16xf32>
  %b = tt.load %px, %mask, %one : tensor<16x!tt.ptr<f32>>
  %s = arith.addf %a, %b : tensor<16xf32>
  %outs = tt.splat %out : !tt.ptr<f32> -> tensor<16x!tt.ptr<f32>>
  %po = tt.addptr %outs, %at : tensor<16x!tt.ptr<f32>>, tensor<16xi32>
  tt.store %po, %s : tensor<16x!tt.ptr<f32>>
  tt.return
}

// A mask that begins somewhere: so does the view, and the tile before it.
// CHECK-LABEL: tile.kernel @lower_bound(
// CHECK: %[[FIRST:.*]] = arith.maxsi
// CHECK: %[[BEFORE:.*]] = arith.subi %c0, %[[FIRST]]
// CHECK: memref.reinterpret_cast %{{.*}} to offset: [%[[FIRST]]]
// CHECK: tile.load %{{.*}}[%[[BEFORE]]]
tt.func public @lower_bound(%x: !tt.ptr<f32>, %out: !tt.ptr<f32>, %n: i32) {
  %at = tt.make_range {start = 0 : i32, end = 16 : i32} : tensor<16xi32>
  %xs = tt.splat %x : !tt.ptr<f32> -> tensor<16x!tt.ptr<f32>>
  %px = tt.addptr %xs, %at : tensor<16x!tt.ptr<f32>>, tensor<16xi32>
  %ns = tt.splat %n : i32 -> tensor<16xi32>
  %mask = arith.cmpi sge, %at, %ns : tensor<16xi32>
  %a = tt.load %px, %mask : tensor<16x!tt.ptr<f32>>
  %outs = tt.splat %out : !tt.ptr<f32> -> tensor<16x!tt.ptr<f32>>
  %po = tt.addptr %outs, %at : tensor<16x!tt.ptr<f32>>, tensor<16xi32>
  tt.store %po, %a : tensor<16x!tt.ptr<f32>>
  tt.return
}

// Addresses that follow no steps are a gather, a mask that bounds nothing, too.
// CHECK-LABEL: tile.kernel @gathers(
// CHECK: %[[I:.*]] = tile.load {{.*}} -> tensor<16xi32>
// CHECK: %[[AT:.*]] = arith.index_cast %[[I]] : tensor<16xi32> to tensor<16xindex>
// CHECK: tile.gather %{{.*}}[%[[AT]]]
// CHECK-SAME: in_bounds
// CHECK: %[[ODD:.*]] = arith.cmpi eq
// CHECK: tile.gather %{{.*}}[%{{.*}}] mask %[[ODD]] in_bounds
tt.func public @gathers(%x: !tt.ptr<f32>, %i: !tt.ptr<i32>, %out: !tt.ptr<f32>) {
  %at = tt.make_range {start = 0 : i32, end = 16 : i32} : tensor<16xi32>
  %is = tt.splat %i : !tt.ptr<i32> -> tensor<16x!tt.ptr<i32>>
  %pi = tt.addptr %is, %at : tensor<16x!tt.ptr<i32>>, tensor<16xi32>
  %index = tt.load %pi : tensor<16x!tt.ptr<i32>>
  %xs = tt.splat %x : !tt.ptr<f32> -> tensor<16x!tt.ptr<f32>>
  %px = tt.addptr %xs, %index : tensor<16x!tt.ptr<f32>>, tensor<16xi32>
  %a = tt.load %px : tensor<16x!tt.ptr<f32>>
  %odd = arith.cmpi eq, %index, %at : tensor<16xi32>
  %pj = tt.addptr %xs, %at : tensor<16x!tt.ptr<f32>>, tensor<16xi32>
  %b = tt.load %pj, %odd : tensor<16x!tt.ptr<f32>>
  %s = arith.addf %a, %b : tensor<16xf32>
  %outs = tt.splat %out : !tt.ptr<f32> -> tensor<16x!tt.ptr<f32>>
  %po = tt.addptr %outs, %at : tensor<16x!tt.ptr<f32>>, tensor<16xi32>
  tt.store %po, %s : tensor<16x!tt.ptr<f32>>
  tt.return
}

// The largest of each column, and of those as large the first: the region may be
// written in any way that chooses these.
// CHECK-LABEL: tile.kernel @argmax(
// CHECK: %[[TURNED:.*]] = tile.transpose %{{.*}} [1, 0] : tensor<16x32xf32> -> tensor<32x16xf32>
// CHECK-DAG: %[[ROW:.*]] = tile.iota dim 1 : tensor<32x16xi32>
// CHECK-DAG: %[[MOST:.*]] = tile.reduce max %[[TURNED]] dim 1 : tensor<32x16xf32> -> tensor<32xf32>
// CHECK: %[[ALL:.*]] = tile.broadcast %{{.*}} : tensor<32x1xf32> -> tensor<32x16xf32>
// CHECK: %[[IS:.*]] = arith.cmpf ueq, %[[TURNED]], %[[ALL]]
// CHECK: %[[AT:.*]] = arith.select %[[IS]], %[[ROW]], %{{.*}} : tensor<32x16xi1>, tensor<32x16xi32>
// CHECK: %[[FIRST:.*]] = tile.reduce min %[[AT]] dim 1 : tensor<32x16xi32> -> tensor<32xi32>
// CHECK: tile.store %[[FIRST]]
tt.func public @argmax(%x: !tt.ptr<f32>, %out: !tt.ptr<i32>) {
  %row = tt.make_range {start = 0 : i32, end = 16 : i32} : tensor<16xi32>
  %at = tt.make_range {start = 0 : i32, end = 32 : i32} : tensor<32xi32>
  %rows = tt.expand_dims %row {axis = 1 : i32} : tensor<16xi32> -> tensor<16x1xi32>
  %all = tt.broadcast %rows : tensor<16x1xi32> -> tensor<16x32xi32>
  %columns = tt.expand_dims %at {axis = 0 : i32} : tensor<32xi32> -> tensor<1x32xi32>
  %across = tt.broadcast %columns : tensor<1x32xi32> -> tensor<16x32xi32>
  %to = arith.addi %all, %across : tensor<16x32xi32>
  %xs = tt.splat %x : !tt.ptr<f32> -> tensor<16x32x!tt.ptr<f32>>
  %px = tt.addptr %xs, %to : tensor<16x32x!tt.ptr<f32>>, tensor<16x32xi32>
  %a = tt.load %px : tensor<16x32x!tt.ptr<f32>>
  %r:2 = "tt.reduce"(%a, %all) <{axis = 0 : i32}> ({
  ^bb0(%v: f32, %i: i32, %w: f32, %j: i32):
    %below = arith.cmpf olt, %v, %w : f32
    %equal = arith.cmpf oeq, %w, %v : f32
    %behind = arith.cmpi sle, %j, %i : i32
    %tie = arith.andi %behind, %equal : i1
    %other = arith.ori %tie, %below : i1
    %value = arith.select %other, %w, %v : f32
    %index = arith.select %other, %j, %i : i32
    tt.reduce.return %value, %index : f32, i32
  }) : (tensor<16x32xf32>, tensor<16x32xi32>) -> (tensor<32xf32>, tensor<32xi32>)
  %outs = tt.splat %out : !tt.ptr<i32> -> tensor<32x!tt.ptr<i32>>
  %po = tt.addptr %outs, %at : tensor<32x!tt.ptr<i32>>, tensor<32xi32>
  tt.store %po, %r#1 : tensor<32x!tt.ptr<i32>>
  tt.return
}

// So are stores; where an early return has left, nothing is written.
// CHECK-LABEL: tile.kernel @scatters(
// CHECK-SAME: memref<?xf32> {tile.access = #tile.access<out>}
// CHECK: %[[AT:.*]] = arith.index_cast %{{.*}} : tensor<16xi32> to tensor<16xindex>
// CHECK: tile.scatter %{{.*}}, %{{.*}}[%[[AT]]] in_bounds
// CHECK: %[[ODD:.*]] = arith.cmpi eq
// CHECK: tile.scatter %{{.*}}, %{{.*}}[%{{.*}}] mask %[[ODD]] in_bounds
// CHECK: %[[STAYS:.*]] = arith.andi %[[ODD]], %{{.*}} : tensor<16xi1>
// CHECK: tile.scatter %{{.*}}, %{{.*}}[%[[AT]]] mask %[[STAYS]] in_bounds
tt.func public @scatters(%i: !tt.ptr<i32>, %out: !tt.ptr<f32>, %n: i32) {
  %at = tt.make_range {start = 0 : i32, end = 16 : i32} : tensor<16xi32>
  %is = tt.splat %i : !tt.ptr<i32> -> tensor<16x!tt.ptr<i32>>
  %pi = tt.addptr %is, %at : tensor<16x!tt.ptr<i32>>, tensor<16xi32>
  %index = tt.load %pi : tensor<16x!tt.ptr<i32>>
  %outs = tt.splat %out : !tt.ptr<f32> -> tensor<16x!tt.ptr<f32>>
  %po = tt.addptr %outs, %index : tensor<16x!tt.ptr<f32>>, tensor<16xi32>
  %one = arith.constant dense<1.0> : tensor<16xf32>
  tt.store %po, %one : tensor<16x!tt.ptr<f32>>
  %odd = arith.cmpi eq, %index, %at : tensor<16xi32>
  %pj = tt.addptr %outs, %at : tensor<16x!tt.ptr<f32>>, tensor<16xi32>
  tt.store %pj, %one, %odd : tensor<16x!tt.ptr<f32>>
  %pid = tt.get_program_id x : i32
  %enough = arith.cmpi sge, %pid, %n : i32
  cf.cond_br %enough, ^end, ^rest
^end:
  tt.return
^rest:
  tt.store %po, %one, %odd : tensor<16x!tt.ptr<f32>>
  tt.return
}

// A loop carries where a pointer is, not its steps; a dimension that is not
// checked is read where it is.
// CHECK-LABEL: tile.kernel @carried(
// CHECK: scf.for {{.*}} iter_args(%{{.*}} = %{{.*}}, %[[BASE:.*]] = %{{.*}}, %{{.*}} = %{{.*}}) -> (tensor<16x16xf32>, index, index)
// CHECK: memref.reinterpret_cast %{{.*}} to offset: [%[[BASE]]], sizes: [16, 16], strides: [%{{.*}}, 1]
// CHECK: tile.load {{.*}} in_bounds
// CHECK: memref.reinterpret_cast %{{.*}} to offset: [{{.*}}], sizes: [%{{.*}}, 16], strides: [%{{.*}}, 1]
// CHECK: tile.dot %{{.*}}, %{{.*}} acc %{{.*}} precision tf32
tt.func public @carried(%x: !tt.ptr<f32>, %out: !tt.ptr<f32>, %n: i32, %stride: i64) {
  %c0 = arith.constant 0 : i32
  %c16 = arith.constant 16 : i32
  %c0_i64 = arith.constant 0 : i64
  %c1_i64 = arith.constant 1 : i64
  %r = tt.make_range {start = 0 : i32, end = 16 : i32} : tensor<16xi32>
  %wide = arith.extsi %r : tensor<16xi32> to tensor<16xi64>
  %rows = tt.expand_dims %wide {axis = 1 : i32} : tensor<16xi64> -> tensor<16x1xi64>
  %columns = tt.expand_dims %wide {axis = 0 : i32} : tensor<16xi64> -> tensor<1x16xi64>
  %strides = tt.splat %stride : i64 -> tensor<16x1xi64>
  %down = arith.muli %rows, %strides : tensor<16x1xi64>
  %all = tt.broadcast %down : tensor<16x1xi64> -> tensor<16x16xi64>
  %across = tt.broadcast %columns : tensor<1x16xi64> -> tensor<16x16xi64>
  %at = arith.addi %all, %across : tensor<16x16xi64>
  %xs = tt.splat %x : !tt.ptr<f32> -> tensor<16x16x!tt.ptr<f32>>
  %px = tt.addptr %xs, %at : tensor<16x16x!tt.ptr<f32>>, tensor<16x16xi64>
  %n64 = arith.extsi %n : i32 to i64
  %block = tt.make_tensor_ptr %x, [%n64, %n64], [%stride, %c1_i64], [%c0, %c0] {order = array<i32: 1, 0>} : <tensor<16x16xf32>>
  %zero = arith.constant dense<0.0> : tensor<16x16xf32>
  %step = arith.constant dense<16> : tensor<16x16xi32>
  %sum:3 = scf.for %k = %c0 to %n step %c16 iter_args(%acc = %zero, %p = %px, %q = %block) -> (tensor<16x16xf32>, tensor<16x16x!tt.ptr<f32>>, !tt.ptr<tensor<16x16xf32>>) : i32 {
    %a = tt.load %p : tensor<16x16x!tt.ptr<f32>>
    %b = tt.load %q {boundaryCheck = array<i32: 0>, padding = 1 : i32} : !tt.ptr<tensor<16x16xf32>>
    %d = tt.dot %a, %b, %acc, inputPrecision = tf32 : tensor<16x16xf32> * tensor<16x16xf32> -> tensor<16x16xf32>
    %next = tt.addptr %p, %step : tensor<16x16x!tt.ptr<f32>>, tensor<16x16xi32>
    %after = tt.advance %q, [%c0, %c16] : <tensor<16x16xf32>>
    scf.yield %d, %next, %after : tensor<16x16xf32>, tensor<16x16x!tt.ptr<f32>>, !tt.ptr<tensor<16x16xf32>>
  }
  %outs = tt.splat %out : !tt.ptr<f32> -> tensor<16x16x!tt.ptr<f32>>
  %po = tt.addptr %outs, %at : tensor<16x16x!tt.ptr<f32>>, tensor<16x16xi64>
  tt.store %po, %sum#0 : tensor<16x16x!tt.ptr<f32>>
  tt.return
}

// So does one that ends by its condition, which may hand the body something else
// than what it is handed; where an early return has left, it does not begin.
// CHECK-LABEL: tile.kernel @ends(
// CHECK: %[[STAYS:.*]] = arith.cmpi slt
// CHECK: scf.while (%[[P:.*]] = %{{.*}}, %[[K:.*]] = %{{.*}}) : (index, i32) -> (index, i32) {
// CHECK: %[[LEFT:.*]] = arith.cmpi slt, %[[K]], %{{.*}} : i32
// CHECK: %[[GOES:.*]] = arith.andi %[[STAYS]], %[[LEFT]] : i1
// CHECK: scf.condition(%[[GOES]]) %[[P]], %{{.*}} : index, i32
// CHECK: ^bb0(%[[BASE:.*]]: index, %[[NEXT:.*]]: i32):
// CHECK: memref.reinterpret_cast %{{.*}} to offset: [%[[BASE]]]
// CHECK: tile.store
// CHECK: %[[STEP:.*]] = arith.addi %[[BASE]], %c16
// CHECK: scf.yield %[[STEP]], %[[NEXT]] : index, i32
tt.func public @ends(%x: !tt.ptr<f32>, %n: i32) {
  %c1 = arith.constant 1 : i32
  %pid = tt.get_program_id x : i32
  %enough = arith.cmpi sge, %pid, %n : i32
  cf.cond_br %enough, ^end, ^rest
^end:
  tt.return
^rest:
  %at = tt.make_range {start = 0 : i32, end = 16 : i32} : tensor<16xi32>
  %xs = tt.splat %x : !tt.ptr<f32> -> tensor<16x!tt.ptr<f32>>
  %px = tt.addptr %xs, %at : tensor<16x!tt.ptr<f32>>, tensor<16xi32>
  %one = arith.constant dense<1.0> : tensor<16xf32>
  %step = arith.constant dense<16> : tensor<16xi32>
  %r:2 = scf.while (%p = %px, %k = %pid) : (tensor<16x!tt.ptr<f32>>, i32) -> (tensor<16x!tt.ptr<f32>>, i32) {
    %more = arith.cmpi slt, %k, %n : i32
    %after = arith.addi %k, %c1 : i32
    scf.condition(%more) %p, %after : tensor<16x!tt.ptr<f32>>, i32
  } do {
  ^bb0(%p: tensor<16x!tt.ptr<f32>>, %k: i32):
    tt.store %p, %one : tensor<16x!tt.ptr<f32>>
    %q = tt.addptr %p, %step : tensor<16x!tt.ptr<f32>>, tensor<16xi32>
    scf.yield %q, %k : tensor<16x!tt.ptr<f32>>, i32
  }
  tt.return
}

// An early return bounds what is read and written behind it.
// CHECK-LABEL: tile.kernel @early(
// CHECK: %[[SIZE:.*]] = arith.select %{{.*}}, %c16, %c0
// CHECK: %[[MOST:.*]] = arith.maxsi %[[SIZE]], %c0
// CHECK: memref.reinterpret_cast %{{.*}} to offset: [0], sizes: [%[[MOST]]]
// CHECK-NOT: cf.
tt.func public @early(%x: !tt.ptr<f32>, %n: i32) {
  %pid = tt.get_program_id y : i32
  %enough = arith.cmpi sge, %pid, %n : i32
  cf.cond_br %enough, ^end, ^rest
^end:
  tt.return
^rest:
  %at = tt.make_range {start = 0 : i32, end = 16 : i32} : tensor<16xi32>
  %xs = tt.splat %x : !tt.ptr<f32> -> tensor<16x!tt.ptr<f32>>
  %px = tt.addptr %xs, %at : tensor<16x!tt.ptr<f32>>, tensor<16xi32>
  %one = arith.constant dense<1.0> : tensor<16xf32>
  tt.store %px, %one : tensor<16x!tt.ptr<f32>>
  tt.return
}

// The larger of two by a comparison, with a NaN as it is; functions of the device's libraries; means and squares, which become sums.
// CHECK-LABEL: tile.kernel @by_comparison(
// CHECK: %[[A:.*]] = tile.load
// CHECK: tile.reduce max %[[A]] dim 1
// CHECK: math.rsqrt
// CHECK: math.exp
// CHECK: %[[ALL:.*]] = tile.reduce add %{{.*}} dim 1
// CHECK: %[[SUM:.*]] = tile.reduce add %[[A]] dim 1
// CHECK: %[[MEAN:.*]] = arith.divf %[[SUM]], %[[ALL]]
// CHECK: %[[MID:.*]] = arith.select %{{.*}}, %{{.*}}, %[[MEAN]]
// CHECK: arith.subf %[[A]]
// CHECK: tile.reduce add %{{.*}} dim 1
tt.func public @by_comparison(%x: !tt.ptr<f32>, %out: !tt.ptr<f32>) {
  %row = tt.make_range {start = 0 : i32, end = 16 : i32} : tensor<16xi32>
  %c16 = arith.constant dense<16> : tensor<16x1xi32>
  %rows = tt.expand_dims %row {axis = 1 : i32} : tensor<16xi32> -> tensor<16x1xi32>
  %begin = arith.muli %rows, %c16 : tensor<16x1xi32>
  %all = tt.broadcast %begin : tensor<16x1xi32> -> tensor<16x16xi32>
  %columns = tt.expand_dims %row {axis = 0 : i32} : tensor<16xi32> -> tensor<1x16xi32>
  %across = tt.broadcast %columns : tensor<1x16xi32> -> tensor<16x16xi32>
  %to = arith.addi %all, %across : tensor<16x16xi32>
  %xs = tt.splat %x : !tt.ptr<f32> -> tensor<16x16x!tt.ptr<f32>>
  %px = tt.addptr %xs, %to : tensor<16x16x!tt.ptr<f32>>, tensor<16x16xi32>
  %a = tt.load %px : tensor<16x16x!tt.ptr<f32>>
  %most = "tt.reduce"(%a) <{axis = 1 : i32}> ({
  ^bb0(%v: f32, %w: f32):
    %above = arith.cmpf ogt, %v, %w : f32
    %none = arith.cmpf une, %v, %v : f32
    %first = arith.ori %above, %none : i1
    %chosen = arith.select %first, %v, %w : f32
    tt.reduce.return %chosen : f32
  }) : (tensor<16x16xf32>) -> tensor<16xf32>
  %root = tt.extern_elementwise %most {libname = "", libpath = "", pure = true, symbol = "__nv_rsqrtf"} : (tensor<16xf32>) -> tensor<16xf32>
  %e = tt.extern_elementwise %root {libname = "", libpath = "", pure = true, symbol = "__ocml_exp_f32"} : (tensor<16xf32>) -> tensor<16xf32>
  %zeros = arith.constant dense<0.0> : tensor<16x16xf32>
  %ones = arith.constant dense<1.0> : tensor<16x16xf32>
  %r:3 = "tt.reduce"(%a, %zeros, %ones) <{axis = 1 : i32}> ({
  ^bb0(%m: f32, %s: f32, %w: f32, %n: f32, %t: f32, %v: f32):
    %zero = arith.constant 0.0 : f32
    %d = arith.subf %n, %m : f32
    %weight = arith.addf %w, %v : f32
    %none = arith.cmpf oeq, %weight, %zero : f32
    %part = arith.divf %v, %weight : f32
    %ratio = arith.select %none, %zero, %part : f32
    %step = arith.mulf %d, %ratio : f32
    %mean = arith.addf %m, %step : f32
    %sum = arith.addf %s, %t : f32
    %square = arith.mulf %d, %d : f32
    %heavy = arith.mulf %square, %w : f32
    %more = arith.mulf %heavy, %ratio : f32
    %squares = arith.addf %sum, %more : f32
    tt.reduce.return %mean, %squares, %weight : f32, f32, f32
  }) : (tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>) -> (tensor<16xf32>, tensor<16xf32>, tensor<16xf32>)
  %y = arith.addf %e, %r#0 : tensor<16xf32>
  %z = arith.addf %y, %r#1 : tensor<16xf32>
  %outs = tt.splat %out : !tt.ptr<f32> -> tensor<16x!tt.ptr<f32>>
  %po = tt.addptr %outs, %row : tensor<16x!tt.ptr<f32>>, tensor<16xi32>
  tt.store %po, %z : tensor<16x!tt.ptr<f32>>
  tt.return
}

// Sums in one step where computed addresses, or masks of values, say.
// CHECK-LABEL: tile.kernel @sums_anywhere(
// CHECK-SAME: memref<?xi32> {tile.access = #tile.access<inout>}
// CHECK: %[[AT:.*]] = arith.index_cast %{{.*}} : tensor<16xi32> to tensor<16xindex>
// CHECK: tile.scatter %{{.*}}, %{{.*}}[%[[AT]]] in_bounds add
// CHECK: %[[ODD:.*]] = arith.cmpi eq
// CHECK: tile.scatter %{{.*}}, %{{.*}}[%{{.*}}] mask %[[ODD]] in_bounds add
tt.func public @sums_anywhere(%i: !tt.ptr<i32>, %x: !tt.ptr<i32>) {
  %at = tt.make_range {start = 0 : i32, end = 16 : i32} : tensor<16xi32>
  %is = tt.splat %i : !tt.ptr<i32> -> tensor<16x!tt.ptr<i32>>
  %pi = tt.addptr %is, %at : tensor<16x!tt.ptr<i32>>, tensor<16xi32>
  %index = tt.load %pi : tensor<16x!tt.ptr<i32>>
  %xs = tt.splat %x : !tt.ptr<i32> -> tensor<16x!tt.ptr<i32>>
  %px = tt.addptr %xs, %index : tensor<16x!tt.ptr<i32>>, tensor<16xi32>
  %old = tt.atomic_rmw add, acq_rel, gpu, %px, %at : (tensor<16x!tt.ptr<i32>>, tensor<16xi32>) -> tensor<16xi32>
  %odd = arith.cmpi eq, %index, %at : tensor<16xi32>
  %py = tt.addptr %xs, %at : tensor<16x!tt.ptr<i32>>, tensor<16xi32>
  %older = tt.atomic_rmw add, acq_rel, gpu, %py, %at, %odd : (tensor<16x!tt.ptr<i32>>, tensor<16xi32>, tensor<16xi1>) -> tensor<16xi32>
  tt.return
}

// A sum in one step is one of a view, whose size the mask bounds. What is said
// to hold is said; where an early return has left, everything holds.
// CHECK-LABEL: tile.kernel @sums(
// CHECK-SAME: memref<?xf32> {tile.access = #tile.access<inout>}
// CHECK: memref.extract_aligned_pointer_as_index
// CHECK: arith.remui
// CHECK: tile.assert %{{.*}}, "argument 0 is a multiple of 16" promise : i1
// CHECK: arith.remui %{{.*}} : i32
// CHECK: tile.assert %{{.*}}, "argument 1 is a multiple of 8" promise : i1
// CHECK: tile.assert %{{.*}}, "tl.assume" promise : i1
// CHECK: tile.assert %{{.*}}, "below n" : tensor<16xi1>
// CHECK: memref.reinterpret_cast %{{.*}} sizes: [%{{.*}}], strides: [1]
// CHECK: tile.atomic_add %{{.*}}[%{{.*}}] : tensor<16xf32>, memref<?xf32, strided<[1], offset: ?>>
// CHECK: %[[FEW:.*]] = arith.cmpi slt
// CHECK: %[[LEFT:.*]] = arith.cmpi sge
// CHECK: %[[EITHER:.*]] = arith.ori %[[FEW]], %[[LEFT]] : i1
// CHECK: tile.assert %[[EITHER]], "not left" : i1
tt.func public @sums(%x: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %n: i32 {tt.divisibility = 8 : i32}) {
  %at = tt.make_range {start = 0 : i32, end = 16 : i32} : tensor<16xi32>
  %c0 = arith.constant 0 : i32
  %positive = arith.cmpi sgt, %n, %c0 : i32
  llvm.intr.assume %positive : i1
  %ns = tt.splat %n : i32 -> tensor<16xi32>
  %mask = arith.cmpi slt, %at, %ns : tensor<16xi32>
  tt.assert %mask, "below n" : tensor<16xi1>
  %xs = tt.splat %x : !tt.ptr<f32> -> tensor<16x!tt.ptr<f32>>
  %px = tt.addptr %xs, %at : tensor<16x!tt.ptr<f32>>, tensor<16xi32>
  %one = arith.constant dense<1.0> : tensor<16xf32>
  %old = tt.atomic_rmw fadd, acq_rel, gpu, %px, %one, %mask : (tensor<16x!tt.ptr<f32>>, tensor<16xf32>, tensor<16xi1>) -> tensor<16xf32>
  %pid = tt.get_program_id x : i32
  %enough = arith.cmpi sge, %pid, %n : i32
  cf.cond_br %enough, ^end, ^rest
^end:
  tt.return
^rest:
  %few = arith.cmpi slt, %n, %pid : i32
  tt.assert %few, "not left" : i1
  tt.return
}

// Partial sums along columns are those of rows of the transpose; each bin counts.
// CHECK-LABEL: tile.kernel @scans(
// CHECK: %[[TURNED:.*]] = tile.transpose %{{.*}} [1, 0] : tensor<16x32xf16> -> tensor<32x16xf16>
// CHECK: %[[WIDE:.*]] = arith.extf %[[TURNED]] : tensor<32x16xf16> to tensor<32x16xf32>
// CHECK: %[[SUMS:.*]] = tile.scan add %[[WIDE]] dim 1 reverse : tensor<32x16xf32>
// CHECK: %[[NARROW:.*]] = arith.truncf %[[SUMS]] : tensor<32x16xf32> to tensor<32x16xf16>
// CHECK: tile.transpose %[[NARROW]] [1, 0] : tensor<32x16xf16> -> tensor<16x32xf16>
// CHECK: tile.scan max %{{.*}} dim 0 : tensor<32xi32>
// CHECK: scf.for %[[BIN:.*]] = %c0 to %c16 step %c1
// CHECK: arith.cmpi eq, %{{.*}} : tensor<32xi32>
// CHECK: tile.reduce add %{{.*}} dim 1 : tensor<1x32xi32> -> tensor<1xi32>
// CHECK: arith.select %{{.*}} : tensor<16xi1>, tensor<16xi32>
tt.func public @scans(%x: !tt.ptr<f16>, %n: !tt.ptr<i32>) {
  %row = tt.make_range {start = 0 : i32, end = 16 : i32} : tensor<16xi32>
  %at = tt.make_range {start = 0 : i32, end = 32 : i32} : tensor<32xi32>
  %c32 = arith.constant dense<32> : tensor<16x1xi32>
  %rows = tt.expand_dims %row {axis = 1 : i32} : tensor<16xi32> -> tensor<16x1xi32>
  %begin = arith.muli %rows, %c32 : tensor<16x1xi32>
  %all = tt.broadcast %begin : tensor<16x1xi32> -> tensor<16x32xi32>
  %columns = tt.expand_dims %at {axis = 0 : i32} : tensor<32xi32> -> tensor<1x32xi32>
  %across = tt.broadcast %columns : tensor<1x32xi32> -> tensor<16x32xi32>
  %to = arith.addi %all, %across : tensor<16x32xi32>
  %xs = tt.splat %x : !tt.ptr<f16> -> tensor<16x32x!tt.ptr<f16>>
  %px = tt.addptr %xs, %to : tensor<16x32x!tt.ptr<f16>>, tensor<16x32xi32>
  %a = tt.load %px : tensor<16x32x!tt.ptr<f16>>
  %s = "tt.scan"(%a) <{axis = 0 : i32, reverse = true}> ({
  ^bb0(%v: f16, %w: f16):
    %sum = arith.addf %v, %w : f16
    tt.scan.return %sum : f16
  }) : (tensor<16x32xf16>) -> tensor<16x32xf16>
  tt.store %px, %s : tensor<16x32x!tt.ptr<f16>>
  %ns = tt.splat %n : !tt.ptr<i32> -> tensor<32x!tt.ptr<i32>>
  %pn = tt.addptr %ns, %at : tensor<32x!tt.ptr<i32>>, tensor<32xi32>
  %b = tt.load %pn : tensor<32x!tt.ptr<i32>>
  %most = "tt.scan"(%b) <{axis = 0 : i32, reverse = false}> ({
  ^bb0(%v: i32, %w: i32):
    %above = arith.cmpi sgt, %v, %w : i32
    %larger = arith.select %above, %v, %w : i32
    tt.scan.return %larger : i32
  }) : (tensor<32xi32>) -> tensor<32xi32>
  tt.store %pn, %most : tensor<32x!tt.ptr<i32>>
  %counts = tt.histogram %b : tensor<32xi32> -> tensor<16xi32>
  %ms = tt.splat %n : !tt.ptr<i32> -> tensor<16x!tt.ptr<i32>>
  %pm = tt.addptr %ms, %row : tensor<16x!tt.ptr<i32>>, tensor<16xi32>
  tt.store %pm, %counts : tensor<16x!tt.ptr<i32>>
  tt.return
}

// What was reduced from a whole tile decides as its only element; it may be how
// far a loop goes.
// CHECK-LABEL: tile.kernel @until_sum(
// CHECK: scf.while (%[[SUM:.*]] = %{{.*}}) : (tensor<1xf32>) -> tensor<1xf32>
// CHECK: %[[MORE:.*]] = arith.cmpf olt, %[[SUM]], %{{.*}} : tensor<1xf32>
// CHECK: %[[HOLDS:.*]] = tensor.extract %[[MORE]][%c0] : tensor<1xi1>
// CHECK: scf.condition(%[[HOLDS]]) %[[SUM]] : tensor<1xf32>
// CHECK: %[[COUNT:.*]] = tile.reduce add %{{.*}} dim 1 : tensor<1x16xi32> -> tensor<1xi32>
// CHECK: %[[N:.*]] = tensor.extract %[[COUNT]][%c0] : tensor<1xi32>
// CHECK: %[[END:.*]] = arith.index_cast %[[N]] : i32 to index
// CHECK: scf.for %{{.*}} = %c0 to %[[END]] step %c1
// CHECK: tile.store
tt.func public @until_sum(%x: !tt.ptr<f32>, %n: !tt.ptr<i32>) {
  %zero = arith.constant 0.0 : f32
  %ten = arith.constant 10.0 : f32
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %at = tt.make_range {start = 0 : i32, end = 16 : i32} : tensor<16xi32>
  %xs = tt.splat %x : !tt.ptr<f32> -> tensor<16x!tt.ptr<f32>>
  %px = tt.addptr %xs, %at : tensor<16x!tt.ptr<f32>>, tensor<16xi32>
  %s = scf.while (%s = %zero) : (f32) -> f32 {
    %more = arith.cmpf olt, %s, %ten : f32
    scf.condition(%more) %s : f32
  } do {
  ^bb0(%s: f32):
    %a = tt.load %px : tensor<16x!tt.ptr<f32>>
    %r = "tt.reduce"(%a) <{axis = 0 : i32}> ({
    ^bb0(%a0: f32, %b: f32):
      %d = arith.addf %a0, %b : f32
      tt.reduce.return %d : f32
    }) : (tensor<16xf32>) -> f32
    %next = arith.addf %s, %r : f32
    scf.yield %next : f32
  }
  %ns = tt.splat %n : !tt.ptr<i32> -> tensor<16x!tt.ptr<i32>>
  %pn = tt.addptr %ns, %at : tensor<16x!tt.ptr<i32>>, tensor<16xi32>
  %lengths = tt.load %pn : tensor<16x!tt.ptr<i32>>
  %count = "tt.reduce"(%lengths) <{axis = 0 : i32}> ({
  ^bb0(%a: i32, %b: i32):
    %d = arith.addi %a, %b : i32
    tt.reduce.return %d : i32
  }) : (tensor<16xi32>) -> i32
  scf.for %k = %c0 to %count step %c1 : i32 {
    %pk = tt.addptr %x, %k : !tt.ptr<f32>, i32
    tt.store %pk, %s : !tt.ptr<f32>
  }
  tt.return
}

// A tile of integers that a loop adds up is carried as its elements, one that
// follows steps as the first of them.
// CHECK-LABEL: tile.kernel @counted(
// CHECK: scf.for %{{.*}} iter_args(%[[COUNT:.*]] = %{{.*}}, %[[FIRST:.*]] = %{{.*}}) -> (tensor<16xi32>, index)
// CHECK: arith.addi %[[COUNT]], %{{.*}} : tensor<16xi32>
// CHECK: arith.addi %[[FIRST]], %c16 : index
tt.func public @counted(%x: !tt.ptr<i32>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %none = arith.constant dense<0> : tensor<16xi32>
  %step = arith.constant dense<16> : tensor<16xi32>
  %at = tt.make_range {start = 0 : i32, end = 16 : i32} : tensor<16xi32>
  %xs = tt.splat %x : !tt.ptr<i32> -> tensor<16x!tt.ptr<i32>>
  %r:2 = scf.for %k = %c0 to %n step %c1 iter_args(%count = %none, %to = %at) -> (tensor<16xi32>, tensor<16xi32>) : i32 {
    %px = tt.addptr %xs, %to : tensor<16x!tt.ptr<i32>>, tensor<16xi32>
    %a = tt.load %px : tensor<16x!tt.ptr<i32>>
    %more = arith.addi %count, %a : tensor<16xi32>
    %next = arith.addi %to, %step : tensor<16xi32>
    scf.yield %more, %next : tensor<16xi32>, tensor<16xi32>
  }
  %px = tt.addptr %xs, %r#1 : tensor<16x!tt.ptr<i32>>, tensor<16xi32>
  tt.store %px, %r#0 : tensor<16x!tt.ptr<i32>>
  tt.return
}
