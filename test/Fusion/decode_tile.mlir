// Tiles of the decode variant have as many keys as K and V of 16384 bytes have, at least 16, where elements have 16 bits; other variants keep theirs.
// RUN: fa-opt %s --tile-online-softmax --tile-to-kernel='machine=sm_90a constraints="splits=1"' | FileCheck %s
// RUN: fa-opt %s --tile-online-softmax --tile-to-kernel='machine=sm_80 constraints="splits=1"' | FileCheck %s --check-prefix=SM80
// RUN: fa-opt %s --tile-online-softmax --tile-to-kernel='constraints="tile=0x64 splits=1"' | FileCheck %s --check-prefix=ALL

// CHECK-LABEL: tile.kernel @d128_decode(
// CHECK: tile.load {{.*}} -> tensor<32x128xf16>
// ALL-LABEL: tile.kernel @d128_decode(
// ALL: tile.load {{.*}} -> tensor<64x128xf16>
// CHECK-LABEL: tile.kernel @d128(
// CHECK: tile.load {{.*}} -> tensor<64x128xf16>
!k128 = tensor<?x?x?x128xf16>
func.func @d128(%q: !k128, %k: !k128, %v: !k128, %scale: f32) -> !k128 {
  %o = tile.attention %q, %k, %v scale %scale : !k128, !k128, !k128 -> !k128 score {} mask {}
  return %o : !k128
}

// SM80-LABEL: tile.kernel @d512_decode(
// SM80: tile.load {{.*}} -> tensor<16x512xf16>
// SM80: tile.dot {{.*}} -> tensor<16x16xf32>
// Where two warpgroups share 64 rows of so many columns, single queries are in their tiles.
// CHECK-NOT: tile.kernel @d512_decode(
// CHECK: tile.kernel @d512_roles_packed(
// CHECK: tile.dot {{.*}} -> tensor<64x32xf32>
!k512 = tensor<?x?x?x512xf16>
func.func @d512(%q: !k512, %k: !k512, %v: !k512, %scale: f32) -> !k512 {
  %o = tile.attention %q, %k, %v scale %scale : !k512, !k512, !k512 -> !k512 score {} mask {}
  return %o : !k512
}

// CHECK-LABEL: tile.kernel @f32_decode(
// CHECK: tile.load {{.*}} -> tensor<64x128xf32>
!k32 = tensor<?x?x?x128xf32>
func.func @f32(%q: !k32, %k: !k32, %v: !k32, %scale: f32) -> !k32 {
  %o = tile.attention %q, %k, %v scale %scale : !k32, !k32, !k32 -> !k32 score {} mask {}
  return %o : !k32
}
