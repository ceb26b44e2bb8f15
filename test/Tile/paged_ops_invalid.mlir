// RUN: fa-opt %s --split-input-file --verify-diagnostics

func.func @lengths(%pages: tensor<9x8x16x128xbf16>, %table: tensor<3x4xi32>, %lengths: tensor<4xi32>) {
  // expected-error @+1 {{expects a length for each of the 3 rows of the table, found 'tensor<4xi32>'}}
  %0 = tile.paged %pages through %table limit %lengths : tensor<9x8x16x128xbf16>, tensor<3x4xi32>, tensor<4xi32> -> tensor<3x8x64x128xbf16>
  return
}

// -----

func.func @keys(%pages: tensor<9x8x16x128xbf16>, %table: tensor<3x4xi32>, %lengths: tensor<3xi32>) {
  // expected-error @+1 {{expects a result of type 'tensor<3x8x64x128xbf16>', found 'tensor<3x8x16x128xbf16>'}}
  %0 = tile.paged %pages through %table limit %lengths : tensor<9x8x16x128xbf16>, tensor<3x4xi32>, tensor<3xi32> -> tensor<3x8x16x128xbf16>
  return
}

// -----

func.func @table_elements(%pages: tensor<9x8x16x128xbf16>, %table: tensor<3x4xi64>, %lengths: tensor<3xi32>) {
  // expected-error @+1 {{operand #1 must be 2D tensor of 32-bit signless integer values}}
  %0 = tile.paged %pages through %table limit %lengths : tensor<9x8x16x128xbf16>, tensor<3x4xi64>, tensor<3xi32> -> tensor<3x8x64x128xbf16>
  return
}

// -----

tile.kernel @pages(%pages: memref<?x?x128xbf16> {tile.access = #tile.access<in>}, %table: memref<?x?xi32> {tile.access = #tile.access<in>}, %i: index) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  // expected-error @+1 {{expects pages of rank 4, found 'memref<?x?x128xbf16>'}}
  %0 = tile.paged_view %pages[%i] through %table[%i] limit %i : memref<?x?x128xbf16>, memref<?x?xi32> -> memref<?x128xbf16>
  tile.return
}

// -----

tile.kernel @table(%pages: memref<?x8x?x128xbf16> {tile.access = #tile.access<in>}, %table: memref<?xi32> {tile.access = #tile.access<in>}, %i: index) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  // expected-error @+1 {{expects a table of i32 of rank 2, found 'memref<?xi32>'}}
  %0 = tile.paged_view %pages[%i] through %table[%i] limit %i : memref<?x8x?x128xbf16>, memref<?xi32> -> memref<?x128xbf16>
  tile.return
}

// -----

tile.kernel @view(%pages: memref<?x8x?x128xbf16> {tile.access = #tile.access<in>}, %table: memref<?x?xi32> {tile.access = #tile.access<in>}, %i: index) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  // expected-error @+1 {{expects a view of type 'memref<?x128xbf16, affine_map<(d0, d1)[s0] -> (d0 floordiv s0, d0 mod s0, d1)>>', found 'memref<?x128xbf16>'}}
  %0 = tile.paged_view %pages[%i] through %table[%i] limit %i : memref<?x8x?x128xbf16>, memref<?x?xi32> -> memref<?x128xbf16>
  tile.return
}

// -----

tile.kernel @slot_pages(%pages: memref<?x?x128xbf16> {tile.access = #tile.access<inout>}, %i: index) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  // expected-error @+1 {{expects pages of rank 4, found 'memref<?x?x128xbf16>'}}
  %0 = tile.slot_view %pages at %i : memref<?x?x128xbf16> -> memref<?x128xbf16>
  tile.return
}

// -----

tile.kernel @slot_type(%pages: memref<?x?x?x128xbf16> {tile.access = #tile.access<inout>}, %i: index) attributes {grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  // expected-error @+1 {{expects a view of type 'memref<?x128xbf16, strided<[?, 1], offset: ?>>', found 'memref<?x128xbf16>'}}
  %0 = tile.slot_view %pages at %i : memref<?x?x?x128xbf16> -> memref<?x128xbf16>
  tile.return
}
