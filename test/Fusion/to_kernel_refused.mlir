// RUN: fa-opt %s --split-input-file --verify-diagnostics --tile-online-softmax --tile-to-kernel

!rows = tensor<?x?x?x64xf32>

// A kernel has no place for the other result.
// expected-remark @+2 {{runs unfused, on whole tensors: its body has 3 blocks, where one is expected}}
// expected-error @+1 {{expected a body of one block, found 3}}
func.func @branches(%c: i1, %q: !rows, %k: !rows, %v: !rows, %scale: f32) -> !rows {
  cf.cond_br %c, ^attend, ^copy
^attend:
  %o = tile.attention %q, %k, %v scale %scale : !rows, !rows, !rows -> !rows score {} mask {}
  return %o : !rows
^copy:
  return %q : !rows
}

// -----

!rows = tensor<?x?x?x?xf32>

// expected-remark @+1 {{runs unfused, on whole tensors: q has a dynamic head dim}}
func.func @dynamic_head_dim(%q: !rows, %k: !rows, %v: !rows, %scale: f32) -> !rows {
  %o = tile.attention %q, %k, %v scale %scale : !rows, !rows, !rows -> !rows score {} mask {}
  return %o : !rows
}

// -----

!rows = tensor<?x?x?x64xf32>

// expected-remark @+2 {{runs unfused, on whole tensors}}
// expected-error @+1 {{expected results that are tensors, found 'f32'}}
func.func @scalar_result(%q: !rows, %k: !rows, %v: !rows, %scale: f32) -> (!rows, f32) {
  %o = tile.attention %q, %k, %v scale %scale : !rows, !rows, !rows -> !rows score {} mask {}
  return %o, %scale : !rows, f32
}
