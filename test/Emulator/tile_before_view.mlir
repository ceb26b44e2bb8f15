// A tile that begins before its view, in lines of 16 bytes: nothing is read there and zeros are written, so that the first step adds nothing.
// RUN: fa-run %s --in 128x128 --in 128x128 --check --target=emulator:sm_80 | FileCheck %s
// CHECK: kernel   @early,
// CHECK: check {{.*}} PASS{{$}}
// RUN: fa-run %s --arch=sm_80 --emit=tgpu | FileCheck %s --check-prefix=LINES
// LINES: tgpu.copy %arg0{{.*}} bytes 16

func.func @early_of(%a: tensor<128x128xbf16>, %b: tensor<128x128xbf16>) -> tensor<128x128xbf16> {
  %d = tile.dot %a, %b : tensor<128x128xbf16>, tensor<128x128xbf16> -> tensor<128x128xbf16>
  return %d : tensor<128x128xbf16>
}
tile.kernel @early(%a: memref<128x128xbf16, strided<[?, 1]>> {tile.access = #tile.access<in>, tile.alignment = 16 : i64},
                   %b: memref<128x128xbf16, strided<[?, 1]>> {tile.access = #tile.access<in>, tile.alignment = 16 : i64},
                   %o: memref<128x128xbf16, strided<[?, 1]>> {tile.access = #tile.access<out>, tile.alignment = 16 : i64})
    attributes {grid = affine_map<() -> (1, 1, 1)>, grid_sizes = array<i64>, reference = @early_of} {
  %c0 = arith.constant 0 : index
  %first = arith.constant -64 : index
  %depth = arith.constant 64 : index
  %end = arith.constant 128 : index
  %zeros = arith.constant dense<0.0> : tensor<128x128xf32>
  %sum = scf.for %k = %first to %end step %depth iter_args(%acc = %zeros) -> (tensor<128x128xf32>) {
    %x = tile.load %a[%c0, %k] : memref<128x128xbf16, strided<[?, 1]>> -> tensor<128x64xbf16>
    %y = tile.load %b[%k, %c0] : memref<128x128xbf16, strided<[?, 1]>> -> tensor<64x128xbf16>
    %next = tile.dot %x, %y acc %acc : tensor<128x64xbf16>, tensor<64x128xbf16> -> tensor<128x128xf32>
    scf.yield %next : tensor<128x128xf32>
  }
  %rounded = arith.truncf %sum : tensor<128x128xf32> to tensor<128x128xbf16>
  tile.store %rounded, %o[%c0, %c0] : tensor<128x128xbf16>, memref<128x128xbf16, strided<[?, 1]>>
  tile.return
}
