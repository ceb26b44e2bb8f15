// Vectors along the columns of scores come with a step's tiles, a row of a tensor each: from an argument that ends with
// them, at multiples of 16 bytes. Slots have whole lines of 128 bytes, two at least. Others are loaded by each thread.
// RUN: fa-opt %s --pass-pipeline='builtin.module(tgpu-plan-kernels{machine=sm_90a constraints="stages=2 schedule=roles"},tgpu-open-channels)' | FileCheck %s

!rows = memref<?x64xf16, strided<[?, 1]>>
!numbers = memref<?x?xf32, strided<[?, 1]>>
!row = memref<?xf32, strided<[1], offset: ?>>
!out = memref<?x64xf32, strided<[?, 1]>>

// CHECK-LABEL: tile.kernel @vectors(
// CHECK: %[[K:.*]] = tgpu.channel : <2 x 80x64xf16,
// CHECK: %[[LSE:.*]] = tgpu.channel : <2 x 1x96xf32,
// CHECK: %[[SMALL:.*]] = tgpu.channel : <2 x 1x64xf32,
// CHECK: producer {
// CHECK: scf.for %[[I:.*]] = {{.*}} iter_args(%[[N:.*]] = %{{.*}})
// CHECK: tgpu.acquire %[[LSE]], %[[N]] :
// CHECK: tgpu.fetch %arg1[%arg4, %[[I]]] dims [0, 1] to %[[LSE]], %[[N]] :
// CHECK: tgpu.acquire %[[SMALL]], %[[N]] :
// CHECK: tgpu.fetch %arg1[%arg4, %[[I]]] dims [0, 1] to %[[SMALL]], %[[N]] :
// CHECK-NOT: tgpu.fetch %arg2
// CHECK: consumer {
// CHECK: scf.for {{.*}} iter_args({{.*}}, %[[STEP:[^ ]*]] = %{{[^ ]*}}) ->
// CHECK: tgpu.await %[[LSE]], %[[STEP]] :
// CHECK: tgpu.receive %[[LSE]], %[[STEP]] : {{.*}} -> tensor<80xf32>
// CHECK: tgpu.release %[[LSE]], %[[STEP]] :
// CHECK: tgpu.receive %[[SMALL]], %[[STEP]] : {{.*}} -> tensor<16xf32>
// Not at a multiple of four, before the end of the argument, of an argument without a promise.
// CHECK-COUNT-3: tile.load {{.*}} -> tensor<80xf32>
tile.kernel @vectors(%x: !rows {tile.access = #tile.access<in>, tile.alignment = 16 : i64}, %lse: !numbers {tile.access = #tile.access<in>, tile.alignment = 16 : i64}, %loose: !numbers {tile.access = #tile.access<in>},
                     %o: !out {tile.access = #tile.access<out>}, %head: index, %n: index)
    attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c80 = arith.constant 80 : index
  %length = memref.dim %lse, %c1 : !numbers
  %length2 = memref.dim %loose, %c1 : !numbers
  %one = memref.subview %lse[%head, 0] [1, %length] [1, 1] : !numbers to !row
  %cut = memref.subview %lse[%head, 0] [1, %n] [1, 1] : !numbers to !row
  %other = memref.subview %loose[%head, 0] [1, %length2] [1, 1] : !numbers to !row
  %q = tile.load %x[%c0, %c0] : !rows -> tensor<128x64xf16>
  %z = arith.constant dense<0.0> : tensor<128x64xf32>
  %r = scf.for %i = %c0 to %n step %c80 iter_args(%acc = %z) -> tensor<128x64xf32> {
    %k = tile.load %x[%i, %c0] : !rows -> tensor<80x64xf16>
    %s = tile.dot %q, %k transpose_b : tensor<128x64xf16>, tensor<80x64xf16> -> tensor<128x80xf32>
    %below = tile.load %one[%i] : !row -> tensor<80xf32>
    %small = tile.load %one[%i] : !row -> tensor<16xf32>
    %next = arith.addi %i, %c1 : index
    %odd = tile.load %one[%next] : !row -> tensor<80xf32>
    %ends = tile.load %cut[%i] : !row -> tensor<80xf32>
    %any = tile.load %other[%i] : !row -> tensor<80xf32>
    %sum = arith.addf %below, %odd : tensor<80xf32>
    %sum2 = arith.addf %sum, %ends : tensor<80xf32>
    %sum3 = arith.addf %sum2, %any : tensor<80xf32>
    %line = tile.expand_dims %sum3 dim 0 : tensor<80xf32> -> tensor<1x80xf32>
    %all = tile.broadcast %line : tensor<1x80xf32> -> tensor<128x80xf32>
    %t = arith.addf %s, %all : tensor<128x80xf32>
    %p = arith.truncf %t : tensor<128x80xf32> to tensor<128x80xf16>
    %a = tile.dot %p, %k acc %acc : tensor<128x80xf16>, tensor<80x64xf16> -> tensor<128x64xf32>
    scf.yield %a : tensor<128x64xf32>
  }
  tile.store %r, %o[%c0, %c0] : tensor<128x64xf32>, !out
  tile.return
}
