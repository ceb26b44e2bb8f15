// x times y with all other products of the sum 0: x as the left operand, as the
// right one in rows, and as the right one in columns.
tile.kernel @left(%x: memref<65536x32xf16> {tile.access = #tile.access<in>},
                  %y: memref<64x32xf16> {tile.access = #tile.access<in>},
                  %s: memref<65536x64xf32> {tile.access = #tile.access<out>})
    attributes {grid = affine_map<() -> (1024)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %id = tile.program_id 0
  %row = arith.muli %id, %c64 : index
  %a = tile.load %x[%row, %c0] in_bounds : memref<65536x32xf16> -> tensor<64x32xf16>
  %b = tile.load %y[%c0, %c0] in_bounds : memref<64x32xf16> -> tensor<64x32xf16>
  %r = tile.dot %a, %b transpose_b : tensor<64x32xf16>, tensor<64x32xf16> -> tensor<64x64xf32>
  tile.store %r, %s[%row, %c0] : tensor<64x64xf32>, memref<65536x64xf32>
  tile.return
}

tile.kernel @rows(%x: memref<65536x32xf16> {tile.access = #tile.access<in>},
                  %y: memref<64x32xf16> {tile.access = #tile.access<in>},
                  %s: memref<64x65536xf32> {tile.access = #tile.access<out>})
    attributes {grid = affine_map<() -> (1024)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %id = tile.program_id 0
  %row = arith.muli %id, %c64 : index
  %a = tile.load %y[%c0, %c0] in_bounds : memref<64x32xf16> -> tensor<64x32xf16>
  %b = tile.load %x[%row, %c0] in_bounds : memref<65536x32xf16> -> tensor<64x32xf16>
  %r = tile.dot %a, %b transpose_b : tensor<64x32xf16>, tensor<64x32xf16> -> tensor<64x64xf32>
  tile.store %r, %s[%c0, %row] : tensor<64x64xf32>, memref<64x65536xf32>
  tile.return
}

tile.kernel @columns(%x: memref<32x65536xf16> {tile.access = #tile.access<in>},
                     %y: memref<64x32xf16> {tile.access = #tile.access<in>},
                     %s: memref<64x65536xf32> {tile.access = #tile.access<out>})
    attributes {grid = affine_map<() -> (1024)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %id = tile.program_id 0
  %col = arith.muli %id, %c64 : index
  %a = tile.load %y[%c0, %c0] in_bounds : memref<64x32xf16> -> tensor<64x32xf16>
  %b = tile.load %x[%c0, %col] in_bounds : memref<32x65536xf16> -> tensor<32x64xf16>
  %r = tile.dot %a, %b : tensor<64x32xf16>, tensor<32x64xf16> -> tensor<64x64xf32>
  tile.store %r, %s[%c0, %col] : tensor<64x64xf32>, memref<64x65536xf32>
  tile.return
}
