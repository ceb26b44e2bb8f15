func.func @listed(%q: tensor<?x?x?x64xf16>, %k: tensor<?x?x?x64xf16>, %v: tensor<?x?x?x64xf16>, %kinds: tensor<?x?x?x?xi32>, %blocks: tensor<?x?x?x?xi32>, %counts: tensor<?x?x?x2xi32>, %scale: f32) -> (tensor<?x?x?x64xf16>, tensor<?x?x?xf32>) {
  %o, %lse = tile.attention %q, %k, %v scale %scale captures(%kinds, %blocks, %counts : tensor<?x?x?x?xi32>, tensor<?x?x?x?xi32>, tensor<?x?x?x2xi32>) {tile.block_lists = array<i64: 1, 2, 128, 128>} : tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16> -> tensor<?x?x?x64xf16> lse tensor<?x?x?xf32>
  score {
  } mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %t: tensor<?x?x?x?xi32>, %bl: tensor<?x?x?x?xi32>, %co: tensor<?x?x?x2xi32>):
    %c128 = arith.constant 128 : index
    %ib = arith.divui %i, %c128 : index
    %jb = arith.divui %j, %c128 : index
    %kind = tensor.extract %t[%b, %h, %ib, %jb] : tensor<?x?x?x?xi32>
    %c1 = arith.constant 1 : i32
    %c2 = arith.constant 2 : i32
    %full = arith.cmpi eq, %kind, %c2 : i32
    %part = arith.cmpi eq, %kind, %c1 : i32
    %c7 = arith.constant 7 : index
    %r = arith.remui %j, %c7 : index
    %r2 = arith.remui %i, %c7 : index
    %y = arith.cmpi ne, %r, %r2 : index
    %z = arith.andi %part, %y : i1
    %m = arith.ori %full, %z : i1
    tile.yield %m : i1
  }
  return %o, %lse : tensor<?x?x?x64xf16>, tensor<?x?x?xf32>
}

func.func @listed_gradients(%q: tensor<?x?x?x64xf16>, %k: tensor<?x?x?x64xf16>, %v: tensor<?x?x?x64xf16>, %kinds: tensor<?x?x?x?xi32>, %blocks: tensor<?x?x?x?xi32>, %counts: tensor<?x?x?x2xi32>, %queryblocks: tensor<?x?x?x?xi32>, %querycounts: tensor<?x?x?x2xi32>, %scale: f32) -> (tensor<?x?x?x64xf16>, tensor<?x?x?xf32>)
    attributes {tile.vjp_wrt = array<i64: 0, 1, 2>, tile.vjp_of = array<i64: 0>} {
  %o, %lse = tile.attention %q, %k, %v scale %scale captures(%kinds, %blocks, %counts, %queryblocks, %querycounts : tensor<?x?x?x?xi32>, tensor<?x?x?x?xi32>, tensor<?x?x?x2xi32>, tensor<?x?x?x?xi32>, tensor<?x?x?x2xi32>) {tile.block_lists = array<i64: 1, 2, 128, 128>, tile.query_lists = array<i64: 3, 4, 128, 128>} : tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16>, tensor<?x?x?x64xf16> -> tensor<?x?x?x64xf16> lse tensor<?x?x?xf32>
  score {
  } mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %t: tensor<?x?x?x?xi32>, %bl: tensor<?x?x?x?xi32>, %co: tensor<?x?x?x2xi32>, %qb: tensor<?x?x?x?xi32>, %qc: tensor<?x?x?x2xi32>):
    %c128 = arith.constant 128 : index
    %ib = arith.divui %i, %c128 : index
    %jb = arith.divui %j, %c128 : index
    %kind = tensor.extract %t[%b, %h, %ib, %jb] : tensor<?x?x?x?xi32>
    %c1 = arith.constant 1 : i32
    %c2 = arith.constant 2 : i32
    %full = arith.cmpi eq, %kind, %c2 : i32
    %part = arith.cmpi eq, %kind, %c1 : i32
    %c7 = arith.constant 7 : index
    %r = arith.remui %j, %c7 : index
    %r2 = arith.remui %i, %c7 : index
    %y = arith.cmpi ne, %r, %r2 : index
    %z = arith.andi %part, %y : i1
    %m = arith.ori %full, %z : i1
    tile.yield %m : i1
  }
  return %o, %lse : tensor<?x?x?x64xf16>, tensor<?x?x?xf32>
}
