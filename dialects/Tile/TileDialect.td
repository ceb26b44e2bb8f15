//===- TileDialect.td - the tile dialect: what a kernel computes ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILE_DIALECT_TD
#define TILE_DIALECT_TD

include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"

def Tile_Dialect : Dialect {
  let name = "tile";
  let cppNamespace = "::fa::tile";
  let summary = "What an attention kernel computes; knows no target.";
  let description = [{
    Two levels share one set of operations. On whole tensors of any size the
    dialect writes attention as a person does: `dot`, elementwise arithmetic
    from `arith` and `math`, `softmax`, `dot`. Inside a `tile.kernel` the same
    operations work on tiles of static shape, and `load`, `store` and `gather`
    are the only ones that touch memory.

    Stages S0 to S3 of the compiler are programs of this dialect; RATIONALE.md
    says why each operation exists beside the upstream ones.
  }];
  let hasConstantMaterializer = 1;
  let useDefaultAttributePrinterParser = 1;
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
    "::mlir::tensor::TensorDialect", "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect"
  ];
}

class Tile_Op<string mnemonic, list<Trait> traits = []>
    : Op<Tile_Dialect, mnemonic, traits>;

def Tile_ReduceAdd : I32EnumCase<"Add", 0, "add">;
def Tile_ReduceMax : I32EnumCase<"Max", 1, "max">;
def Tile_ReduceMin : I32EnumCase<"Min", 2, "min">;
def Tile_ReduceKind
    : I32Enum<"ReduceKind", "how a reduction combines two elements",
              [Tile_ReduceAdd, Tile_ReduceMax, Tile_ReduceMin]> {
  let cppNamespace = "::fa::tile";
}
def Tile_ReduceKindAttr : EnumAttr<Tile_Dialect, Tile_ReduceKind, "reduce_kind"> {
  let assemblyFormat = "$value";
}

def Tile_AccessIn : I32EnumCase<"In", 0, "in">;
def Tile_AccessOut : I32EnumCase<"Out", 1, "out">;
def Tile_AccessInOut : I32EnumCase<"InOut", 2, "inout">;
def Tile_Access
    : I32Enum<"Access", "what a kernel does with a memref argument",
              [Tile_AccessIn, Tile_AccessOut, Tile_AccessInOut]> {
  let cppNamespace = "::fa::tile";
}
def Tile_AccessAttr : EnumAttr<Tile_Dialect, Tile_Access, "access"> {
  let description = [{
    Marks a memref argument of a `tile.kernel` (argument attribute
    `tile.access`): `in` is only read, `out` is only written, `inout` both.
  }];
  let assemblyFormat = "`<` $value `>`";
}

#endif // TILE_DIALECT_TD
