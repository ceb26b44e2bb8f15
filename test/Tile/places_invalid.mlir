// Operations that have a meaning in a kernel, or in a region of attention, alone.
// RUN: fa-opt %s --split-input-file --verify-diagnostics

func.func @program() -> index {
  // expected-error @below {{'tile.part_id' op expects parent op 'tile.kernel'}}
  %0 = tile.part_id
  return %0 : index
}
// -----
func.func @returned() {
  // expected-error @below {{'tile.return' op expects parent op 'tile.kernel'}}
  tile.return
}
// -----
func.func @yielded(%x: f32) {
  // expected-error @below {{'tile.yield' op expects parent op to be one of 'tile.attention, tile.attention_backward, tile.online_attention'}}
  tile.yield %x : f32
}
