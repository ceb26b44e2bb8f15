// What a thread computes is in the LLVM dialect after one conversion, and no cast is left of it.
// RUN: fa-opt %s --convert-simt-to-llvm --reconcile-unrealized-casts | FileCheck %s

// CHECK-NOT: {{memref|affine|arith|index|cf|ub}}.
// CHECK-NOT: unrealized_conversion_cast

// A view of a view is an address; what bounds it is no operation of LLVM's by itself.
// CHECK-LABEL: llvm.func @views
// CHECK-SAME: %[[P:.*]]: !llvm.ptr, %[[I:.*]]: i64, %[[N:.*]]: i64
llvm.func @views(%p: !llvm.ptr, %i: i64, %n: i64) -> f32 {
  %m = builtin.unrealized_conversion_cast %p : !llvm.ptr to !llvm.ptr
  %at = builtin.unrealized_conversion_cast %i : i64 to index
  %rows = builtin.unrealized_conversion_cast %n : i64 to index
  %none = llvm.mlir.poison : !llvm.struct<(ptr, ptr, i64, array<2 x i64>, array<2 x i64>)>
  %d0 = llvm.insertvalue %m, %none[1] : !llvm.struct<(ptr, ptr, i64, array<2 x i64>, array<2 x i64>)>
  %k = builtin.unrealized_conversion_cast %d0 : !llvm.struct<(ptr, ptr, i64, array<2 x i64>, array<2 x i64>)> to memref<64x64xf32>
  %c16 = arith.constant 16 : index
  // CHECK: llvm.udiv
  %tile = arith.ceildivui %rows, %c16 : index
  // CHECK: llvm.getelementptr
  // CHECK: %[[X:.*]] = llvm.load %{{.*}} : !llvm.ptr -> f32
  %v = memref.subview %k[%at, 0] [8, 64] [1, 1] : memref<64x64xf32> to memref<8x64xf32, strided<[64, 1], offset: ?>>
  %w = memref.subview %v[0, 32] [8, 32] [1, 1] : memref<8x64xf32, strided<[64, 1], offset: ?>> to memref<8x32xf32, strided<[64, 1], offset: ?>>
  %x = memref.load %w[%tile, %at] : memref<8x32xf32, strided<[64, 1], offset: ?>>
  // CHECK: llvm.intr.exp2(%[[X]])
  %e = math.exp2 %x : f32
  llvm.return %e : f32
}

// An index that goes around a loop is an integer there.
// CHECK-LABEL: llvm.func @loop
llvm.func @loop(%n: i64) -> i64 {
  %end = builtin.unrealized_conversion_cast %n : i64 to index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // CHECK: llvm.br ^[[HEAD:.*]](%{{.*}} : i64)
  cf.br ^head(%c0 : index)
  // CHECK: ^[[HEAD]](%[[AT:.*]]: i64):
^head(%at: index):
  // CHECK: llvm.icmp "slt" %[[AT]]
  %more = arith.cmpi slt, %at, %end : index
  // CHECK: llvm.cond_br
  cf.cond_br %more, ^body, ^exit
^body:
  %next = arith.addi %at, %c1 : index
  cf.br ^head(%next : index)
^exit:
  %r = builtin.unrealized_conversion_cast %at : index to i64
  llvm.return %r : i64
}
