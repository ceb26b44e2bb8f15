// Products of matrices by kernels of tiles with two and three consumers, each of which has slots of its own for its rows of the left operand: five steps,
// four slots, tiles that are cut in rows and in columns.
// RUN: fa-run %s --entry=two --in 200x320 --in 320x320 --check --target=emulator:sm_90a | FileCheck %s --check-prefixes=TWO,CHECK
// TWO: kernel   @two, grid 2x2x1, 384 threads, 4 stages
// RUN: fa-run %s --entry=three --in 200x320 --in 320x320 --check --target=emulator:sm_90a | FileCheck %s --check-prefixes=THREE,CHECK
// THREE: kernel   @three, grid 2x3x1, 512 threads, 4 stages
// CHECK: check {{.*}} PASS{{$}}
// The same without specialized warps.
// RUN: fa-run %s --entry=two --in 200x320 --in 320x320 --check --target=emulator:sm_80 | FileCheck %s
// Consumers that do not wait for their tiles, and that never let them go.
// RUN: not fa-run %s --entry=two --in 200x320 --in 320x320 --check --target=emulator:sm_90a --fa-mutate=drop-await 2>&1 | FileCheck %s --check-prefix=WAIT
// WAIT: missing wait
// RUN: not fa-run %s --entry=two --in 200x320 --in 320x320 --check --target=emulator:sm_90a --fa-mutate=drop-release 2>&1 | FileCheck %s --check-prefix=RELEASE
// RELEASE: deadlock

func.func @two_of(%a: tensor<200x320xbf16>, %b: tensor<320x320xbf16>) -> tensor<200x320xbf16> {
  %d = tile.dot %a, %b : tensor<200x320xbf16>, tensor<320x320xbf16> -> tensor<200x320xbf16>
  return %d : tensor<200x320xbf16>
}
tile.kernel @two(%a: memref<200x320xbf16, strided<[?, 1]>> {tile.access = #tile.access<in>, tile.alignment = 16 : i64},
                %b: memref<320x320xbf16, strided<[?, 1]>> {tile.access = #tile.access<in>, tile.alignment = 16 : i64},
                %o: memref<200x320xbf16, strided<[?, 1]>> {tile.access = #tile.access<out>, tile.alignment = 16 : i64})
    attributes {grid = affine_map<() -> (2, 2, 1)>, grid_sizes = array<i64>, reference = @two_of} {
  %c0 = arith.constant 0 : index
  %depth = arith.constant 64 : index
  %end = arith.constant 320 : index
  %rows = arith.constant 128 : index
  %columns = arith.constant 256 : index
  %x = tile.program_id 0
  %y = tile.program_id 1
  %row = arith.muli %x, %rows : index
  %column = arith.muli %y, %columns : index
  %zero = arith.constant dense<0.0> : tensor<128x256xf32>
  %sum = scf.for %k = %c0 to %end step %depth iter_args(%acc = %zero) -> tensor<128x256xf32> {
    %l = tile.load %a[%row, %k] : memref<200x320xbf16, strided<[?, 1]>> -> tensor<128x64xbf16>
    %r = tile.load %b[%k, %column] : memref<320x320xbf16, strided<[?, 1]>> -> tensor<64x256xbf16>
    %d = tile.dot %l, %r acc %acc : tensor<128x64xbf16>, tensor<64x256xbf16> -> tensor<128x256xf32>
    scf.yield %d : tensor<128x256xf32>
  }
  %t = arith.truncf %sum : tensor<128x256xf32> to tensor<128x256xbf16>
  tile.store %t, %o[%row, %column] : tensor<128x256xbf16>, memref<200x320xbf16, strided<[?, 1]>>
  tile.return
}

func.func @three_of(%a: tensor<200x320xf16>, %b: tensor<320x320xf16>) -> tensor<200x320xf16> {
  %d = tile.dot %a, %b : tensor<200x320xf16>, tensor<320x320xf16> -> tensor<200x320xf16>
  return %d : tensor<200x320xf16>
}
tile.kernel @three(%a: memref<200x320xf16, strided<[?, 1]>> {tile.access = #tile.access<in>, tile.alignment = 16 : i64},
                %b: memref<320x320xf16, strided<[?, 1]>> {tile.access = #tile.access<in>, tile.alignment = 16 : i64},
                %o: memref<200x320xf16, strided<[?, 1]>> {tile.access = #tile.access<out>, tile.alignment = 16 : i64})
    attributes {grid = affine_map<() -> (2, 3, 1)>, grid_sizes = array<i64>, reference = @three_of} {
  %c0 = arith.constant 0 : index
  %depth = arith.constant 64 : index
  %end = arith.constant 320 : index
  %rows = arith.constant 192 : index
  %columns = arith.constant 128 : index
  %x = tile.program_id 0
  %y = tile.program_id 1
  %row = arith.muli %x, %rows : index
  %column = arith.muli %y, %columns : index
  %zero = arith.constant dense<0.0> : tensor<192x128xf32>
  %sum = scf.for %k = %c0 to %end step %depth iter_args(%acc = %zero) -> tensor<192x128xf32> {
    %l = tile.load %a[%row, %k] : memref<200x320xf16, strided<[?, 1]>> -> tensor<192x64xf16>
    %r = tile.load %b[%k, %column] : memref<320x320xf16, strided<[?, 1]>> -> tensor<64x128xf16>
    %d = tile.dot %l, %r acc %acc : tensor<192x64xf16>, tensor<64x128xf16> -> tensor<192x128xf32>
    scf.yield %d : tensor<192x128xf32>
  }
  %t = arith.truncf %sum : tensor<192x128xf32> to tensor<192x128xf16>
  tile.store %t, %o[%row, %column] : tensor<192x128xf16>, memref<200x320xf16, strided<[?, 1]>>
  tile.return
}
