// RUN: fa-opt %s --convert-tile-to-host --canonicalize --cse | FileCheck %s
// The twin: other rows, of too many pages.
// RUN: sed 's/x64xf32/x128xf32/g; s/heads, 64/heads, 128/' %s | fa-opt --convert-tile-to-host --canonicalize --cse | not FileCheck %s

// Few rows: lanes along them. Rows beyond those of q's view, which no store
// keeps, are left out of every loop.
// CHECK-LABEL: func.func @few_rows
// CHECK: %[[LIVE:.*]] = arith.minsi %{{.*}}, %c16 : index
// Both pages of K are asked for two steps early, if there is such a step.
// CHECK: scf.for %[[STEP:.*]] = %c0 to %[[N:.*]] step %c32
// CHECK-NEXT: %[[LATER:.*]] = arith.addi %[[STEP]], %c64 : index
// CHECK: %[[MORE:.*]] = arith.cmpi slt, %[[LATER]], %[[N]] : index
// CHECK: %[[THEN:.*]] = arith.select %[[MORE]], %[[LATER]], %[[STEP]] : index
// CHECK: memref.prefetch %[[KEYS:.*]][%[[THEN]], %c0], read, locality<2>, data
// CHECK: %[[PAGE:.*]] = arith.addi %[[THEN]], %c16 : index
// CHECK: memref.prefetch %[[KEYS]][%[[PAGE]], %c0], read, locality<2>, data
// Q K^T reads whole vectors of keys where they lie, 8 rows by 2 keys; for each
// line of a key the same line of V is asked for.
// CHECK: scf.for %[[ROW:.*]] = %c0 to %[[LIVE]] step %c8
// CHECK: arith.cmpi slt, %{{.*}}, %[[LIVE]]
// CHECK: scf.if
// CHECK: scf.for %{{.*}} = %c0 to %c32 step %c2
// CHECK: scf.for %[[D:.*]] = %c0 to %c64 step %c16 iter_args
// CHECK: memref.prefetch %[[V:.*]][%[[KEY:.*]], %[[D]]], read, locality<2>, data
// CHECK: memref.prefetch %[[V]][%[[NEXT:.*]], %[[D]]], read, locality<2>, data
// CHECK-NOT: memref.prefetch
// CHECK: vector.load %[[K:.*]][%[[KEY]], %[[D]]] : memref<?x64xf32, strided<[?, 1]>>, vector<16xf32>
// CHECK: vector.load %[[K]][%[[NEXT]], %[[D]]] : memref<?x64xf32, strided<[?, 1]>>, vector<16xf32>
// CHECK: vector.load %{{.*}}[%[[ROW]], %[[D]]] : memref<16x64xf32>, vector<16xf32>
// CHECK-COUNT-16: vector.fma
// The sums of 16 vectors' lanes: 8 + 4 + 2 + 1 additions, one vector.
// CHECK-COUNT-15: arith.addf {{.*}} : vector<16xf32>
// CHECK-NOT: arith.addf
// CHECK: vector.extract_strided_slice {{.*}} vector<16xf32> to vector<2xf32>
// CHECK: vector.store %{{.*}} : memref<16x32xf32>, vector<2xf32>
// Four rows or less are 4 by 4.
// CHECK: } else {
// CHECK: scf.for %{{.*}} = %c0 to %c32 step %c4
// CHECK-COUNT-4: memref.prefetch
// CHECK-COUNT-16: vector.fma
// CHECK: vector.store %{{.*}} : memref<16x32xf32>, vector<4xf32>
// P is zero in the rows that blocks of four take and that are not there:
// scratch may hold subnormal numbers, which are slow.
// CHECK: %[[BLOCKS:.*]] = arith.ceildivui %[[LIVE]], %c4
// CHECK: %[[END:.*]] = arith.muli %[[BLOCKS]], %c4
// CHECK: scf.for %[[NONE:.*]] = %[[LIVE]] to %[[END]] step %c1
// CHECK: scf.for %[[COL:.*]] = %c0 to %c32 step %c16
// CHECK: vector.store %[[ZERO:.*]], %[[P:.*]][%[[NONE]], %[[COL]]] : memref<16x32xf32>
// P V: keys innermost, a scalar of P and vectors of V, which ask for K's next
// tile. V's pages two steps on are asked for here.
// CHECK: memref.prefetch %[[V]][%{{.*}}, %c0]
// CHECK: memref.prefetch %[[V]][%{{.*}}, %c0]
// CHECK: scf.for %{{.*}} = %c0 to %[[LIVE]] step %c8
// CHECK: scf.for %{{.*}} = %c0 to %c32 step %c4 iter_args
// CHECK: memref.prefetch %[[K]][
// CHECK: vector.load %[[V]]{{.*}} : memref<?x64xf32, strided<[?, 1]>>, vector<16xf32>
// CHECK: memref.load %[[P]]{{.*}} : memref<16x32xf32>
// CHECK: vector.fma
tile.kernel @few_rows(%q: memref<?x64xf32, strided<[?, 1]>> {tile.access = #tile.access<in>},
                      %k: memref<?x64xf32, strided<[?, 1]>> {tile.access = #tile.access<in>},
                      %v: memref<?x64xf32, strided<[?, 1]>> {tile.access = #tile.access<in>},
                      %n: index, %heads: index,
                      %o: memref<?x64xf32, strided<[?, 1]>> {tile.access = #tile.access<out>})
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %acc = arith.constant dense<0.0> : tensor<16x64xf32>
  %max = arith.constant dense<0xFF800000> : tensor<16xf32>
  %sum = arith.constant dense<0.0> : tensor<16xf32>
  %queries = memref.subview %q[0, 0] [%heads, 64] [1, 1] : memref<?x64xf32, strided<[?, 1]>> to memref<?x64xf32, strided<[?, 1]>>
  %a = tile.load %queries[%c0, %c0] : memref<?x64xf32, strided<[?, 1]>> -> tensor<16x64xf32>
  %r:3 = scf.for %key = %c0 to %n step %c32 iter_args(%x = %acc, %m = %max, %l = %sum) -> (tensor<16x64xf32>, tensor<16xf32>, tensor<16xf32>) {
    %kt = tile.load %k[%key, %c0] in_bounds : memref<?x64xf32, strided<[?, 1]>> -> tensor<32x64xf32>
    %s = tile.dot %a, %kt transpose_b : tensor<16x64xf32>, tensor<32x64xf32> -> tensor<16x32xf32>
    %p, %alpha, %m1, %l1 = tile.online_softmax %s, %m, %l : tensor<16x32xf32>, tensor<16xf32>
    %e = tile.expand_dims %alpha dim 1 : tensor<16xf32> -> tensor<16x1xf32>
    %w = tile.broadcast %e : tensor<16x1xf32> -> tensor<16x64xf32>
    %scaled = arith.mulf %x, %w : tensor<16x64xf32>
    %vt = tile.load %v[%key, %c0] in_bounds : memref<?x64xf32, strided<[?, 1]>> -> tensor<32x64xf32>
    %y = tile.dot %p, %vt acc %scaled : tensor<16x32xf32>, tensor<32x64xf32> -> tensor<16x64xf32>
    scf.yield %y, %m1, %l1 : tensor<16x64xf32>, tensor<16xf32>, tensor<16xf32>
  }
  %output, %lse = tile.online_finalize %r#0, %r#1, %r#2 : tensor<16x64xf32>, tensor<16xf32>
  %results = memref.subview %o[0, 0] [%heads, 64] [1, 1] : memref<?x64xf32, strided<[?, 1]>> to memref<?x64xf32, strided<[?, 1]>>
  tile.store %output, %results[%c0, %c0] : tensor<16x64xf32>, memref<?x64xf32, strided<[?, 1]>>
  tile.return
}

// Four pages of K and of V in a step, two steps are 128 KiB: only the next
// lines are asked for.
// CHECK-LABEL: func.func @wide_rows
// CHECK: scf.for %{{.*}} = %c0 to %{{.*}} step %c32 {
// CHECK-NOT: memref.prefetch
// CHECK: iter_args
// CHECK: memref.prefetch
tile.kernel @wide_rows(%q: memref<?x128xf32, strided<[?, 1]>> {tile.access = #tile.access<in>},
                       %k: memref<?x128xf32, strided<[?, 1]>> {tile.access = #tile.access<in>},
                       %v: memref<?x128xf32, strided<[?, 1]>> {tile.access = #tile.access<in>},
                       %n: index,
                       %o: memref<?x128xf32, strided<[?, 1]>> {tile.access = #tile.access<out>})
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %acc = arith.constant dense<0.0> : tensor<16x128xf32>
  %max = arith.constant dense<0xFF800000> : tensor<16xf32>
  %sum = arith.constant dense<0.0> : tensor<16xf32>
  %a = tile.load %q[%c0, %c0] : memref<?x128xf32, strided<[?, 1]>> -> tensor<16x128xf32>
  %r:3 = scf.for %key = %c0 to %n step %c32 iter_args(%x = %acc, %m = %max, %l = %sum) -> (tensor<16x128xf32>, tensor<16xf32>, tensor<16xf32>) {
    %kt = tile.load %k[%key, %c0] in_bounds : memref<?x128xf32, strided<[?, 1]>> -> tensor<32x128xf32>
    %s = tile.dot %a, %kt transpose_b : tensor<16x128xf32>, tensor<32x128xf32> -> tensor<16x32xf32>
    %p, %alpha, %m1, %l1 = tile.online_softmax %s, %m, %l : tensor<16x32xf32>, tensor<16xf32>
    %e = tile.expand_dims %alpha dim 1 : tensor<16xf32> -> tensor<16x1xf32>
    %w = tile.broadcast %e : tensor<16x1xf32> -> tensor<16x128xf32>
    %scaled = arith.mulf %x, %w : tensor<16x128xf32>
    %vt = tile.load %v[%key, %c0] in_bounds : memref<?x128xf32, strided<[?, 1]>> -> tensor<32x128xf32>
    %y = tile.dot %p, %vt acc %scaled : tensor<16x32xf32>, tensor<32x128xf32> -> tensor<16x128xf32>
    scf.yield %y, %m1, %l1 : tensor<16x128xf32>, tensor<16xf32>, tensor<16xf32>
  }
  %output, %lse = tile.online_finalize %r#0, %r#1, %r#2 : tensor<16x128xf32>, tensor<16xf32>
  tile.store %output, %o[%c0, %c0] : tensor<16x128xf32>, memref<?x128xf32, strided<[?, 1]>>
  tile.return
}

// Results with more rows than q has: all are computed.
// CHECK-LABEL: func.func @all_rows
// CHECK-NOT: arith.minsi %{{.*}}, %c16 : index{{$}}
// CHECK: scf.for %{{.*}} = %c0 to %c16 step %c8
tile.kernel @all_rows(%q: memref<?x64xf32, strided<[?, 1]>> {tile.access = #tile.access<in>},
                      %k: memref<?x64xf32, strided<[?, 1]>> {tile.access = #tile.access<in>},
                      %heads: index,
                      %o: memref<16x32xf32> {tile.access = #tile.access<out>})
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %max = arith.constant dense<0xFF800000> : tensor<16xf32>
  %sum = arith.constant dense<0.0> : tensor<16xf32>
  %a = tile.load %q[%c0, %c0] in_bounds : memref<?x64xf32, strided<[?, 1]>> -> tensor<16x64xf32>
  %kt = tile.load %k[%c0, %c0] in_bounds : memref<?x64xf32, strided<[?, 1]>> -> tensor<32x64xf32>
  %s = tile.dot %a, %kt transpose_b : tensor<16x64xf32>, tensor<32x64xf32> -> tensor<16x32xf32>
  %p, %alpha, %m1, %l1 = tile.online_softmax %s, %max, %sum : tensor<16x32xf32>, tensor<16xf32>
  tile.store %p, %o[%c0, %c0] : tensor<16x32xf32>, memref<16x32xf32>
  tile.return
}

// A product whose depth the loop of P V does not divide has the other form: a
// last trip would read beyond it.
// CHECK-LABEL: func.func @ragged_depth
// CHECK-NOT: to %c6 step %c4
// CHECK: vector.fma
tile.kernel @ragged_depth(%a: memref<4x6xf32> {tile.access = #tile.access<in>},
                          %b: memref<8x16xf32> {tile.access = #tile.access<in>},
                          %o: memref<4x16xf32> {tile.access = #tile.access<out>})
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %x = tile.load %a[%c0, %c0] in_bounds : memref<4x6xf32> -> tensor<4x6xf32>
  %y = tile.load %b[%c0, %c0] in_bounds : memref<8x16xf32> -> tensor<6x16xf32>
  %d = tile.dot %x, %y : tensor<4x6xf32>, tensor<6x16xf32> -> tensor<4x16xf32>
  tile.store %d, %o[%c0, %c0] : tensor<4x16xf32>, memref<4x16xf32>
  tile.return
}

// Splits are merged along rows: for each row and vector of columns, one product
// and one multiply-add, where the accumulator lies.
// CHECK-LABEL: func.func @merge
// CHECK: scf.for %{{.*}} = %c0 to %{{.*}} step %c1 {
// CHECK: scf.for %[[ROW:.*]] = %c0 to %c16 step %c1
// CHECK: scf.for %[[COL:.*]] = %c0 to %c64 step %c16
// CHECK: %[[OLD:.*]] = vector.load %[[ACC:.*]][%[[ROW]], %[[COL]]] : memref<16x64xf32>
// CHECK: %[[SCALED:.*]] = arith.mulf %[[OLD]],
// CHECK: %[[NEW:.*]] = vector.fma %{{.*}}, %{{.*}}, %[[SCALED]]
// CHECK: vector.store %[[NEW]], %[[ACC]][%[[ROW]], %[[COL]]]
// CHECK-NOT: memref.copy
tile.kernel @merge(%parts: memref<?x64xf32> {tile.access = #tile.access<in>}, %maxima: memref<?xf32> {tile.access = #tile.access<in>},
                   %sums: memref<?xf32> {tile.access = #tile.access<in>}, %n: index,
                   %o: memref<16x64xf32> {tile.access = #tile.access<out>})
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %acc = arith.constant dense<0.0> : tensor<16x64xf32>
  %max = arith.constant dense<0xFF800000> : tensor<16xf32>
  %sum = arith.constant dense<0.0> : tensor<16xf32>
  %r:3 = scf.for %at = %c0 to %n step %c16 iter_args(%x = %acc, %m = %max, %l = %sum) -> (tensor<16x64xf32>, tensor<16xf32>, tensor<16xf32>) {
    %part = tile.load %parts[%at, %c0] : memref<?x64xf32> -> tensor<16x64xf32>
    %pm = tile.load %maxima[%at] : memref<?xf32> -> tensor<16xf32>
    %ps = tile.load %sums[%at] : memref<?xf32> -> tensor<16xf32>
    %y, %m1, %l1 = tile.online_merge %x, %m, %l with %part, %pm, %ps : tensor<16x64xf32>, tensor<16xf32>
    scf.yield %y, %m1, %l1 : tensor<16x64xf32>, tensor<16xf32>, tensor<16xf32>
  }
  %output, %lse = tile.online_finalize %r#0, %r#1, %r#2 : tensor<16x64xf32>, tensor<16xf32>
  tile.store %output, %o[%c0, %c0] : tensor<16x64xf32>, memref<16x64xf32>
  tile.return
}
