// A window whose keys are looked at by their place in columns of 32.
func.func @seen(%q: tensor<?x?x?x64xf16>, %k: tensor<?x?x?x64xf16>, %v: tensor<?x?x?x64xf16>, %scale: f32) -> tensor<?x?x?x64xf16> {
  %o = tile.attention %q, %k, %v scale %scale : tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16> -> tensor<?x?x?x64xf16> score {} mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %c3 = arith.constant 3 : index
    %c32 = arith.constant 32 : index
    %c100 = arith.constant 100 : index
    %first = arith.subi %i, %c100 : index
    %behind = arith.cmpi sge, %j, %first : index
    %before = arith.cmpi sle, %j, %i : index
    %column = arith.remui %j, %c32 : index
    %seventh = arith.remui %i, %c3 : index
    %near = arith.cmpi sge, %column, %seventh : index
    %in = arith.andi %behind, %before : i1
    %seen = arith.andi %in, %near : i1
    tile.yield %seen : i1
  }
  return %o : tensor<?x?x?x64xf16>
}
