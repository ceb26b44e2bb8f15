// What a host function has, as one conversion to the LLVM dialect.
// RUN: fa-opt %s --convert-host-to-llvm --reconcile-unrealized-casts | FileCheck %s

// CHECK-NOT: {{(arith|cf|func|index|math|memref|vector)\.[a-z]}}
// CHECK-LABEL: llvm.func @sums(
// CHECK: llvm.load %{{.*}} : !llvm.ptr -> vector<8xf32>
// CHECK: llvm.intr.fmuladd
// CHECK: llvm.intr.vector.reduce.fadd
// CHECK: llvm.cond_br
// CHECK: llvm.store
func.func @sums(%x: memref<64xf32>, %i: index, %acc: vector<8xf32>, %some: i1) {
  %a = vector.load %x[%i] : memref<64xf32>, vector<8xf32>
  %b = vector.fma %a, %a, %acc : vector<8xf32>
  %s = vector.reduction <add>, %b : vector<8xf32> into f32
  cf.cond_br %some, ^store, ^end
^store:
  memref.store %s, %x[%i] : memref<64xf32>
  cf.br ^end
^end:
  return
}

// A function is an intrinsic where LLVM has one, otherwise a call of libm's.
// CHECK-LABEL: llvm.func @functions(
// CHECK: llvm.intr.exp2
// CHECK: llvm.call @erff(
func.func @functions(%x: f32) -> f32 {
  %e = math.exp2 %x : f32
  %r = math.erf %e : f32
  return %r : f32
}

// Of vectors, what upstream takes apart first: broadcasts, slices, masks, casts of shapes.
// CHECK-LABEL: llvm.func @vectors(
// CHECK: llvm.shufflevector
// CHECK: llvm.icmp "sgt"
func.func @vectors(%x: f32, %n: index, %y: vector<16xf32>) -> (vector<4xf32>, vector<8xf32>, vector<8xi1>, vector<16xf32>) {
  %b = vector.broadcast %x : f32 to vector<4xf32>
  %s = vector.extract_strided_slice %y {offsets = [4], sizes = [8], strides = [1]} : vector<16xf32> to vector<8xf32>
  %m = vector.create_mask %n : vector<8xi1>
  %c = vector.shape_cast %y : vector<16xf32> to vector<2x8xf32>
  %d = vector.shape_cast %c : vector<2x8xf32> to vector<16xf32>
  return %b, %s, %m, %d : vector<4xf32>, vector<8xf32>, vector<8xi1>, vector<16xf32>
}
