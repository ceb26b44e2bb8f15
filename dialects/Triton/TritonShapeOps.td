//===- TritonShapeOps.td - values, shapes, reductions, dots ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TRITON_SHAPE_OPS_TD
#define TRITON_SHAPE_OPS_TD

include "TritonDialect.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

class Triton_CastOp<string mnemonic, string text> : Triton_Op<mnemonic, [Pure,
    SameOperandsAndResultShape]> {
  let summary = text;
  let arguments = (ins AnyType:$src);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$src attr-dict `:` type($src) `->` type($result)";
}
def Triton_BitcastOp : Triton_CastOp<"bitcast", "the same bits, another type">;
def Triton_IntToPtrOp : Triton_CastOp<"int_to_ptr", "a number as an address">;
def Triton_PtrToIntOp : Triton_CastOp<"ptr_to_int", "an address as a number">;

def Triton_FpToFpOp : Triton_Op<"fp_to_fp", [Pure,
    SameOperandsAndResultShape]> {
  let summary = "a number of another floating-point type";
  let description = [{
    For types of 8 bits, and where the rounding is said (`rtne`, `rtz`); other
    casts are `arith.extf` and `arith.truncf`.
  }];
  let arguments = (ins Triton_FloatLike:$src, OptionalAttr<StrAttr>:$rounding);
  let results = (outs Triton_FloatLike:$result);
  let assemblyFormat = [{
    $src attr-dict custom<Rounding>($rounding) `:` type($src) `->` type($result)
  }];
}

def Triton_ClampFOp : Triton_Op<"clampf", [Pure,
    AllTypesMatch<["x", "min", "max", "result"]>]> {
  let summary = "the nearest number between two";
  let description = "With `propagateNan = all` a NaN stays one.";
  let arguments = (ins Triton_FloatLike:$x, Triton_FloatLike:$min,
      Triton_FloatLike:$max, StrAttr:$propagateNan);
  let results = (outs Triton_FloatLike:$result);
  let assemblyFormat = [{
    $x `,` $min `,` $max `,` `propagateNan` `=` custom<Word>($propagateNan)
    attr-dict `:` type($result)
  }];
}

def Triton_PreciseSqrtOp : Triton_Op<"precise_sqrt", [Pure,
    AllTypesMatch<["x", "result"]>]> {
  let summary = "square root, rounded to the nearest";
  let arguments = (ins Triton_FloatLike:$x);
  let results = (outs Triton_FloatLike:$result);
  let assemblyFormat = "$x attr-dict `:` type($x)";
}

class Triton_BinaryOp<string mnemonic, Type type, string text>
    : Triton_Op<mnemonic, [Pure, AllTypesMatch<["x", "y", "result"]>]> {
  let summary = text;
  let arguments = (ins type:$x, type:$y);
  let results = (outs type:$result);
  let assemblyFormat = "$x `,` $y attr-dict `:` type($x)";
}
def Triton_PreciseDivFOp : Triton_BinaryOp<"precise_divf", Triton_FloatLike,
    "a quotient, rounded to the nearest">;
def Triton_ApproxDivFOp : Triton_BinaryOp<"approx_divf", Triton_FloatLike,
    "a quotient to 2 units in the last place (since 3.9)">;
def Triton_MulhiUIOp : Triton_BinaryOp<"mulhiui", Triton_IntLike,
    "the upper half of a product of unsigned integers">;

def Triton_ExternElementwiseOp : Triton_Op<"extern_elementwise"> {
  let summary = "calls a function of a library for each element";
  let arguments = (ins Variadic<AnyType>:$srcs, StrAttr:$libname,
      StrAttr:$libpath, StrAttr:$symbol, BoolAttr:$pure);
  let results = (outs AnyType:$result);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, $result)";
}

def Triton_InlineAsmOp : Triton_Op<"elementwise_inline_asm"> {
  let summary = "assembly text for each element, or for a few at a time";
  let arguments = (ins StrAttr:$asm_string, StrAttr:$constraints,
      BoolAttr:$pure, I32Attr:$packed_element, Variadic<AnyType>:$args);
  let results = (outs Variadic<AnyType>:$result);
  let assemblyFormat = [{
    $asm_string attr-dict ($args^ `:` type($args))? `->` type($result)
  }];
}

def Triton_MapElementwiseOp : Triton_Op<"map_elementwise"> {
  let summary = "runs a region for each element, or for `pack` at a time (since 3.5)";
  let arguments = (ins Variadic<Triton_Tensor>:$srcs, I32Attr:$pack);
  let results = (outs Variadic<Triton_Tensor>:$result);
  let regions = (region MinSizedRegion<1>:$scalarOp);
}
def Triton_MapElementwiseReturnOp : Triton_Op<"map_elementwise.return", [Pure, Terminator]> {
  let summary = "gives what a region made of its elements";
  let arguments = (ins Variadic<AnyType>:$srcs);
  let assemblyFormat = "attr-dict ($srcs^ `:` type($srcs))?";
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

def Triton_MakeRangeOp : Triton_Op<"make_range", [Pure]> {
  let summary = "the integers from `start` to before `end`";
  let arguments = (ins I32Attr:$start, I32Attr:$end);
  let results = (outs 1DTensorOf<[I32]>:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Triton_SplatOp : Triton_Op<"splat", [Pure]> {
  let summary = "a tile of one value";
  let arguments = (ins AnyType:$src);
  let results = (outs Triton_Tensor:$result);
  let assemblyFormat = "$src attr-dict `:` type($src) `->` type($result)";
  let hasVerifier = 1;
}

def Triton_UnsplatOp : Triton_Op<"unsplat", [Pure,
    TypesMatchWith<"result is the element of src", "src", "result",
                   "::llvm::cast<::mlir::ShapedType>($_self).getElementType()">]> {
  let summary = "the value of a tile of one element";
  let arguments = (ins Triton_Tensor:$src);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$src attr-dict `:` type($src)";
}

def Triton_ExpandDimsOp : Triton_Op<"expand_dims", [Pure,
    SameOperandsAndResultElementType]> {
  let summary = "one more dimension, of size 1";
  let arguments = (ins Triton_Tensor:$src, I32Attr:$axis);
  let results = (outs Triton_Tensor:$result);
  let assemblyFormat = "$src attr-dict `:` type($src) `->` type($result)";
  let hasVerifier = 1;
}

def Triton_BroadcastOp : Triton_Op<"broadcast", [Pure,
    SameOperandsAndResultElementType]> {
  let summary = "repeats dimensions of size 1";
  let arguments = (ins Triton_Tensor:$src);
  let results = (outs Triton_Tensor:$result);
  let assemblyFormat = "$src attr-dict `:` type($src) `->` type($result)";
  let hasVerifier = 1;
}

def Triton_ReshapeOp : Triton_Op<"reshape", [Pure,
    SameOperandsAndResultElementType]> {
  let summary = "the same elements in another shape";
  let description = "With `allow_reorder` in any order.";
  let arguments = (ins Triton_Tensor:$src, UnitAttr:$allow_reorder,
      UnitAttr:$efficient_layout);
  let results = (outs Triton_Tensor:$result);
  let assemblyFormat = [{
    $src (`allow_reorder` $allow_reorder^)?
    (`efficient_layout` $efficient_layout^)? attr-dict
    `:` type($src) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Triton_TransOp : Triton_Op<"trans", [Pure,
    SameOperandsAndResultElementType]> {
  let summary = "dimensions in another order";
  let arguments = (ins Triton_Tensor:$src, DenseI32ArrayAttr:$order);
  let results = (outs Triton_Tensor:$result);
  let assemblyFormat = "$src attr-dict `:` type($src) `->` type($result)";
  let hasVerifier = 1;
}

def Triton_JoinOp : Triton_Op<"join", [Pure, AllTypesMatch<["lhs", "rhs"]>]> {
  let summary = "two tiles as one with a last dimension of 2";
  let arguments = (ins AnyType:$lhs, AnyType:$rhs);
  let results = (outs Triton_Tensor:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($lhs) `->` type($result)";
}

def Triton_SplitOp : Triton_Op<"split", [Pure,
    AllTypesMatch<["outLHS", "outRHS"]>]> {
  let summary = "the two halves of a tile whose last dimension is 2";
  let arguments = (ins Triton_Tensor:$src);
  let results = (outs AnyType:$outLHS, AnyType:$outRHS);
  let assemblyFormat = "$src attr-dict `:` type($src) `->` type($outLHS)";
}

def Triton_CatOp : Triton_Op<"cat", [Pure, AllTypesMatch<["lhs", "rhs"]>]> {
  let summary = "two tiles, one behind the other, in any order";
  let arguments = (ins Triton_Tensor:$lhs, Triton_Tensor:$rhs);
  let results = (outs Triton_Tensor:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($lhs) `->` type($result)";
}

def Triton_GatherOp : Triton_Op<"gather", [Pure]> {
  let summary = "elements of a tile that another one names";
  let arguments = (ins Triton_Tensor:$src, Triton_Tensor:$indices,
      I32Attr:$axis, UnitAttr:$efficient_layout);
  let results = (outs Triton_Tensor:$result);
  let assemblyFormat = [{
    $src `[` $indices `]` attr-dict `:` functional-type(operands, results)
  }];
}

def Triton_HistogramOp : Triton_Op<"histogram", [Pure,
    OptionalTypesMatchWith<"mask has the shape of src", "src", "mask",
                           "::fa::triton::maskTypeOf($_self)">]> {
  let summary = "how often each number from 0 occurs";
  let arguments = (ins Triton_Tensor:$src, Optional<Triton_BoolLike>:$mask);
  let results = (outs Triton_Tensor:$result);
  let assemblyFormat = [{
    $src (`,` $mask^)? attr-dict `:` type($src) `->` type($result)
  }];
}

//===----------------------------------------------------------------------===//
// Reductions and dots
//===----------------------------------------------------------------------===//

def Triton_ReduceOp : Triton_Op<"reduce", [Pure]> {
  let summary = "reduces one or more tiles along a dimension";
  let description = [{
    The region combines two elements of each. Triton prints the generic form.
  }];
  let arguments = (ins Variadic<Triton_Tensor>:$srcs, I32Attr:$axis);
  let results = (outs Variadic<AnyType>:$result);
  let regions = (region MinSizedRegion<1>:$combineOp);
  let hasVerifier = 1;
}
def Triton_ReduceReturnOp : Triton_Op<"reduce.return", [Pure, Terminator]> {
  let summary = "gives what a reduction's region made of two elements";
  let arguments = (ins Variadic<AnyType>:$srcs);
  let assemblyFormat = "attr-dict ($srcs^ `:` type($srcs))?";
}

def Triton_ScanOp : Triton_Op<"scan", [Pure]> {
  let summary = "all partial reductions along a dimension";
  let arguments = (ins Variadic<Triton_Tensor>:$srcs, I32Attr:$axis,
      BoolAttr:$reverse);
  let results = (outs Variadic<Triton_Tensor>:$result);
  let regions = (region MinSizedRegion<1>:$combineOp);
}
def Triton_ScanReturnOp : Triton_Op<"scan.return", [Pure, Terminator]> {
  let summary = "gives what a scan's region made of two elements";
  let arguments = (ins Variadic<AnyType>:$srcs);
  let assemblyFormat = "attr-dict ($srcs^ `:` type($srcs))?";
}

def Triton_DotOp : Triton_Op<"dot", [Pure, AllTypesMatch<["c", "result"]>]> {
  let summary = "a · b + c";
  let description = [{
    `inputPrecision` says what may become of operands of f32: `tf32`, `tf32x3`,
    `bf16x3`, `bf16x6`; not printed, nothing (`ieee`).
  }];
  let arguments = (ins Triton_Tensor:$a, Triton_Tensor:$b, Triton_Tensor:$c,
      OptionalAttr<StrAttr>:$inputPrecision,
      OptionalAttr<I32Attr>:$maxNumImpreciseAcc);
  let results = (outs Triton_Tensor:$result);
  let assemblyFormat = [{
    $a `,` $b `,` $c custom<InputPrecision>($inputPrecision) attr-dict
    `:` type($a) `*` type($b) `->` type($result)
  }];
}

def Triton_DotScaledOp : Triton_Op<"dot_scaled", [Pure, AttrSizedOperandSegments,
    AllTypesMatch<["c", "result"]>]> {
  let summary = "a dot of numbers of 4 or 8 bits, whose rows have scales";
  let description = [{
    Triton 3.2 names scales without the word `scale`, which is what is printed.
  }];
  let arguments = (ins Triton_Tensor:$a, Triton_Tensor:$b, Triton_Tensor:$c,
      Optional<Triton_Tensor>:$a_scale, Optional<Triton_Tensor>:$b_scale,
      StrAttr:$a_elem_type, StrAttr:$b_elem_type,
      OptionalAttr<BoolAttr>:$fastMath, OptionalAttr<BoolAttr>:$lhs_k_pack,
      OptionalAttr<BoolAttr>:$rhs_k_pack);
  let results = (outs Triton_Tensor:$result);
  let hasCustomAssemblyFormat = 1;
}

#endif // TRITON_SHAPE_OPS_TD
