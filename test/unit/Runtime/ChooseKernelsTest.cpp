//===- ChooseKernelsTest.cpp ----------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Runtime/ChooseKernels.h"

#include "fa/Frontend/BuildAttention.h"
#include "fa/Runtime/CompileCached.h"
#include "gtest/gtest.h"

using namespace fa;
using llvm::cantFail;

namespace {

/// An attention, and a launch of it.
class ChooseKernels : public testing::TestWithParam<const char *> {
protected:
  ChooseKernels() : context(registry()) {
    options.arch = GetParam();
    options.ptxas = "none";
    module = cantFail(buildAttention(
        context, cantFail(parseAttentionSpec("type=f16 d=64")).problem));
    std::vector<int64_t> sizes = {1, 8, 1024, 64};
    std::vector<int64_t> strides = {8 * 1024 * 64, 1024 * 64, 64, 1};
    auto tensor = [&] {
      return LaunchArgument::tensor(data, ElementType::F16, sizes, strides);
    };
    launch = {
        {tensor(), tensor(), tensor(), LaunchArgument::f32(0.125f), tensor()},
        options.arch == "host" ? kHost : 132,
        kMaxResidentBlocks};
  }

  static mlir::DialectRegistry registry() {
    mlir::DialectRegistry registry;
    registerDialects(registry);
    return registry;
  }

  static std::string codeOf(const Artifact &artifact) {
    return artifact.ptx + artifact.object;
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  CompileOptions options;
  DiskCache cache{CacheOptions()};
  alignas(16) char data[16] = {};
  PlannedLaunch launch;
};

} // namespace

/// The program itself is not looked at again, and the code is that of a
/// compilation from the start.
TEST_P(ChooseKernels, WhatWasPlannedIsCompiled) {
  auto chosen =
      cantFail(chooseKernels(cache, *module, "attention", launch, options));
  ASSERT_TRUE(chosen.planned);
  ASSERT_FALSE(options.kernels.empty());
  EXPECT_GE(chosen.planned->kernels.size(), options.kernels.size());
  mlir::OwningOpRef<mlir::ModuleOp> nothing =
      mlir::ModuleOp::create(module->getLoc());
  auto planned = cantFail(compileCached(cache, *nothing, "attention", options,
                                        std::move(chosen.planned)));
  auto compiled = cantFail(compileCached(cache, *module, "attention", options));
  EXPECT_EQ(planned.artifact.kernels, compiled.artifact.kernels);
  EXPECT_FALSE(codeOf(planned.artifact).empty());
  EXPECT_EQ(codeOf(planned.artifact), codeOf(compiled.artifact));
  // Without what was planned there is nothing to compile.
  auto failed = compileCached(cache, *nothing, "attention", options);
  EXPECT_FALSE(failed);
  llvm::consumeError(failed.takeError());
}

INSTANTIATE_TEST_SUITE_P(Targets, ChooseKernels,
                         testing::Values("host", "sm_80", "sm_90a", "gfx942"));
