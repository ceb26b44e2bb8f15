// Documents, causal, as flex_attention says them: equal numbers, %t2, which is not 0 where their bounds say all, and the bounds.
func.func @flex_attention(%q: tensor<?x?x?x64xbf16>, %k: tensor<?x?x?x64xbf16>, %v: tensor<?x?x?x64xbf16>, %captured0: tensor<?xi64>, %captured1: tensor<?xi64>, %captured2: tensor<?xi32>, %captured3: tensor<?xi32>, %captured4: tensor<?xi32>, %scale: f32) -> tensor<?x?x?x64xbf16> {
  %o = tile.attention %q, %k, %v scale %scale captures(%captured0, %captured1, %captured2, %captured3, %captured4 : tensor<?xi64>, tensor<?xi64>, tensor<?xi32>, tensor<?xi32>, tensor<?xi32>) : tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16> -> tensor<?x?x?x64xbf16>
  score {
  } mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %t0: tensor<?xi64>, %t1: tensor<?xi64>, %t2: tensor<?xi32>, %t3: tensor<?xi32>, %t4: tensor<?xi32>):
    %0 = tensor.extract %t0[%i] : tensor<?xi64>
    %1 = arith.index_cast %0 : i64 to index
    %2 = tensor.extract %t1[%j] : tensor<?xi64>
    %3 = arith.index_cast %2 : i64 to index
    %4 = arith.cmpi eq, %1, %3 : index
    %5 = tensor.extract %t2[%b] : tensor<?xi32>
    %6 = arith.index_cast %5 : i32 to index
    %7 = tensor.extract %t3[%i] : tensor<?xi32>
    %8 = arith.index_cast %7 : i32 to index
    %9 = tensor.extract %t4[%i] : tensor<?xi32>
    %10 = arith.index_cast %9 : i32 to index
    %11 = arith.cmpi sge, %j, %8 : index
    %12 = arith.cmpi slt, %j, %10 : index
    %13 = arith.andi %11, %12 : i1
    %14 = arith.constant 0 : index
    %15 = arith.cmpi ne, %6, %14 : index
    %16 = arith.ori %15, %4 : i1
    %17 = arith.andi %16, %13 : i1
    %18 = arith.cmpi sge, %i, %j : index
    %19 = arith.andi %17, %18 : i1
    tile.yield %19 : i1
  }
  return %o : tensor<?x?x?x64xbf16>
}
