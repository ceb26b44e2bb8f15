//===- Passes.td - a GPU program for the host, whole or with a fault ------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_EMULATOR_PASSES_TD
#define FA_EMULATOR_PASSES_TD

include "mlir/Pass/PassBase.td"

def ConvertNVVMToEmulator
    : Pass<"convert-nvvm-to-emulator", "::mlir::ModuleOp"> {
  let summary = "GPU operations become calls of the emulator";
  let description = [{
    Every operation of a kernel that a CPU does not have – of the nvvm dialect
    and of tgpu.simt, and each access to global and shared memory – becomes a call
    `fa_emu_...(thread, site)`. Operands and results travel in slots of 8 bytes
    at the address `thread`. `site` is the number of an entry in the module's
    attribute `fa.sites`: the operation's name, where it stands in the user's
    program, and its attributes as numbers. Address spaces go; a pointer to
    shared memory becomes a small number. An operation that the emulator does
    not know is an error.

    Before:
    ```mlir
    nvvm.cp.async.wait.group 1
    ```
    After:
    ```mlir
    %site = llvm.mlir.constant(7 : i32) : i32
    llvm.call @fa_emu_async_wait(%thread, %site) : (!llvm.ptr, i32) -> ()
    ```
    Requires: S8. Ensures: a module for the host. Numerics: exact.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

def TgpuMutate : Pass<"tgpu-mutate", "::mlir::ModuleOp"> {
  let summary = "plants a fault, to see that it is found";
  let description = [{
    Changes every kernel so that it has the fault that is named; docs/emulator.md
    says which there are, and what each must be reported as. Faults of the
    schedule are planted at S7, those of what one thread does at S8. A name that
    is not known, and a program that has no place for the fault, are errors.

    Before:
    ```mlir
    tgpu.wait 0
    tgpu.barrier
    ```
    After `tgpu-mutate{fault=drop-wait}`:
    ```mlir
    tgpu.barrier
    ```
    Requires: S7 or S8, as the fault says. Ensures: a wrong program.
    Numerics: wrong.
  }];
  let options = [
    Option<"fault", "fault", "std::string", "", "the name of the fault">
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::LLVM::LLVMDialect"];
}

#endif // FA_EMULATOR_PASSES_TD
