// Layers in bf16 on Hopper: products and attention have specialized warps, through the views between them.
// Rows of a sequence that end within a tile, the last keys in a loop of one iteration, heads in one, two and half of a tile's columns.
// RUN: fa-run %s --entry=rows --in 200x128 --in 128x384 --in 128x128 --check --target=emulator:sm_90a | FileCheck %s --check-prefix=RAN
// RUN: fa-run %s --entry=wide_heads --in 130x256 --in 256x768 --in 256x256 --check --target=emulator:sm_90a | FileCheck %s --check-prefix=RAN
// RUN: fa-run %s --entry=narrow_heads --in 140x96 --in 96x288 --in 96x96 --check --target=emulator:sm_90a | FileCheck %s --check-prefix=RAN
// RUN: fa-run %s --entry=many_rows --in 1100x64 --in 64x192 --in 64x64 --check --target=emulator:sm_90a | FileCheck %s --check-prefix=RAN
// RAN: kernel   @[[NAME:[a-z_]+]]_rest, grid {{.*}}, {{256|384}} threads, 4 stages
// RAN: kernel   @[[NAME]]_attention_roles{{.*}}, {{256|384|512}} threads
// RAN: kernel   @[[NAME]]_rest_0, grid {{.*}}, {{256|384}} threads, 4 stages
// RAN: check {{.*}} PASS{{$}}

// Of many programs tiles are large; of few they are as small as leave no processor idle, and the attention is the one for few.
// RUN: fa-run %s --entry=large --arch=sm_90a --emit=plan | FileCheck %s --check-prefix=LARGE
// LARGE: @large_rest plan<{{.*}}compute*2 w4 r232 rows 64], slots {program 2, step 4}
// LARGE: @large_attention_roles plan<tile 192x128,
// LARGE: @large_rest_0 plan<{{.*}}compute*2 w4 r232 rows 64], slots {program 2, step 4}
// RUN: fa-run %s --entry=large --arch=sm_90a --emit=kernel | FileCheck %s --check-prefix=TILES
// TILES: tile.kernel @large_rest(
// TILES: tile.dot {{.*}} -> tensor<128x256xf32>
// TILES: tile.kernel @large_rest_0(
// TILES: tile.dot {{.*}} -> tensor<128x256xf32>
// The launch for any strides loads them by threads.
// TILES: tile.kernel @large_rest_strided(
// TILES: tile.dot {{.*}} -> tensor<64x64xf32>
// RUN: fa-run %s --entry=few --arch=sm_90a --emit=plan | FileCheck %s --check-prefix=FEW
// FEW: @few_rest plan<{{.*}}compute*2
// FEW: @few_attention_roles_few plan<tile 64x128,
// FEW: @few_rest_0 plan<{{.*}}compute w4 rows 64]
// Nothing of that is there without specialized warps, and on other machines.
// RUN: fa-run %s --entry=large --arch=sm_90a --schedule=plain --emit=plan | FileCheck %s --check-prefix=PLAIN
// RUN: fa-run %s --entry=large --arch=sm_80 --emit=plan | FileCheck %s --check-prefix=PLAIN
// PLAIN-NOT: {{load|roles}}
// PLAIN: @large_rest plan
// PLAIN-NOT: {{load|roles}}

func.func @rows(%x: tensor<200x128xbf16>, %w: tensor<128x384xbf16>, %o: tensor<128x128xbf16>) -> tensor<200x128xbf16> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<200x384xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<200x384xf32>) -> tensor<200x384xf32>
  %p = linalg.matmul ins(%x, %w : tensor<200x128xbf16>, tensor<128x384xbf16>) outs(%f : tensor<200x384xf32>) -> tensor<200x384xf32>
  %pt = arith.truncf %p : tensor<200x384xf32> to tensor<200x384xbf16>
  %t = tensor.expand_shape %pt [[0, 1], [2, 3, 4]] output_shape [2, 100, 3, 2, 64] : tensor<200x384xbf16> into tensor<2x100x3x2x64xbf16>
  %qs = tensor.extract_slice %t[0, 0, 0, 0, 0] [2, 100, 1, 2, 64] [1, 1, 1, 1, 1] : tensor<2x100x3x2x64xbf16> to tensor<2x100x2x64xbf16>
  %qe = tensor.empty() : tensor<2x2x100x64xbf16>
  %q = linalg.transpose ins(%qs : tensor<2x100x2x64xbf16>) outs(%qe : tensor<2x2x100x64xbf16>) permutation = [0, 2, 1, 3]
  %ks = tensor.extract_slice %t[0, 0, 1, 0, 0] [2, 100, 1, 2, 64] [1, 1, 1, 1, 1] : tensor<2x100x3x2x64xbf16> to tensor<2x100x2x64xbf16>
  %ke = tensor.empty() : tensor<2x2x100x64xbf16>
  %k = linalg.transpose ins(%ks : tensor<2x100x2x64xbf16>) outs(%ke : tensor<2x2x100x64xbf16>) permutation = [0, 2, 1, 3]
  %vs = tensor.extract_slice %t[0, 0, 2, 0, 0] [2, 100, 1, 2, 64] [1, 1, 1, 1, 1] : tensor<2x100x3x2x64xbf16> to tensor<2x100x2x64xbf16>
  %ve = tensor.empty() : tensor<2x2x100x64xbf16>
  %v = linalg.transpose ins(%vs : tensor<2x100x2x64xbf16>) outs(%ve : tensor<2x2x100x64xbf16>) permutation = [0, 2, 1, 3]
  %scale = arith.constant 0.001 : f32
  %a = tile.attention %q, %k, %v scale %scale : tensor<2x2x100x64xbf16>, tensor<2x2x100x64xbf16>, tensor<2x2x100x64xbf16> -> tensor<2x2x100x64xbf16> score {} mask {}
  %re = tensor.empty() : tensor<2x100x2x64xbf16>
  %r = linalg.transpose ins(%a : tensor<2x2x100x64xbf16>) outs(%re : tensor<2x100x2x64xbf16>) permutation = [0, 2, 1, 3]
  %c = tensor.collapse_shape %r [[0, 1], [2, 3]] : tensor<2x100x2x64xbf16> into tensor<200x128xbf16>
  %e2 = tensor.empty() : tensor<200x128xf32>
  %f2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<200x128xf32>) -> tensor<200x128xf32>
  %p2 = linalg.matmul ins(%c, %o : tensor<200x128xbf16>, tensor<128x128xbf16>) outs(%f2 : tensor<200x128xf32>) -> tensor<200x128xf32>
  %y = arith.truncf %p2 : tensor<200x128xf32> to tensor<200x128xbf16>
  return %y : tensor<200x128xbf16>
}

func.func @wide_heads(%x: tensor<130x256xbf16>, %w: tensor<256x768xbf16>, %o: tensor<256x256xbf16>) -> tensor<130x256xbf16> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<130x768xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<130x768xf32>) -> tensor<130x768xf32>
  %p = linalg.matmul ins(%x, %w : tensor<130x256xbf16>, tensor<256x768xbf16>) outs(%f : tensor<130x768xf32>) -> tensor<130x768xf32>
  %pt = arith.truncf %p : tensor<130x768xf32> to tensor<130x768xbf16>
  %t = tensor.expand_shape %pt [[0, 1], [2, 3, 4]] output_shape [1, 130, 3, 2, 128] : tensor<130x768xbf16> into tensor<1x130x3x2x128xbf16>
  %qs = tensor.extract_slice %t[0, 0, 0, 0, 0] [1, 130, 1, 2, 128] [1, 1, 1, 1, 1] : tensor<1x130x3x2x128xbf16> to tensor<1x130x2x128xbf16>
  %qe = tensor.empty() : tensor<1x2x130x128xbf16>
  %q = linalg.transpose ins(%qs : tensor<1x130x2x128xbf16>) outs(%qe : tensor<1x2x130x128xbf16>) permutation = [0, 2, 1, 3]
  %ks = tensor.extract_slice %t[0, 0, 1, 0, 0] [1, 130, 1, 2, 128] [1, 1, 1, 1, 1] : tensor<1x130x3x2x128xbf16> to tensor<1x130x2x128xbf16>
  %ke = tensor.empty() : tensor<1x2x130x128xbf16>
  %k = linalg.transpose ins(%ks : tensor<1x130x2x128xbf16>) outs(%ke : tensor<1x2x130x128xbf16>) permutation = [0, 2, 1, 3]
  %vs = tensor.extract_slice %t[0, 0, 2, 0, 0] [1, 130, 1, 2, 128] [1, 1, 1, 1, 1] : tensor<1x130x3x2x128xbf16> to tensor<1x130x2x128xbf16>
  %ve = tensor.empty() : tensor<1x2x130x128xbf16>
  %v = linalg.transpose ins(%vs : tensor<1x130x2x128xbf16>) outs(%ve : tensor<1x2x130x128xbf16>) permutation = [0, 2, 1, 3]
  %scale = arith.constant 0.001 : f32
  %a = tile.attention %q, %k, %v scale %scale : tensor<1x2x130x128xbf16>, tensor<1x2x130x128xbf16>, tensor<1x2x130x128xbf16> -> tensor<1x2x130x128xbf16> score {} mask {}
  %re = tensor.empty() : tensor<1x130x2x128xbf16>
  %r = linalg.transpose ins(%a : tensor<1x2x130x128xbf16>) outs(%re : tensor<1x130x2x128xbf16>) permutation = [0, 2, 1, 3]
  %c = tensor.collapse_shape %r [[0, 1], [2, 3]] : tensor<1x130x2x128xbf16> into tensor<130x256xbf16>
  %e2 = tensor.empty() : tensor<130x256xf32>
  %f2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<130x256xf32>) -> tensor<130x256xf32>
  %p2 = linalg.matmul ins(%c, %o : tensor<130x256xbf16>, tensor<256x256xbf16>) outs(%f2 : tensor<130x256xf32>) -> tensor<130x256xf32>
  %y = arith.truncf %p2 : tensor<130x256xf32> to tensor<130x256xbf16>
  return %y : tensor<130x256xbf16>
}

func.func @narrow_heads(%x: tensor<140x96xbf16>, %w: tensor<96x288xbf16>, %o: tensor<96x96xbf16>) -> tensor<140x96xbf16> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<140x288xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<140x288xf32>) -> tensor<140x288xf32>
  %p = linalg.matmul ins(%x, %w : tensor<140x96xbf16>, tensor<96x288xbf16>) outs(%f : tensor<140x288xf32>) -> tensor<140x288xf32>
  %pt = arith.truncf %p : tensor<140x288xf32> to tensor<140x288xbf16>
  %t = tensor.expand_shape %pt [[0, 1], [2, 3, 4]] output_shape [2, 70, 3, 3, 32] : tensor<140x288xbf16> into tensor<2x70x3x3x32xbf16>
  %qs = tensor.extract_slice %t[0, 0, 0, 0, 0] [2, 70, 1, 3, 32] [1, 1, 1, 1, 1] : tensor<2x70x3x3x32xbf16> to tensor<2x70x3x32xbf16>
  %qe = tensor.empty() : tensor<2x3x70x32xbf16>
  %q = linalg.transpose ins(%qs : tensor<2x70x3x32xbf16>) outs(%qe : tensor<2x3x70x32xbf16>) permutation = [0, 2, 1, 3]
  %ks = tensor.extract_slice %t[0, 0, 1, 0, 0] [2, 70, 1, 3, 32] [1, 1, 1, 1, 1] : tensor<2x70x3x3x32xbf16> to tensor<2x70x3x32xbf16>
  %ke = tensor.empty() : tensor<2x3x70x32xbf16>
  %k = linalg.transpose ins(%ks : tensor<2x70x3x32xbf16>) outs(%ke : tensor<2x3x70x32xbf16>) permutation = [0, 2, 1, 3]
  %vs = tensor.extract_slice %t[0, 0, 2, 0, 0] [2, 70, 1, 3, 32] [1, 1, 1, 1, 1] : tensor<2x70x3x3x32xbf16> to tensor<2x70x3x32xbf16>
  %ve = tensor.empty() : tensor<2x3x70x32xbf16>
  %v = linalg.transpose ins(%vs : tensor<2x70x3x32xbf16>) outs(%ve : tensor<2x3x70x32xbf16>) permutation = [0, 2, 1, 3]
  %scale = arith.constant 0.001 : f32
  %a = tile.attention %q, %k, %v scale %scale : tensor<2x3x70x32xbf16>, tensor<2x3x70x32xbf16>, tensor<2x3x70x32xbf16> -> tensor<2x3x70x32xbf16> score {} mask {}
  %re = tensor.empty() : tensor<2x70x3x32xbf16>
  %r = linalg.transpose ins(%a : tensor<2x3x70x32xbf16>) outs(%re : tensor<2x70x3x32xbf16>) permutation = [0, 2, 1, 3]
  %c = tensor.collapse_shape %r [[0, 1], [2, 3]] : tensor<2x70x3x32xbf16> into tensor<140x96xbf16>
  %e2 = tensor.empty() : tensor<140x96xf32>
  %f2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<140x96xf32>) -> tensor<140x96xf32>
  %p2 = linalg.matmul ins(%c, %o : tensor<140x96xbf16>, tensor<96x96xbf16>) outs(%f2 : tensor<140x96xf32>) -> tensor<140x96xf32>
  %y = arith.truncf %p2 : tensor<140x96xf32> to tensor<140x96xbf16>
  return %y : tensor<140x96xbf16>
}

func.func @many_rows(%x: tensor<1100x64xbf16>, %w: tensor<64x192xbf16>, %o: tensor<64x64xbf16>) -> tensor<1100x64xbf16> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1100x192xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<1100x192xf32>) -> tensor<1100x192xf32>
  %p = linalg.matmul ins(%x, %w : tensor<1100x64xbf16>, tensor<64x192xbf16>) outs(%f : tensor<1100x192xf32>) -> tensor<1100x192xf32>
  %pt = arith.truncf %p : tensor<1100x192xf32> to tensor<1100x192xbf16>
  %t = tensor.expand_shape %pt [[0, 1], [2, 3, 4]] output_shape [1, 1100, 3, 1, 64] : tensor<1100x192xbf16> into tensor<1x1100x3x1x64xbf16>
  %qs = tensor.extract_slice %t[0, 0, 0, 0, 0] [1, 1100, 1, 1, 64] [1, 1, 1, 1, 1] : tensor<1x1100x3x1x64xbf16> to tensor<1x1100x1x64xbf16>
  %qe = tensor.empty() : tensor<1x1x1100x64xbf16>
  %q = linalg.transpose ins(%qs : tensor<1x1100x1x64xbf16>) outs(%qe : tensor<1x1x1100x64xbf16>) permutation = [0, 2, 1, 3]
  %ks = tensor.extract_slice %t[0, 0, 1, 0, 0] [1, 1100, 1, 1, 64] [1, 1, 1, 1, 1] : tensor<1x1100x3x1x64xbf16> to tensor<1x1100x1x64xbf16>
  %ke = tensor.empty() : tensor<1x1x1100x64xbf16>
  %k = linalg.transpose ins(%ks : tensor<1x1100x1x64xbf16>) outs(%ke : tensor<1x1x1100x64xbf16>) permutation = [0, 2, 1, 3]
  %vs = tensor.extract_slice %t[0, 0, 2, 0, 0] [1, 1100, 1, 1, 64] [1, 1, 1, 1, 1] : tensor<1x1100x3x1x64xbf16> to tensor<1x1100x1x64xbf16>
  %ve = tensor.empty() : tensor<1x1x1100x64xbf16>
  %v = linalg.transpose ins(%vs : tensor<1x1100x1x64xbf16>) outs(%ve : tensor<1x1x1100x64xbf16>) permutation = [0, 2, 1, 3]
  %scale = arith.constant 0.001 : f32
  %a = tile.attention %q, %k, %v scale %scale : tensor<1x1x1100x64xbf16>, tensor<1x1x1100x64xbf16>, tensor<1x1x1100x64xbf16> -> tensor<1x1x1100x64xbf16> score {} mask {}
  %re = tensor.empty() : tensor<1x1100x1x64xbf16>
  %r = linalg.transpose ins(%a : tensor<1x1x1100x64xbf16>) outs(%re : tensor<1x1100x1x64xbf16>) permutation = [0, 2, 1, 3]
  %c = tensor.collapse_shape %r [[0, 1], [2, 3]] : tensor<1x1100x1x64xbf16> into tensor<1100x64xbf16>
  %e2 = tensor.empty() : tensor<1100x64xf32>
  %f2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<1100x64xf32>) -> tensor<1100x64xf32>
  %p2 = linalg.matmul ins(%c, %o : tensor<1100x64xbf16>, tensor<64x64xbf16>) outs(%f2 : tensor<1100x64xf32>) -> tensor<1100x64xf32>
  %y = arith.truncf %p2 : tensor<1100x64xf32> to tensor<1100x64xbf16>
  return %y : tensor<1100x64xbf16>
}

func.func @large(%x: tensor<8192x1024xbf16>, %w: tensor<1024x3072xbf16>, %o: tensor<1024x1024xbf16>) -> tensor<8192x1024xbf16> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8192x3072xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8192x3072xf32>) -> tensor<8192x3072xf32>
  %p = linalg.matmul ins(%x, %w : tensor<8192x1024xbf16>, tensor<1024x3072xbf16>) outs(%f : tensor<8192x3072xf32>) -> tensor<8192x3072xf32>
  %pt = arith.truncf %p : tensor<8192x3072xf32> to tensor<8192x3072xbf16>
  %t = tensor.expand_shape %pt [[0, 1], [2, 3, 4]] output_shape [8, 1024, 3, 16, 64] : tensor<8192x3072xbf16> into tensor<8x1024x3x16x64xbf16>
  %qs = tensor.extract_slice %t[0, 0, 0, 0, 0] [8, 1024, 1, 16, 64] [1, 1, 1, 1, 1] : tensor<8x1024x3x16x64xbf16> to tensor<8x1024x16x64xbf16>
  %qe = tensor.empty() : tensor<8x16x1024x64xbf16>
  %q = linalg.transpose ins(%qs : tensor<8x1024x16x64xbf16>) outs(%qe : tensor<8x16x1024x64xbf16>) permutation = [0, 2, 1, 3]
  %ks = tensor.extract_slice %t[0, 0, 1, 0, 0] [8, 1024, 1, 16, 64] [1, 1, 1, 1, 1] : tensor<8x1024x3x16x64xbf16> to tensor<8x1024x16x64xbf16>
  %ke = tensor.empty() : tensor<8x16x1024x64xbf16>
  %k = linalg.transpose ins(%ks : tensor<8x1024x16x64xbf16>) outs(%ke : tensor<8x16x1024x64xbf16>) permutation = [0, 2, 1, 3]
  %vs = tensor.extract_slice %t[0, 0, 2, 0, 0] [8, 1024, 1, 16, 64] [1, 1, 1, 1, 1] : tensor<8x1024x3x16x64xbf16> to tensor<8x1024x16x64xbf16>
  %ve = tensor.empty() : tensor<8x16x1024x64xbf16>
  %v = linalg.transpose ins(%vs : tensor<8x1024x16x64xbf16>) outs(%ve : tensor<8x16x1024x64xbf16>) permutation = [0, 2, 1, 3]
  %scale = arith.constant 0.001 : f32
  %a = tile.attention %q, %k, %v scale %scale : tensor<8x16x1024x64xbf16>, tensor<8x16x1024x64xbf16>, tensor<8x16x1024x64xbf16> -> tensor<8x16x1024x64xbf16> score {} mask {}
  %re = tensor.empty() : tensor<8x1024x16x64xbf16>
  %r = linalg.transpose ins(%a : tensor<8x16x1024x64xbf16>) outs(%re : tensor<8x1024x16x64xbf16>) permutation = [0, 2, 1, 3]
  %c = tensor.collapse_shape %r [[0, 1], [2, 3]] : tensor<8x1024x16x64xbf16> into tensor<8192x1024xbf16>
  %e2 = tensor.empty() : tensor<8192x1024xf32>
  %f2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<8192x1024xf32>) -> tensor<8192x1024xf32>
  %p2 = linalg.matmul ins(%c, %o : tensor<8192x1024xbf16>, tensor<1024x1024xbf16>) outs(%f2 : tensor<8192x1024xf32>) -> tensor<8192x1024xf32>
  %y = arith.truncf %p2 : tensor<8192x1024xf32> to tensor<8192x1024xbf16>
  return %y : tensor<8192x1024xbf16>
}

func.func @few(%x: tensor<512x1024xbf16>, %w: tensor<1024x3072xbf16>, %o: tensor<1024x1024xbf16>) -> tensor<512x1024xbf16> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<512x3072xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<512x3072xf32>) -> tensor<512x3072xf32>
  %p = linalg.matmul ins(%x, %w : tensor<512x1024xbf16>, tensor<1024x3072xbf16>) outs(%f : tensor<512x3072xf32>) -> tensor<512x3072xf32>
  %pt = arith.truncf %p : tensor<512x3072xf32> to tensor<512x3072xbf16>
  %t = tensor.expand_shape %pt [[0, 1], [2, 3, 4]] output_shape [1, 512, 3, 16, 64] : tensor<512x3072xbf16> into tensor<1x512x3x16x64xbf16>
  %qs = tensor.extract_slice %t[0, 0, 0, 0, 0] [1, 512, 1, 16, 64] [1, 1, 1, 1, 1] : tensor<1x512x3x16x64xbf16> to tensor<1x512x16x64xbf16>
  %qe = tensor.empty() : tensor<1x16x512x64xbf16>
  %q = linalg.transpose ins(%qs : tensor<1x512x16x64xbf16>) outs(%qe : tensor<1x16x512x64xbf16>) permutation = [0, 2, 1, 3]
  %ks = tensor.extract_slice %t[0, 0, 1, 0, 0] [1, 512, 1, 16, 64] [1, 1, 1, 1, 1] : tensor<1x512x3x16x64xbf16> to tensor<1x512x16x64xbf16>
  %ke = tensor.empty() : tensor<1x16x512x64xbf16>
  %k = linalg.transpose ins(%ks : tensor<1x512x16x64xbf16>) outs(%ke : tensor<1x16x512x64xbf16>) permutation = [0, 2, 1, 3]
  %vs = tensor.extract_slice %t[0, 0, 2, 0, 0] [1, 512, 1, 16, 64] [1, 1, 1, 1, 1] : tensor<1x512x3x16x64xbf16> to tensor<1x512x16x64xbf16>
  %ve = tensor.empty() : tensor<1x16x512x64xbf16>
  %v = linalg.transpose ins(%vs : tensor<1x512x16x64xbf16>) outs(%ve : tensor<1x16x512x64xbf16>) permutation = [0, 2, 1, 3]
  %scale = arith.constant 0.001 : f32
  %a = tile.attention %q, %k, %v scale %scale : tensor<1x16x512x64xbf16>, tensor<1x16x512x64xbf16>, tensor<1x16x512x64xbf16> -> tensor<1x16x512x64xbf16> score {} mask {}
  %re = tensor.empty() : tensor<1x512x16x64xbf16>
  %r = linalg.transpose ins(%a : tensor<1x16x512x64xbf16>) outs(%re : tensor<1x512x16x64xbf16>) permutation = [0, 2, 1, 3]
  %c = tensor.collapse_shape %r [[0, 1], [2, 3]] : tensor<1x512x16x64xbf16> into tensor<512x1024xbf16>
  %e2 = tensor.empty() : tensor<512x1024xf32>
  %f2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<512x1024xf32>) -> tensor<512x1024xf32>
  %p2 = linalg.matmul ins(%c, %o : tensor<512x1024xbf16>, tensor<1024x1024xbf16>) outs(%f2 : tensor<512x1024xf32>) -> tensor<512x1024xf32>
  %y = arith.truncf %p2 : tensor<512x1024xf32> to tensor<512x1024xbf16>
  return %y : tensor<512x1024xbf16>
}
