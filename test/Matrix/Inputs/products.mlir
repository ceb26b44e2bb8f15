// x times y with all other products of the sum 0: x as the left operand, as the
// right one in rows, and as the right one in columns.
tile.kernel @left(%x: memref<65536x32xf16> {tile.access = #tile.access<in>},
                  %y: memref<128x32xf16> {tile.access = #tile.access<in>},
                  %s: memref<65536x128xf32> {tile.access = #tile.access<out>})
    attributes {grid = affine_map<() -> (512)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %id = tile.program_id 0
  %row = arith.muli %id, %c128 : index
  %a = tile.load %x[%row, %c0] in_bounds : memref<65536x32xf16> -> tensor<128x32xf16>
  %b = tile.load %y[%c0, %c0] in_bounds : memref<128x32xf16> -> tensor<128x32xf16>
  %r = tile.dot %a, %b transpose_b : tensor<128x32xf16>, tensor<128x32xf16> -> tensor<128x128xf32>
  tile.store %r, %s[%row, %c0] : tensor<128x128xf32>, memref<65536x128xf32>
  tile.return
}

tile.kernel @rows(%x: memref<65536x32xf16> {tile.access = #tile.access<in>},
                  %y: memref<128x32xf16> {tile.access = #tile.access<in>},
                  %s: memref<128x65536xf32> {tile.access = #tile.access<out>})
    attributes {grid = affine_map<() -> (512)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %id = tile.program_id 0
  %row = arith.muli %id, %c128 : index
  %a = tile.load %y[%c0, %c0] in_bounds : memref<128x32xf16> -> tensor<128x32xf16>
  %b = tile.load %x[%row, %c0] in_bounds : memref<65536x32xf16> -> tensor<128x32xf16>
  %r = tile.dot %a, %b transpose_b : tensor<128x32xf16>, tensor<128x32xf16> -> tensor<128x128xf32>
  tile.store %r, %s[%c0, %row] : tensor<128x128xf32>, memref<128x65536xf32>
  tile.return
}

tile.kernel @columns(%x: memref<32x65536xf16> {tile.access = #tile.access<in>},
                     %y: memref<128x32xf16> {tile.access = #tile.access<in>},
                     %s: memref<128x65536xf32> {tile.access = #tile.access<out>})
    attributes {grid = affine_map<() -> (512)>, grid_sizes = array<i64>} {
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %id = tile.program_id 0
  %col = arith.muli %id, %c128 : index
  %a = tile.load %y[%c0, %c0] in_bounds : memref<128x32xf16> -> tensor<128x32xf16>
  %b = tile.load %x[%c0, %col] in_bounds : memref<32x65536xf16> -> tensor<32x128xf16>
  %r = tile.dot %a, %b : tensor<128x32xf16>, tensor<32x128xf16> -> tensor<128x128xf32>
  tile.store %r, %s[%c0, %col] : tensor<128x128xf32>, memref<128x65536xf32>
  tile.return
}
