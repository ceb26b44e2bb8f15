//===- RunText.cpp - a GPU program as text, run in the emulator -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RunText.h"

#include "fa/Emulator/Emulator.h"
#include "fa/Target/Compile.h"

#include "mlir/Parser/Parser.h"
#include "llvm/Support/ThreadPool.h"

#include <bit>

using namespace fa;
using namespace fa::test;

static constexpr llvm::StringLiteral kBefore = R"(
llvm.mlir.global external @fa_shared() {addr_space = 3 : i32, alignment = 128 : i64} : !llvm.array<0 x i8>
llvm.func @kernel(%words: !llvm.ptr {llvm.byval = !llvm.array<9 x i64>}, %map: !llvm.ptr) attributes {nvvm.kernel ATTRIBUTES} {
  %c0 = llvm.mlir.constant(0 : i32) : i32
  %c1 = llvm.mlir.constant(1 : i32) : i32
  %c16 = llvm.mlir.constant(16 : i32) : i32
  %c32 = llvm.mlir.constant(32 : i32) : i32
  %all = llvm.mlir.constant(-1 : i32) : i32
  %tid = nvvm.read.ptx.sreg.tid.x : i32
  %bid = nvvm.read.ptx.sreg.ctaid.x : i32
  %shared = llvm.mlir.addressof @fa_shared : !llvm.ptr<3>
  %base = llvm.ptrtoint %shared : !llvm.ptr<3> to i32
  %inWord = llvm.getelementptr %words[3] : (!llvm.ptr) -> !llvm.ptr, i64
  %inBits = llvm.load %inWord : !llvm.ptr -> i64
  %in = llvm.inttoptr %inBits : i64 to !llvm.ptr<1>
  %outWord = llvm.getelementptr %words[6] : (!llvm.ptr) -> !llvm.ptr, i64
  %outBits = llvm.load %outWord : !llvm.ptr -> i64
  %out = llvm.inttoptr %outBits : i64 to !llvm.ptr<1>
  %lane1 = llvm.xor %tid, %c1 : i32
  %lane32 = llvm.xor %tid, %c32 : i32
  %own = llvm.getelementptr %shared[%tid] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
  %other = llvm.getelementptr %shared[%lane1] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
  %across = llvm.getelementptr %shared[%lane32] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32
  %outOwn = llvm.getelementptr %out[%tid] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
)";

/// A program that does not compile gives its error as a fault.
static llvm::Expected<Artifact> compileText(llvm::StringRef body,
                                            int64_t maxRegisters) {
  mlir::DialectRegistry registry;
  registerDialects(registry);
  mlir::MLIRContext context(registry);
  context.loadAllAvailableDialects();
  std::string text = (kBefore + body + "\n  llvm.return\n}\n").str();
  constexpr llvm::StringLiteral attributes = "ATTRIBUTES";
  text.replace(text.find(attributes), attributes.size(),
               maxRegisters ? ", nvvm.maxnreg = " +
                                  std::to_string(maxRegisters) + " : i32"
                            : "");
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  if (!module)
    return llvm::createStringError("the program does not parse");
  Artifact artifact;
  if (auto error = lowerForEmulator(*module, "host", artifact))
    return error;
  return artifact;
}

static KernelInfo makeKernel(const RunSizes &sizes) {
  KernelInfo kernel;
  kernel.symbol = "kernel";
  kernel.threads = sizes.threads;
  kernel.sharedBytes = sizes.sharedBytes;
  kernel.cluster = sizes.cluster;
  kernel.args.resize(2);
  for (ArgumentInfo &argument : kernel.args)
    argument.isMemRef = true;
  kernel.args[1].access = sizes.readsOut ? Access::InOut : Access::Out;
  if (sizes.boxRows)
    kernel.tensorMaps = {{0, 0, sizes.boxRows, 32}};
  return kernel;
}

std::string fa::test::barrier(int count, llvm::StringRef fence) {
  return ("%n = llvm.mlir.constant(" + std::to_string(count) +
          " : i32) : i32\n%c512 = llvm.mlir.constant(512 : i32) : i32\n"
          "%bar = llvm.getelementptr %shared[%c512] : (!llvm.ptr<3>, i32) -> "
          "!llvm.ptr<3>, i8\n"
          "%first = llvm.icmp \"eq\" %tid, %c0 : i32\n"
          "llvm.cond_br %first, ^init, ^all\n"
          "^init:\nnvvm.mbarrier.init %bar, %n : !llvm.ptr<3>, i32\n" +
          fence + "\nllvm.br ^all\n^all:\nnvvm.barrier0\nllvm.br ^go\n^go:\n")
      .str();
}

RunResult fa::test::runText(llvm::StringRef body, const RunSizes &sizes) {
  RunResult result;
  auto artifact = compileText(body, sizes.maxRegisters);
  if (!artifact)
    return {toString(artifact.takeError()), {}, {}};
  auto program =
      EmulatedProgram::load({artifact->object, artifact->sites, artifact->arch,
                             artifact->hostCpu, artifact->features});
  if (!program)
    return {toString(program.takeError()), {}, {}};
  std::vector<float> in(64);
  for (size_t n = 0; n < in.size(); ++n)
    in[n] = float(n);
  result.out.assign(128, 0);
  LaunchArgument arguments[2];
  int64_t words[9] = {1, 1, 1};
  size_t next = 3;
  for (auto [argument, data, size] :
       {std::tuple(&arguments[0], static_cast<void *>(in.data()), 64),
        {&arguments[1], static_cast<void *>(result.out.data()), 128}}) {
    argument->isTensor = true;
    argument->data = data;
    argument->sizes.assign(std::array<int64_t, 1>{size});
    argument->strides.assign(std::array<int64_t, 1>{1});
    words[next] = reinterpret_cast<intptr_t>(data);
    next += 3;
  }
  if (sizes.gaps) {
    arguments[0].sizes.assign(std::array<int64_t, 2>{8, 4});
    arguments[0].strides.assign(std::array<int64_t, 2>{8, 1});
  }
  if (sizes.boxRows) {
    arguments[0].sizes.assign(std::array<int64_t, 2>{2, 32});
    arguments[0].strides.assign(std::array<int64_t, 2>{32, 1});
  }
  llvm::StdThreadPool pool(llvm::hardware_concurrency(sizes.hostThreads));
  auto inParallel = [&](int64_t count,
                        const std::function<void(int64_t)> &each) {
    for (int64_t n = 0; n < count; ++n)
      pool.async([&each, n] { each(n); });
    pool.wait();
  };
  EmulatedProgram::Options options;
  options.seed = sizes.seed;
  options.count = true;
  auto counters = (*program)->run(makeKernel(sizes), arguments, words,
                                  sizes.blocks, options, inParallel);
  if (counters)
    result.counters = *counters;
  else
    result.faults = toString(counters.takeError());
  return result;
}
