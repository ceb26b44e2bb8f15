// --entry picks one program of a file, to be run and to be looked at.
// RUN: fa-run %s --emit=kernel | FileCheck %s --check-prefix=ALL
// ALL: tile.kernel @double
// ALL: tile.kernel @square
// RUN: fa-run %s --emit=kernel --entry=square | FileCheck %s
// RUN: fa-run %s --emit=llvm --entry=square | FileCheck %s --check-prefix=LLVM
// CHECK-NOT: @double
// CHECK: tile.kernel @square
// CHECK-NOT: @double
// LLVM-NOT: @double
// LLVM: define void @square
// LLVM-NOT: @double
// RUN: fa-run %s --entry=square --in 8 --target=cpu --check | FileCheck %s --check-prefix=RESULT
// RESULT: kernel @square_part,
// RESULT: PASS
// RUN: not fa-run %s --emit=kernel --entry=cube 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: expected a program named 'cube', found @double @square
// What is looked at has no inputs: these would be 4 TiB.
// RUN: fa-run --attention "b=64 hq=4096 sq=65536 sk=65536 d=128" --emit=tile | FileCheck %s --check-prefix=TILE
// TILE: func.func @attention
func.func @double(%x: tensor<?xf32>) -> tensor<?xf32> {
  %y = arith.addf %x, %x : tensor<?xf32>
  return %y : tensor<?xf32>
}
func.func @square(%x: tensor<?xf32>) -> tensor<?xf32> {
  %y = arith.mulf %x, %x : tensor<?xf32>
  return %y : tensor<?xf32>
}
