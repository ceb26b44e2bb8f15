// A mask that nobody ships: inside its document a query sees a window of 128
// keys before it, and besides every fourth key:
//   document ∧ causal ∧ (window ∨ j mod 4 = 0).
// starts[b, i] is the first key of query i's document.
//   build/bin/fa-run examples/masks/document_window_stride.mlir \
//     --in 2x4x512x64 --in 2x4x512x64 --in 2x4x512x64 \
//     --in examples/masks/starts.npy --in 0.125 --check --bench
!rows = tensor<?x?x?x64xf16>
func.func @attention(%q: !rows, %k: !rows, %v: !rows, %starts: tensor<?x?xi32>, %scale: f32) -> !rows {
  %o = tile.attention %q, %k, %v scale %scale captures(%starts : tensor<?x?xi32>) : !rows, !rows, !rows -> !rows score {
  } mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %s: tensor<?x?xi32>):
    %first32 = tensor.extract %s[%b, %i] : tensor<?x?xi32>
    %first = arith.index_cast %first32 : i32 to index
    %document = arith.cmpi sge, %j, %first : index
    %causal = arith.cmpi sle, %j, %i : index
    %width = arith.constant 128 : index
    %low = arith.subi %i, %width : index
    %window = arith.cmpi sgt, %j, %low : index
    %four = arith.constant 4 : index
    %rest = arith.remui %j, %four : index
    %zero = arith.constant 0 : index
    %every = arith.cmpi eq, %rest, %zero : index
    %either = arith.ori %window, %every : i1
    %inside = arith.andi %document, %causal : i1
    %seen = arith.andi %inside, %either : i1
    tile.yield %seen : i1
  }
  return %o : !rows
}
