// 0 for rows of only −inf is what tile.softmax gives; another guard stays.
// RUN: fa-opt %s --pass-pipeline='builtin.module(func.func(tile-raise-softmax))' | FileCheck %s

!s = tensor<50x70xf32>
!r = tensor<50xf32>
!c = tensor<50x1xi1>
!b = tensor<50x70xi1>

// CHECK-LABEL: func.func @guarded
// CHECK-NEXT: %[[P:.*]] = tile.softmax
// CHECK-NEXT: return %[[P]]
func.func @guarded(%s: !s) -> !s {
  %zero = arith.constant dense<0.0> : !s
  %low = arith.constant dense<0xFF800000> : !r
  %p = tile.softmax %s : !s
  %m = tile.reduce max %s dim 1 : !s -> !r
  %none = arith.cmpf oeq, %m, %low : !r
  %rows = tile.expand_dims %none dim 1 : tensor<50xi1> -> !c
  %all = tile.broadcast %rows : !c -> !b
  %g = arith.select %all, %zero, %p : !b, !s
  return %g : !s
}

// The scores are narrow, and so is what is guarded.
// CHECK-LABEL: func.func @narrow
// CHECK-NOT: arith.select
// CHECK: return
func.func @narrow(%s: tensor<50x70xf16>) -> tensor<50x70xf16> {
  %zero = arith.constant dense<0.0> : tensor<50x70xf16>
  %low = arith.constant dense<0xFC00> : tensor<50xf16>
  %p = tile.softmax %s : tensor<50x70xf16>
  %m = tile.reduce max %s dim 1 : tensor<50x70xf16> -> tensor<50xf16>
  %none = arith.cmpf oeq, %m, %low : tensor<50xf16>
  %rows = tile.expand_dims %none dim 1 : tensor<50xi1> -> !c
  %all = tile.broadcast %rows : !c -> !b
  %g = arith.select %all, %zero, %p : !b, tensor<50x70xf16>
  return %g : tensor<50x70xf16>
}

// CHECK-LABEL: func.func @one_instead
// CHECK: arith.select
func.func @one_instead(%s: !s) -> !s {
  %one = arith.constant dense<1.0> : !s
  %low = arith.constant dense<0xFF800000> : !r
  %p = tile.softmax %s : !s
  %m = tile.reduce max %s dim 1 : !s -> !r
  %none = arith.cmpf oeq, %m, %low : !r
  %rows = tile.expand_dims %none dim 1 : tensor<50xi1> -> !c
  %all = tile.broadcast %rows : !c -> !b
  %g = arith.select %all, %one, %p : !b, !s
  return %g : !s
}

// CHECK-LABEL: func.func @finite
// CHECK: arith.select
func.func @finite(%s: !s) -> !s {
  %zero = arith.constant dense<0.0> : !s
  %low = arith.constant dense<-1.0e30> : !r
  %p = tile.softmax %s : !s
  %m = tile.reduce max %s dim 1 : !s -> !r
  %none = arith.cmpf oeq, %m, %low : !r
  %rows = tile.expand_dims %none dim 1 : tensor<50xi1> -> !c
  %all = tile.broadcast %rows : !c -> !b
  %g = arith.select %all, %zero, %p : !b, !s
  return %g : !s
}

// CHECK-LABEL: func.func @of_others
// CHECK: arith.select
func.func @of_others(%s: !s, %t: !s) -> !s {
  %zero = arith.constant dense<0.0> : !s
  %low = arith.constant dense<0xFF800000> : !r
  %p = tile.softmax %s : !s
  %m = tile.reduce max %t dim 1 : !s -> !r
  %none = arith.cmpf oeq, %m, %low : !r
  %rows = tile.expand_dims %none dim 1 : tensor<50xi1> -> !c
  %all = tile.broadcast %rows : !c -> !b
  %g = arith.select %all, %zero, %p : !b, !s
  return %g : !s
}

// CHECK-LABEL: func.func @of_columns
// CHECK: arith.select
func.func @of_columns(%s: tensor<50x50xf32>) -> tensor<50x50xf32> {
  %zero = arith.constant dense<0.0> : tensor<50x50xf32>
  %low = arith.constant dense<0xFF800000> : !r
  %p = tile.softmax %s : tensor<50x50xf32>
  %m = tile.reduce max %s dim 1 : tensor<50x50xf32> -> !r
  %none = arith.cmpf oeq, %m, %low : !r
  %rows = tile.expand_dims %none dim 0 : tensor<50xi1> -> tensor<1x50xi1>
  %all = tile.broadcast %rows : tensor<1x50xi1> -> tensor<50x50xi1>
  %g = arith.select %all, %zero, %p : tensor<50x50xi1>, tensor<50x50xf32>
  return %g : tensor<50x50xf32>
}
