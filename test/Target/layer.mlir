// A layer on Hopper as ptxas compiles it: sizes are known, and loops of two tiles of keys, which are not to be unrolled, leave three consumers their
// registers; a last tile that is cut has two.
// RUN: fa-run %s --entry=two_tiles --arch=sm_90a --emit=report | FileCheck %s --check-prefixes=CHECK,THREE
// RUN: fa-run %s --entry=cut_tile --arch=sm_90a --emit=report | FileCheck %s --check-prefixes=CHECK,TWO
// CHECK: kernel @{{.*}}_rest entry {{.*}} threads 384 stages 4 {{.*}} spills 0 bytes
// THREE: kernel @two_tiles_attention_roles entry {{.*}} tile 192x128 threads 512 {{.*}} spills 0 bytes
// TWO: kernel @cut_tile_attention_roles entry {{.*}} tile 128x128 threads 384 {{.*}} spills 0 bytes
// CHECK: kernel @{{.*}}_rest_0 entry {{.*}} spills 0 bytes
func.func @two_tiles(%x: tensor<8192x512xbf16>, %w: tensor<512x1536xbf16>, %o: tensor<512x512xbf16>) -> tensor<8192x512xbf16> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8192x1536xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8192x1536xf32>) -> tensor<8192x1536xf32>
  %p = linalg.matmul ins(%x, %w : tensor<8192x512xbf16>, tensor<512x1536xbf16>) outs(%f : tensor<8192x1536xf32>) -> tensor<8192x1536xf32>
  %pt = arith.truncf %p : tensor<8192x1536xf32> to tensor<8192x1536xbf16>
  %t = tensor.expand_shape %pt [[0, 1], [2, 3, 4]] output_shape [32, 256, 3, 8, 64] : tensor<8192x1536xbf16> into tensor<32x256x3x8x64xbf16>
  %qs = tensor.extract_slice %t[0, 0, 0, 0, 0] [32, 256, 1, 8, 64] [1, 1, 1, 1, 1] : tensor<32x256x3x8x64xbf16> to tensor<32x256x8x64xbf16>
  %qe = tensor.empty() : tensor<32x8x256x64xbf16>
  %q = linalg.transpose ins(%qs : tensor<32x256x8x64xbf16>) outs(%qe : tensor<32x8x256x64xbf16>) permutation = [0, 2, 1, 3]
  %ks = tensor.extract_slice %t[0, 0, 1, 0, 0] [32, 256, 1, 8, 64] [1, 1, 1, 1, 1] : tensor<32x256x3x8x64xbf16> to tensor<32x256x8x64xbf16>
  %ke = tensor.empty() : tensor<32x8x256x64xbf16>
  %k = linalg.transpose ins(%ks : tensor<32x256x8x64xbf16>) outs(%ke : tensor<32x8x256x64xbf16>) permutation = [0, 2, 1, 3]
  %vs = tensor.extract_slice %t[0, 0, 2, 0, 0] [32, 256, 1, 8, 64] [1, 1, 1, 1, 1] : tensor<32x256x3x8x64xbf16> to tensor<32x256x8x64xbf16>
  %ve = tensor.empty() : tensor<32x8x256x64xbf16>
  %v = linalg.transpose ins(%vs : tensor<32x256x8x64xbf16>) outs(%ve : tensor<32x8x256x64xbf16>) permutation = [0, 2, 1, 3]
  %scale = arith.constant 0.125 : f32
  %a = tile.attention %q, %k, %v scale %scale : tensor<32x8x256x64xbf16>, tensor<32x8x256x64xbf16>, tensor<32x8x256x64xbf16> -> tensor<32x8x256x64xbf16> score {} mask {}
  %re = tensor.empty() : tensor<32x256x8x64xbf16>
  %r = linalg.transpose ins(%a : tensor<32x8x256x64xbf16>) outs(%re : tensor<32x256x8x64xbf16>) permutation = [0, 2, 1, 3]
  %c = tensor.collapse_shape %r [[0, 1], [2, 3]] : tensor<32x256x8x64xbf16> into tensor<8192x512xbf16>
  %e2 = tensor.empty() : tensor<8192x512xf32>
  %f2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<8192x512xf32>) -> tensor<8192x512xf32>
  %p2 = linalg.matmul ins(%c, %o : tensor<8192x512xbf16>, tensor<512x512xbf16>) outs(%f2 : tensor<8192x512xf32>) -> tensor<8192x512xf32>
  %y = arith.truncf %p2 : tensor<8192x512xf32> to tensor<8192x512xbf16>
  return %y : tensor<8192x512xbf16>
}
func.func @cut_tile(%x: tensor<6304x512xbf16>, %w: tensor<512x1536xbf16>, %o: tensor<512x512xbf16>) -> tensor<6304x512xbf16> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<6304x1536xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<6304x1536xf32>) -> tensor<6304x1536xf32>
  %p = linalg.matmul ins(%x, %w : tensor<6304x512xbf16>, tensor<512x1536xbf16>) outs(%f : tensor<6304x1536xf32>) -> tensor<6304x1536xf32>
  %pt = arith.truncf %p : tensor<6304x1536xf32> to tensor<6304x1536xbf16>
  %t = tensor.expand_shape %pt [[0, 1], [2, 3, 4]] output_shape [32, 197, 3, 8, 64] : tensor<6304x1536xbf16> into tensor<32x197x3x8x64xbf16>
  %qs = tensor.extract_slice %t[0, 0, 0, 0, 0] [32, 197, 1, 8, 64] [1, 1, 1, 1, 1] : tensor<32x197x3x8x64xbf16> to tensor<32x197x8x64xbf16>
  %qe = tensor.empty() : tensor<32x8x197x64xbf16>
  %q = linalg.transpose ins(%qs : tensor<32x197x8x64xbf16>) outs(%qe : tensor<32x8x197x64xbf16>) permutation = [0, 2, 1, 3]
  %ks = tensor.extract_slice %t[0, 0, 1, 0, 0] [32, 197, 1, 8, 64] [1, 1, 1, 1, 1] : tensor<32x197x3x8x64xbf16> to tensor<32x197x8x64xbf16>
  %ke = tensor.empty() : tensor<32x8x197x64xbf16>
  %k = linalg.transpose ins(%ks : tensor<32x197x8x64xbf16>) outs(%ke : tensor<32x8x197x64xbf16>) permutation = [0, 2, 1, 3]
  %vs = tensor.extract_slice %t[0, 0, 2, 0, 0] [32, 197, 1, 8, 64] [1, 1, 1, 1, 1] : tensor<32x197x3x8x64xbf16> to tensor<32x197x8x64xbf16>
  %ve = tensor.empty() : tensor<32x8x197x64xbf16>
  %v = linalg.transpose ins(%vs : tensor<32x197x8x64xbf16>) outs(%ve : tensor<32x8x197x64xbf16>) permutation = [0, 2, 1, 3]
  %scale = arith.constant 0.125 : f32
  %a = tile.attention %q, %k, %v scale %scale : tensor<32x8x197x64xbf16>, tensor<32x8x197x64xbf16>, tensor<32x8x197x64xbf16> -> tensor<32x8x197x64xbf16> score {} mask {}
  %re = tensor.empty() : tensor<32x197x8x64xbf16>
  %r = linalg.transpose ins(%a : tensor<32x8x197x64xbf16>) outs(%re : tensor<32x197x8x64xbf16>) permutation = [0, 2, 1, 3]
  %c = tensor.collapse_shape %r [[0, 1], [2, 3]] : tensor<32x197x8x64xbf16> into tensor<6304x512xbf16>
  %e2 = tensor.empty() : tensor<6304x512xf32>
  %f2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<6304x512xf32>) -> tensor<6304x512xf32>
  %p2 = linalg.matmul ins(%c, %o : tensor<6304x512xbf16>, tensor<512x512xbf16>) outs(%f2 : tensor<6304x512xf32>) -> tensor<6304x512xf32>
  %y = arith.truncf %p2 : tensor<6304x512xf32> to tensor<6304x512xbf16>
  return %y : tensor<6304x512xbf16>
}
