// A function without any attention is kernels of tiles as well, if tiles have all that it computes: two layers, and what lies between them.
// RUN: fa-run %s --entry=layers --in 70x48 --in 48x96 --in 96x40 --check --target=cpu | FileCheck %s
// RUN: fa-run %s --entry=layers --in 70x48 --in 48x96 --in 96x40 --check --target=emulator:sm_80 | FileCheck %s
// RUN: fa-run %s --entry=layers --in 70x48 --in 48x96 --in 96x40 --check --target=emulator:sm_90a | FileCheck %s --check-prefixes=CHECK,FETCHED
// RUN: fa-run %s --entry=layers --in 70x48 --in 48x96 --in 96x40 --check --target=emulator:gfx942 | FileCheck %s
// CHECK: kernel   @layers_part_dot, no attention found (fa-opt --explain), grid
// FETCHED-SAME: 256 threads
// CHECK: kernel   @layers_part_dot_0, grid {{.*}}, after the one above
// CHECK: PASS{{$}}
// What they have not, here a logarithm of 1 + x, leaves all of it to one program on whole tensors, which a card refuses.
// RUN: fa-run %s --entry=whole --in 20x16 --in 16x16 --check --target=cpu | FileCheck %s --check-prefix=WHOLE
// WHOLE: kernel   @whole, not fused: one program on whole tensors
// WHOLE: PASS{{$}}
// RUN: not fa-run %s --entry=whole --in 20x16 --in 16x16 --target=emulator:sm_80 2>&1 | FileCheck %s --check-prefix=REFUSED
// REFUSED: a kernel on whole tensors runs on the host alone
// Rows that are known at launch alone, none among them; one column, one row: sides of a tile along nothing.
// RUN: fa-run %s --entry=rows --in 0x128 --in 128x256 --check --target=emulator:sm_90a | FileCheck %s --check-prefixes=ROWS,RAN
// RUN: fa-run %s --entry=rows --in 1x128 --in 128x256 --check --target=emulator:sm_90a | FileCheck %s --check-prefixes=ROWS,RAN
// RUN: fa-run %s --entry=rows --in 130x128 --in 128x256 --check --target=emulator:sm_90a | FileCheck %s --check-prefixes=ROWS,RAN
// ROWS: kernel   @rows_part, {{.*}}, 256 threads, 4 stages
// RUN: fa-run %s --entry=column --in 192x128 --in 128x1 --check --target=emulator:sm_90a | FileCheck %s --check-prefix=RAN
// RUN: fa-run %s --entry=row --in 1x128 --in 128x200 --check --target=emulator:sm_90a | FileCheck %s --check-prefix=RAN
// RAN: check {{.*}} PASS{{$}}
func.func @layers(%x: tensor<70x48xbf16>, %w: tensor<48x96xbf16>, %v: tensor<96x40xbf16>) -> tensor<70x40xbf16> {
  %c = arith.constant 0.1 : f32
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<70x96xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<70x96xf32>) -> tensor<70x96xf32>
  %p = linalg.matmul ins(%x, %w : tensor<70x48xbf16>, tensor<48x96xbf16>) outs(%f : tensor<70x96xf32>) -> tensor<70x96xf32>
  %s = tensor.splat %c : tensor<70x96xf32>
  %q = arith.mulf %p, %s : tensor<70x96xf32>
  %t = math.tanh %q : tensor<70x96xf32>
  %h = arith.truncf %t : tensor<70x96xf32> to tensor<70x96xbf16>
  %e2 = tensor.empty() : tensor<70x40xf32>
  %f2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<70x40xf32>) -> tensor<70x40xf32>
  %p2 = linalg.matmul ins(%h, %v : tensor<70x96xbf16>, tensor<96x40xbf16>) outs(%f2 : tensor<70x40xf32>) -> tensor<70x40xf32>
  %y = arith.truncf %p2 : tensor<70x40xf32> to tensor<70x40xbf16>
  return %y : tensor<70x40xbf16>
}
func.func @whole(%x: tensor<20x16xf32>, %w: tensor<16x16xf32>) -> tensor<20x16xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<20x16xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<20x16xf32>) -> tensor<20x16xf32>
  %p = linalg.matmul ins(%x, %w : tensor<20x16xf32>, tensor<16x16xf32>) outs(%f : tensor<20x16xf32>) -> tensor<20x16xf32>
  %a = math.absf %p : tensor<20x16xf32>
  %y = math.log1p %a : tensor<20x16xf32>
  return %y : tensor<20x16xf32>
}
func.func @rows(%x: tensor<?x128xbf16>, %w: tensor<128x256xbf16>) -> tensor<?x256xbf16> {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %n = tensor.dim %x, %c0 : tensor<?x128xbf16>
  %e = tensor.empty(%n) : tensor<?x256xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?x256xf32>) -> tensor<?x256xf32>
  %p = linalg.matmul ins(%x, %w : tensor<?x128xbf16>, tensor<128x256xbf16>) outs(%f : tensor<?x256xf32>) -> tensor<?x256xf32>
  %y = arith.truncf %p : tensor<?x256xf32> to tensor<?x256xbf16>
  return %y : tensor<?x256xbf16>
}
func.func @column(%x: tensor<192x128xbf16>, %w: tensor<128x1xbf16>) -> tensor<192x1xbf16> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<192x1xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<192x1xf32>) -> tensor<192x1xf32>
  %p = linalg.matmul ins(%x, %w : tensor<192x128xbf16>, tensor<128x1xbf16>) outs(%f : tensor<192x1xf32>) -> tensor<192x1xf32>
  %y = arith.truncf %p : tensor<192x1xf32> to tensor<192x1xbf16>
  return %y : tensor<192x1xbf16>
}
func.func @row(%x: tensor<1x128xbf16>, %w: tensor<128x200xbf16>) -> tensor<1x200xbf16> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x200xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<1x200xf32>) -> tensor<1x200xf32>
  %p = linalg.matmul ins(%x, %w : tensor<1x128xbf16>, tensor<128x200xbf16>) outs(%f : tensor<1x200xf32>) -> tensor<1x200xf32>
  %y = arith.truncf %p : tensor<1x200xf32> to tensor<1x200xbf16>
  return %y : tensor<1x200xbf16>
}
