// What says which programs a block runs belongs to the loop over them.
// RUN: fa-opt %s --convert-tgpu-to-nvvm --split-input-file --verify-diagnostics

tile.kernel @one_program() attributes {tgpu.consumers = 1, tgpu.shared_bytes = 0, tgpu.warps = 4, grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  tgpu.warp_specialize consumers 1 producer {
  ^bb0(%n: index, %steps: index):
    tgpu.passed %steps
  } consumer {
  ^bb0(%n: index, %steps: index):
    // expected-error @below {{expects to be in the block of a persistent kernel's consumer}}
    %turns = tgpu.turns
    tgpu.passed %turns
  }
  tile.return
}
// -----
tile.kernel @loop_around() attributes {tgpu.consumers = 1, tgpu.persistent, tgpu.shared_bytes = 0, tgpu.warps = 4, grid = affine_map<() -> (1)>, grid_sizes = array<i64>} {
  tgpu.warp_specialize consumers 1 producer {
  ^bb0(%n: index, %steps: index):
    tgpu.passed %steps
  } consumer {
  ^bb0(%n: index, %steps: index):
    // expected-error @below {{expects tgpu.turns in the consumer's block}}
    %x, %y, %z = tgpu.program_in %n
    tgpu.passed %x
  }
  tile.return
}
