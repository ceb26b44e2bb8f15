// Values that are read twice, over and over: 2^40 ways lead from the end to the beginning, and each value is
// looked at once.
// RUN: fa-opt --explain %s | FileCheck %s
// RUN: fa-run %s --entry=mask --in 4x8 --in 4x8 --in 4x8 --check | FileCheck %s --check-prefix=RAN
// RUN: fa-run %s --entry=positions --in 4x8 --in 4x8 --in 4x8 --check | FileCheck %s --check-prefix=RAN
// RUN: fa-run %s --entry=scores --in 4x8 --in 4x8 --in 4x8 --check | FileCheck %s --check-prefix=RAN
// RUN: fa-run %s --entry=scale --in 4x8 --in 4x8 --in 4x8 --in 1e-13 --check | FileCheck %s --check-prefix=RAN
// RUN: fa-run %s --entry=no_dot --in 4x4 --in 4x8 --check | FileCheck %s --check-prefix=RAN
// RAN: PASS

!q = tensor<4x8xf32>
!s = tensor<4x4xf32>
!b = tensor<4x4xi1>
!i = tensor<4x4xindex>

// CHECK: fused
func.func @mask(%q: !q, %k: !q, %v: !q) -> !q {
  %s = tile.dot %q, %k transpose_b : !q, !q -> !s
  %i = tile.iota dim 0 : !i
  %j = tile.iota dim 1 : !i
  %x0 = arith.cmpi sle, %j, %i : !i
  %x1 = arith.andi %x0, %x0 : !b
  %x2 = arith.andi %x1, %x1 : !b
  %x3 = arith.andi %x2, %x2 : !b
  %x4 = arith.andi %x3, %x3 : !b
  %x5 = arith.andi %x4, %x4 : !b
  %x6 = arith.andi %x5, %x5 : !b
  %x7 = arith.andi %x6, %x6 : !b
  %x8 = arith.andi %x7, %x7 : !b
  %x9 = arith.andi %x8, %x8 : !b
  %x10 = arith.andi %x9, %x9 : !b
  %x11 = arith.andi %x10, %x10 : !b
  %x12 = arith.andi %x11, %x11 : !b
  %x13 = arith.andi %x12, %x12 : !b
  %x14 = arith.andi %x13, %x13 : !b
  %x15 = arith.andi %x14, %x14 : !b
  %x16 = arith.andi %x15, %x15 : !b
  %x17 = arith.andi %x16, %x16 : !b
  %x18 = arith.andi %x17, %x17 : !b
  %x19 = arith.andi %x18, %x18 : !b
  %x20 = arith.andi %x19, %x19 : !b
  %x21 = arith.andi %x20, %x20 : !b
  %x22 = arith.andi %x21, %x21 : !b
  %x23 = arith.andi %x22, %x22 : !b
  %x24 = arith.andi %x23, %x23 : !b
  %x25 = arith.andi %x24, %x24 : !b
  %x26 = arith.andi %x25, %x25 : !b
  %x27 = arith.andi %x26, %x26 : !b
  %x28 = arith.andi %x27, %x27 : !b
  %x29 = arith.andi %x28, %x28 : !b
  %x30 = arith.andi %x29, %x29 : !b
  %x31 = arith.andi %x30, %x30 : !b
  %x32 = arith.andi %x31, %x31 : !b
  %x33 = arith.andi %x32, %x32 : !b
  %x34 = arith.andi %x33, %x33 : !b
  %x35 = arith.andi %x34, %x34 : !b
  %x36 = arith.andi %x35, %x35 : !b
  %x37 = arith.andi %x36, %x36 : !b
  %x38 = arith.andi %x37, %x37 : !b
  %x39 = arith.andi %x38, %x38 : !b
  %x40 = arith.andi %x39, %x39 : !b
  %ninf = arith.constant dense<0xFF800000> : !s
  %m = arith.select %x40, %s, %ninf : !b, !s
  %p = tile.softmax %m : !s
  %o = tile.dot %p, %v : !s, !q -> !q
  return %o : !q
}

// CHECK: fused
func.func @positions(%q: !q, %k: !q, %v: !q) -> !q {
  %s = tile.dot %q, %k transpose_b : !q, !q -> !s
  %x0 = tile.iota dim 0 : !i
  %j = tile.iota dim 1 : !i
  %x1 = arith.addi %x0, %x0 : !i
  %x2 = arith.addi %x1, %x1 : !i
  %x3 = arith.addi %x2, %x2 : !i
  %x4 = arith.addi %x3, %x3 : !i
  %x5 = arith.addi %x4, %x4 : !i
  %x6 = arith.addi %x5, %x5 : !i
  %x7 = arith.addi %x6, %x6 : !i
  %x8 = arith.addi %x7, %x7 : !i
  %x9 = arith.addi %x8, %x8 : !i
  %x10 = arith.addi %x9, %x9 : !i
  %x11 = arith.addi %x10, %x10 : !i
  %x12 = arith.addi %x11, %x11 : !i
  %x13 = arith.addi %x12, %x12 : !i
  %x14 = arith.addi %x13, %x13 : !i
  %x15 = arith.addi %x14, %x14 : !i
  %x16 = arith.addi %x15, %x15 : !i
  %x17 = arith.addi %x16, %x16 : !i
  %x18 = arith.addi %x17, %x17 : !i
  %x19 = arith.addi %x18, %x18 : !i
  %x20 = arith.addi %x19, %x19 : !i
  %x21 = arith.addi %x20, %x20 : !i
  %x22 = arith.addi %x21, %x21 : !i
  %x23 = arith.addi %x22, %x22 : !i
  %x24 = arith.addi %x23, %x23 : !i
  %x25 = arith.addi %x24, %x24 : !i
  %x26 = arith.addi %x25, %x25 : !i
  %x27 = arith.addi %x26, %x26 : !i
  %x28 = arith.addi %x27, %x27 : !i
  %x29 = arith.addi %x28, %x28 : !i
  %x30 = arith.addi %x29, %x29 : !i
  %x31 = arith.addi %x30, %x30 : !i
  %x32 = arith.addi %x31, %x31 : !i
  %x33 = arith.addi %x32, %x32 : !i
  %x34 = arith.addi %x33, %x33 : !i
  %x35 = arith.addi %x34, %x34 : !i
  %x36 = arith.addi %x35, %x35 : !i
  %x37 = arith.addi %x36, %x36 : !i
  %x38 = arith.addi %x37, %x37 : !i
  %x39 = arith.addi %x38, %x38 : !i
  %x40 = arith.addi %x39, %x39 : !i
  %c = arith.cmpi sle, %j, %x40 : !i
  %ninf = arith.constant dense<0xFF800000> : !s
  %m = arith.select %c, %s, %ninf : !b, !s
  %p = tile.softmax %m : !s
  %o = tile.dot %p, %v : !s, !q -> !q
  return %o : !q
}

// CHECK: fused
func.func @scores(%q: !q, %k: !q, %v: !q) -> !q {
  %s = tile.dot %q, %k transpose_b : !q, !q -> !s
  %x0 = math.tanh %s : !s
  %x1 = arith.maximumf %x0, %x0 : !s
  %x2 = arith.maximumf %x1, %x1 : !s
  %x3 = arith.maximumf %x2, %x2 : !s
  %x4 = arith.maximumf %x3, %x3 : !s
  %x5 = arith.maximumf %x4, %x4 : !s
  %x6 = arith.maximumf %x5, %x5 : !s
  %x7 = arith.maximumf %x6, %x6 : !s
  %x8 = arith.maximumf %x7, %x7 : !s
  %x9 = arith.maximumf %x8, %x8 : !s
  %x10 = arith.maximumf %x9, %x9 : !s
  %x11 = arith.maximumf %x10, %x10 : !s
  %x12 = arith.maximumf %x11, %x11 : !s
  %x13 = arith.maximumf %x12, %x12 : !s
  %x14 = arith.maximumf %x13, %x13 : !s
  %x15 = arith.maximumf %x14, %x14 : !s
  %x16 = arith.maximumf %x15, %x15 : !s
  %x17 = arith.maximumf %x16, %x16 : !s
  %x18 = arith.maximumf %x17, %x17 : !s
  %x19 = arith.maximumf %x18, %x18 : !s
  %x20 = arith.maximumf %x19, %x19 : !s
  %x21 = arith.maximumf %x20, %x20 : !s
  %x22 = arith.maximumf %x21, %x21 : !s
  %x23 = arith.maximumf %x22, %x22 : !s
  %x24 = arith.maximumf %x23, %x23 : !s
  %x25 = arith.maximumf %x24, %x24 : !s
  %x26 = arith.maximumf %x25, %x25 : !s
  %x27 = arith.maximumf %x26, %x26 : !s
  %x28 = arith.maximumf %x27, %x27 : !s
  %x29 = arith.maximumf %x28, %x28 : !s
  %x30 = arith.maximumf %x29, %x29 : !s
  %x31 = arith.maximumf %x30, %x30 : !s
  %x32 = arith.maximumf %x31, %x31 : !s
  %x33 = arith.maximumf %x32, %x32 : !s
  %x34 = arith.maximumf %x33, %x33 : !s
  %x35 = arith.maximumf %x34, %x34 : !s
  %x36 = arith.maximumf %x35, %x35 : !s
  %x37 = arith.maximumf %x36, %x36 : !s
  %x38 = arith.maximumf %x37, %x37 : !s
  %x39 = arith.maximumf %x38, %x38 : !s
  %x40 = arith.maximumf %x39, %x39 : !s
  %p = tile.softmax %x40 : !s
  %o = tile.dot %p, %v : !s, !q -> !q
  return %o : !q
}

// CHECK: fused
func.func @scale(%q: !q, %k: !q, %v: !q, %x0: f32) -> !q {
  %s = tile.dot %q, %k transpose_b : !q, !q -> !s
  %x1 = arith.addf %x0, %x0 : f32
  %x2 = arith.addf %x1, %x1 : f32
  %x3 = arith.addf %x2, %x2 : f32
  %x4 = arith.addf %x3, %x3 : f32
  %x5 = arith.addf %x4, %x4 : f32
  %x6 = arith.addf %x5, %x5 : f32
  %x7 = arith.addf %x6, %x6 : f32
  %x8 = arith.addf %x7, %x7 : f32
  %x9 = arith.addf %x8, %x8 : f32
  %x10 = arith.addf %x9, %x9 : f32
  %x11 = arith.addf %x10, %x10 : f32
  %x12 = arith.addf %x11, %x11 : f32
  %x13 = arith.addf %x12, %x12 : f32
  %x14 = arith.addf %x13, %x13 : f32
  %x15 = arith.addf %x14, %x14 : f32
  %x16 = arith.addf %x15, %x15 : f32
  %x17 = arith.addf %x16, %x16 : f32
  %x18 = arith.addf %x17, %x17 : f32
  %x19 = arith.addf %x18, %x18 : f32
  %x20 = arith.addf %x19, %x19 : f32
  %x21 = arith.addf %x20, %x20 : f32
  %x22 = arith.addf %x21, %x21 : f32
  %x23 = arith.addf %x22, %x22 : f32
  %x24 = arith.addf %x23, %x23 : f32
  %x25 = arith.addf %x24, %x24 : f32
  %x26 = arith.addf %x25, %x25 : f32
  %x27 = arith.addf %x26, %x26 : f32
  %x28 = arith.addf %x27, %x27 : f32
  %x29 = arith.addf %x28, %x28 : f32
  %x30 = arith.addf %x29, %x29 : f32
  %x31 = arith.addf %x30, %x30 : f32
  %x32 = arith.addf %x31, %x31 : f32
  %x33 = arith.addf %x32, %x32 : f32
  %x34 = arith.addf %x33, %x33 : f32
  %x35 = arith.addf %x34, %x34 : f32
  %x36 = arith.addf %x35, %x35 : f32
  %x37 = arith.addf %x36, %x36 : f32
  %x38 = arith.addf %x37, %x37 : f32
  %x39 = arith.addf %x38, %x38 : f32
  %x40 = arith.addf %x39, %x39 : f32
  %c = tile.broadcast %x40 : f32 -> !s
  %m = arith.mulf %s, %c : !s
  %p = tile.softmax %m : !s
  %o = tile.dot %p, %v : !s, !q -> !q
  return %o : !q
}

// CHECK: not fused: the scores do not come from a tile.dot
func.func @no_dot(%x0: !s, %v: !q) -> !q {
  %x1 = arith.maximumf %x0, %x0 : !s
  %x2 = arith.maximumf %x1, %x1 : !s
  %x3 = arith.maximumf %x2, %x2 : !s
  %x4 = arith.maximumf %x3, %x3 : !s
  %x5 = arith.maximumf %x4, %x4 : !s
  %x6 = arith.maximumf %x5, %x5 : !s
  %x7 = arith.maximumf %x6, %x6 : !s
  %x8 = arith.maximumf %x7, %x7 : !s
  %x9 = arith.maximumf %x8, %x8 : !s
  %x10 = arith.maximumf %x9, %x9 : !s
  %x11 = arith.maximumf %x10, %x10 : !s
  %x12 = arith.maximumf %x11, %x11 : !s
  %x13 = arith.maximumf %x12, %x12 : !s
  %x14 = arith.maximumf %x13, %x13 : !s
  %x15 = arith.maximumf %x14, %x14 : !s
  %x16 = arith.maximumf %x15, %x15 : !s
  %x17 = arith.maximumf %x16, %x16 : !s
  %x18 = arith.maximumf %x17, %x17 : !s
  %x19 = arith.maximumf %x18, %x18 : !s
  %x20 = arith.maximumf %x19, %x19 : !s
  %x21 = arith.maximumf %x20, %x20 : !s
  %x22 = arith.maximumf %x21, %x21 : !s
  %x23 = arith.maximumf %x22, %x22 : !s
  %x24 = arith.maximumf %x23, %x23 : !s
  %x25 = arith.maximumf %x24, %x24 : !s
  %x26 = arith.maximumf %x25, %x25 : !s
  %x27 = arith.maximumf %x26, %x26 : !s
  %x28 = arith.maximumf %x27, %x27 : !s
  %x29 = arith.maximumf %x28, %x28 : !s
  %x30 = arith.maximumf %x29, %x29 : !s
  %x31 = arith.maximumf %x30, %x30 : !s
  %x32 = arith.maximumf %x31, %x31 : !s
  %x33 = arith.maximumf %x32, %x32 : !s
  %x34 = arith.maximumf %x33, %x33 : !s
  %x35 = arith.maximumf %x34, %x34 : !s
  %x36 = arith.maximumf %x35, %x35 : !s
  %x37 = arith.maximumf %x36, %x36 : !s
  %x38 = arith.maximumf %x37, %x37 : !s
  %x39 = arith.maximumf %x38, %x38 : !s
  %x40 = arith.maximumf %x39, %x39 : !s
  %p = tile.softmax %x40 : !s
  %o = tile.dot %p, %v : !s, !q -> !q
  return %o : !q
}
