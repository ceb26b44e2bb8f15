//===- TritonControlOps.td - functions, programs, checks ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TRITON_CONTROL_OPS_TD
#define TRITON_CONTROL_OPS_TD

include "TritonDialect.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/CallInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/FunctionInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Triton_FuncOp : Triton_Op<"func", [IsolatedFromAbove, AffineScope,
    FunctionOpInterface]> {
  let summary = "a kernel (public), or a function that kernels call";
  let description = [{
    Promises about an argument are its attributes `tt.divisibility` and others of
    this prefix.

    ```mlir
    tt.func public @add(%x: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %n: i32)
        attributes {noinline = false} {
      tt.return
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name,
      TypeAttrOf<FunctionType>:$function_type,
      OptionalAttr<StrAttr>:$sym_visibility,
      OptionalAttr<DictArrayAttr>:$arg_attrs,
      OptionalAttr<DictArrayAttr>:$res_attrs);
  let regions = (region AnyRegion:$body);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    ::mlir::ArrayRef<::mlir::Type> getArgumentTypes() {
      return getFunctionType().getInputs();
    }
    ::mlir::ArrayRef<::mlir::Type> getResultTypes() {
      return getFunctionType().getResults();
    }
    ::mlir::Region *getCallableRegion() {
      return isExternal() ? nullptr : &getBody();
    }
  }];
}

def Triton_ReturnOp : Triton_Op<"return", [Pure, ReturnLike, Terminator,
    HasParent<"FuncOp">]> {
  let summary = "ends a function";
  let arguments = (ins Variadic<AnyType>:$srcs);
  let assemblyFormat = "attr-dict ($srcs^ `:` type($srcs))?";
  let hasVerifier = 1;
}

def Triton_CallOp : Triton_Op<"call", [CallOpInterface,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "calls a function of the same text";
  let arguments = (ins FlatSymbolRefAttr:$callee, Variadic<AnyType>:$operands,
      OptionalAttr<DictArrayAttr>:$arg_attrs,
      OptionalAttr<DictArrayAttr>:$res_attrs);
  let results = (outs Variadic<AnyType>);
  let assemblyFormat = [{
    $callee `(` $operands `)` attr-dict `:` functional-type($operands, results)
  }];
  let extraClassDeclaration = [{
    ::mlir::CallInterfaceCallable getCallableForCallee() {
      return getCalleeAttr();
    }
    void setCalleeFromCallable(::mlir::CallInterfaceCallable callee) {
      setCalleeAttr(::llvm::cast<::mlir::FlatSymbolRefAttr>(
          ::llvm::cast<::mlir::SymbolRefAttr>(callee)));
    }
    ::mlir::Operation::operand_range getArgOperands() { return getOperands(); }
    ::mlir::MutableOperandRange getArgOperandsMutable() {
      return getOperandsMutable();
    }
  }];
}

class Triton_ProgramOp<string mnemonic, string text>
    : Triton_Op<mnemonic, [Pure]> {
  let summary = text;
  let arguments = (ins StrAttr:$axis);
  let results = (outs I32:$result);
  let assemblyFormat = "custom<Axis>($axis) attr-dict `:` type($result)";
}
def Triton_GetProgramIdOp : Triton_ProgramOp<"get_program_id",
    "this program's coordinate along x, y or z">;
def Triton_GetNumProgramsOp : Triton_ProgramOp<"get_num_programs",
    "how many programs there are along x, y or z">;

def Triton_PrintOp : Triton_Op<"print"> {
  let summary = "prints, for debugging";
  let arguments = (ins StrAttr:$prefix, BoolAttr:$hex, Variadic<AnyType>:$args,
      OptionalAttr<DenseI32ArrayAttr>:$isSigned);
  let assemblyFormat = "$prefix attr-dict (`:` $args^ `:` type($args))?";
}

def Triton_AssertOp : Triton_Op<"assert"> {
  let summary = "stops where a condition does not hold";
  let arguments = (ins Triton_BoolLike:$condition, StrAttr:$message);
  let assemblyFormat = "$condition `,` $message attr-dict `:` type($condition)";
}

def Triton_GridDependencyWaitOp : Triton_Op<"grid_dependency_wait"> {
  let summary = "waits for the kernel before this one (since 3.9)";
  let assemblyFormat = "attr-dict";
}
def Triton_GridDependencyLaunchOp
    : Triton_Op<"grid_dependency_launch_dependents"> {
  let summary = "lets the kernel behind this one begin (since 3.9)";
  let assemblyFormat = "attr-dict";
}

#endif // TRITON_CONTROL_OPS_TD
