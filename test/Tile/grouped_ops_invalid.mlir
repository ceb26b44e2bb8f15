// RUN: fa-opt %s --split-input-file --verify-diagnostics

func.func @rank(%q: memref<?x8x?x128xbf16>) {
  // expected-error @below {{expects heads of rank 2 or 3, found 'memref<?x8x?x128xbf16>'}}
  %0 = tile.grouped_view %q : memref<?x8x?x128xbf16> -> memref<?x128xbf16>
  return
}
// -----
func.func @strides(%q: memref<8x?x128xbf16>) {
  // expected-error @below {{expects a view of type 'memref<?x128xbf16, affine_map<(d0, d1)[s0] -> (d0 mod s0, d0 floordiv s0, d1)>>', found 'memref<?x128xbf16>'}}
  %0 = tile.grouped_view %q block 64 : memref<8x?x128xbf16> -> memref<?x128xbf16>
  return
}
// -----
func.func @block(%q: memref<8x?xf32>) {
  // expected-error @below {{attribute 'block' failed to satisfy constraint: 64-bit signless integer attribute whose value is positive}}
  %0 = tile.grouped_view %q block 0 : memref<8x?xf32> -> memref<?xf32, affine_map<(d0)[s0] -> (d0 mod s0, d0 floordiv s0)>>
  return
}
