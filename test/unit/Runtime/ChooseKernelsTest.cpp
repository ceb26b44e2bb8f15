//===- ChooseKernelsTest.cpp ----------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Runtime/ChooseKernels.h"

#include "fa/Frontend/BuildAttention.h"
#include "fa/Runtime/CompileCached.h"
#include "fa/Target/CompileKernel.h"
#include "llvm/Support/FileSystem.h"
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

class OneByOne : public ChooseKernels {};

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

/// A kernel by itself, from its text, is what it is in the program, also where
/// the list was in the cache.
TEST_P(OneByOne, KernelsHaveTheSameCode) {
  llvm::SmallString<128> folder;
  ASSERT_FALSE(
      llvm::sys::fs::createUniqueDirectory("flashtile-listed", folder));
  CacheOptions kept;
  kept.directory = folder.str();
  DiskCache keeps(kept);
  auto listed = cantFail(listKernels(cache, *module, "attention", options));
  auto first = cantFail(listKernels(keeps, *module, "attention", options));
  auto again = cantFail(listKernels(keeps, *module, "attention", options));
  EXPECT_EQ(first.plan.outcome, CacheOutcome::Miss);
  EXPECT_EQ(again.plan.outcome, CacheOutcome::Hit);
  EXPECT_EQ(again.texts, listed.texts);
  EXPECT_EQ(again.plan.artifact.kernels, listed.plan.artifact.kernels);
  const std::vector<KernelInfo> &kernels = listed.plan.artifact.kernels;
  ASSERT_EQ(listed.texts.size(), kernels.size());
  for (size_t number : {size_t(0), size_t(1), kernels.size() - 2}) {
    SCOPED_TRACE(kernels[number].symbol);
    EXPECT_EQ(kernels[number].follows, number == 1);
    CompileOptions one = options;
    one.kernels = {kernels[number].symbol};
    mlir::OwningOpRef<mlir::ModuleOp> copy = module->clone();
    auto expected = cantFail(compile(*copy, "attention", one));
    auto found =
        cantFail(compileKernel(listed.texts[number], kernels[number], options));
    EXPECT_FALSE(codeOf(found).empty());
    EXPECT_EQ(codeOf(found), codeOf(expected));
    EXPECT_EQ(found.kernels, expected.kernels);
  }
  EXPECT_FALSE(llvm::sys::fs::remove_directories(folder));
}

INSTANTIATE_TEST_SUITE_P(Targets, ChooseKernels,
                         testing::Values("host", "sm_80", "sm_90a", "gfx942"));
INSTANTIATE_TEST_SUITE_P(Cards, OneByOne,
                         testing::Values("sm_80", "sm_90a", "gfx942"));
