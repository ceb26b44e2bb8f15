//===- HostCode.cpp - emulated kernels as native code ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostCode.h"

#include "Functions.h"

#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/ExecutionEngine/Orc/ExecutionUtils.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/SubtargetFeature.h"

using namespace llvm;
using namespace fa::emu;

HostCode::HostCode(std::string bitcode) : bitcode(std::move(bitcode)) {}
HostCode::~HostCode() = default;

/// What emulated code calls, by name.
static orc::SymbolMap functionSymbols(orc::LLJIT &jit) {
  orc::SymbolMap symbols;
  for (ArrayRef<EmulatorFunction> family :
       {barrierFunctions(), bulkCopyFunctions(), copyFunctions(),
        mathFunctions(), matrixFunctions(), memoryFunctions(), phaseFunctions(),
        productFunctions(), partitionFunctions(), shuffleFunctions(),
        waveFunctions(), waveMemoryFunctions()})
    for (const EmulatorFunction &function : family)
      symbols[jit.mangleAndIntern(function.name)] = {
          orc::ExecutorAddr::fromPtr(function.address),
          JITSymbolFlags::Exported | JITSymbolFlags::Callable};
  return symbols;
}

Expected<std::unique_ptr<HostCode>>
HostCode::load(std::string bitcode, StringRef cpu, StringRef features) {
  InitializeNativeTarget();
  InitializeNativeTargetAsmPrinter();
  std::unique_ptr<HostCode> code(new HostCode(std::move(bitcode)));
  orc::JITTargetMachineBuilder machine((Triple(sys::getProcessTriple())));
  machine.setCPU(cpu.str());
  machine.addFeatures(SubtargetFeatures(features).getFeatures());
  // Kernels are long and run for milliseconds, most of them in the functions
  // that they call: a second of optimizations saves less than it takes.
  machine.setCodeGenOptLevel(CodeGenOptLevel::None);
  auto jit = orc::LLJITBuilder()
                 .setJITTargetMachineBuilder(std::move(machine))
                 .create();
  if (!jit)
    return jit.takeError();
  code->jit = std::move(*jit);
  auto &library = code->jit->getMainJITDylib();
  if (Error error =
          library.define(orc::absoluteSymbols(functionSymbols(*code->jit))))
    return error;
  // Besides, functions of the C library.
  auto process = orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(
      code->jit->getDataLayout().getGlobalPrefix());
  if (!process)
    return process.takeError();
  library.addGenerator(std::move(*process));
  return code;
}

Error HostCode::compile(StringRef kernel) {
  auto context = std::make_unique<LLVMContext>();
  auto module = parseBitcodeFile(MemoryBufferRef(bitcode, "flashtile-emulated"),
                                 *context);
  if (!module)
    return module.takeError();
  for (Function &function : **module)
    if (function.getName() != kernel && !function.isDeclaration())
      function.deleteBody();
  (*module)->setDataLayout(jit->getDataLayout());
  (*module)->setTargetTriple(jit->getTargetTriple());
  return jit->addIRModule(
      orc::ThreadSafeModule(std::move(*module), std::move(context)));
}

Expected<KernelFunction> HostCode::lookup(StringRef kernel) {
  std::lock_guard lock(mutex);
  KernelFunction &function = functions[kernel];
  if (function)
    return function;
  if (Error error = compile(kernel))
    return error;
  auto address = jit->lookup(kernel);
  if (!address)
    return address.takeError();
  function = address->toPtr<KernelFunction>();
  return function;
}
