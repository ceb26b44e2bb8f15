// A mask in Morton order moves the bits of a tile's and a thread's positions, and not those of each of 64 elements, of
// which a constant is left: in each of the two loops over tiles once, and for what begins where no tile does.
// RUN: fa-run %s --entry=morton --arch=sm_90a --emit=llvm --kernels=morton_roles -o - | grep -c "= and i32 .*, 8589934" | FileCheck %s
// CHECK: {{^4$}}
// The twin: differences are no such function.
// RUN: sed "s/%m2 = arith.ori/%m2 = arith.subi/" %s > %t.mlir
// RUN: fa-run %t.mlir --entry=morton --arch=sm_90a --emit=llvm --kernels=morton_roles -o - | grep -c "= and i32 .*, 8589934" | FileCheck %s --check-prefix=TWIN
// TWIN: {{^[3-9][0-9]$}}
func.func @morton(%q: tensor<?x?x?x128xbf16>, %k: tensor<?x?x?x128xbf16>, %v: tensor<?x?x?x128xbf16>, %scale: f32)
    -> tensor<?x?x?x128xbf16> {
  %o = tile.attention %q, %k, %v scale %scale : tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16> -> tensor<?x?x?x128xbf16>
  score {
  } mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %near = arith.constant 5 : index
    %every2 = arith.constant 1431655765 : index
    %every4 = arith.constant 858993459 : index
    %every8 = arith.constant 252645135 : index
    %m0 = arith.andi %j, %every2 : index
    %m1 = arith.shrsi %m0, %c1 : index
    %m2 = arith.ori %m0, %m1 : index
    %m3 = arith.andi %m2, %every4 : index
    %m4 = arith.shrsi %m3, %c2 : index
    %m5 = arith.ori %m3, %m4 : index
    %x = arith.andi %m5, %every8 : index
    %limit = arith.addi %x, %near : index
    %keep = arith.cmpi sle, %i, %limit : index
    tile.yield %keep : i1
  }
  return %o : tensor<?x?x?x128xbf16>
}
