// RUN: fa-opt %s --emulate-tiles --split-input-file --verify-diagnostics

func.func @halves(%a: memref<16x32xf16>, %b: memref<16x32xf16>, %c: memref<16x16xf32>) {
  %c0 = arith.constant 0 : index
  %x = amx.tile_load %a[%c0, %c0] : memref<16x32xf16> into !amx.tile<16x32xf16>
  %y = amx.tile_load %b[%c0, %c0] : memref<16x32xf16> into !amx.tile<16x32xf16>
  %z = amx.tile_zero : !amx.tile<16x16xf32>
  // expected-error@+1 {{expected the product of two '!amx.tile<16x32xbf16>' in '!amx.tile<16x16xf32>', found '!amx.tile<16x32xf16>' and '!amx.tile<16x32xf16>' in '!amx.tile<16x16xf32>'}}
  %s = amx.tile_mulf %x, %y, %z : !amx.tile<16x32xf16>, !amx.tile<16x32xf16>, !amx.tile<16x16xf32>
  amx.tile_store %c[%c0, %c0], %s : memref<16x16xf32>, !amx.tile<16x16xf32>
  return
}

// -----

func.func @strided(%a: memref<16x64xbf16>, %n: index) {
  %c0 = arith.constant 0 : index
  // expected-error@+1 {{expected the stride of its memory, found another}}
  %x = amx.tile_load %a[%c0, %c0], %n : memref<16x64xbf16> into !amx.tile<16x32xbf16>
  return
}
