// Names that are defined in a region and used in front of it, in another
// function: refused when the region has been read.
// RUN: not fa-opt %s -split-input-file 2>&1 | FileCheck %s

// CHECK: expected values of this region to be used in it, found a use outside
func.func @argument() {
  tgpu.passed %steps
}
func.func @partitions() {
  tgpu.warp_specialize consumers 1 producer {
  ^bb0(%n: index, %steps: index):
    tgpu.passed %steps
  } consumer {
  ^bb0(%n: index, %others: index):
    tgpu.passed %others
  }
}
// -----
// CHECK: expected values of this region to be used in it, found a use outside
func.func @inner() {
  tgpu.passed %sum
}
func.func @partitions() {
  tgpu.warp_specialize consumers 1 producer {
  ^bb0(%n: index, %steps: index):
    %c = arith.cmpi eq, %n, %steps : index
    scf.if %c {
      %sum = arith.addi %n, %steps : index
    }
    tgpu.passed %steps
  } consumer {
  }
}
// -----
// CHECK: expected values of this region to be used in it, found a use outside
func.func @score() {
  tile.yield %s : f32
}
func.func @attention(%q: tensor<1x1x4x8xf32>, %c: f32) {
  %0 = tile.attention %q, %q, %q scale %c : tensor<1x1x4x8xf32>, tensor<1x1x4x8xf32>, tensor<1x1x4x8xf32> -> tensor<1x1x4x8xf32> score {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index):
    tile.yield %s : f32
  } mask {
  }
  return
}
// -----
// CHECK: expected values of this region to be used in it, found a use outside
func.func @between() {
  tgpu.warp_specialize consumers 1 producer {
  ^bb0(%n: index, %others: index):
    tgpu.passed %steps
  } consumer {
  ^bb0(%n: index, %steps: index):
    tgpu.passed %steps
  }
}
// -----
// Of a region that does not parse nothing is left to a use.
// CHECK: custom op 'oops'
func.func @rest() {
  tgpu.passed %steps
}
func.func @partitions() {
  tgpu.warp_specialize consumers 1 producer {
  ^bb0(%n: index, %steps: index):
    oops
  } consumer {
  }
}
