// A head dimension of which no tile fits into a block's shared memory is refused
// before anything is made of it; the largest that fits is not.
// RUN: not fa-opt %s --tile-online-softmax --tile-to-kernel='machine=sm_80 shared-bytes=196607' 2>&1 | FileCheck %s --check-prefix=WIDE
// RUN: fa-opt %s --tile-online-softmax --tile-to-kernel='machine=sm_80 shared-bytes=196608' | FileCheck %s --check-prefix=FITS
// Where left operands take none, there is room for more.
// RUN: fa-opt %s --tile-online-softmax --tile-to-kernel='machine=gfx942 shared-bytes=131072' | FileCheck %s --check-prefix=FITS
// RUN: not fa-run --attention "d=10000 type=f16" --arch=sm_80 --emit=report 2>&1 | FileCheck %s --check-prefix=CARD
// WIDE: error: expected head dimensions of which a tile of 16 queries and 16 keys fits into 196607 bytes of shared memory, found 2048 and 2048, which take 196608
// FITS: tile.kernel @attention(
// CARD: found 10000 and 10000, which take 960000

!rows = tensor<?x?x?x2048xf16>

func.func @attention(%q: !rows, %k: !rows, %v: !rows, %scale: f32) -> !rows {
  %o = tile.attention %q, %k, %v scale %scale : !rows, !rows, !rows -> !rows score {} mask {}
  return %o : !rows
}
