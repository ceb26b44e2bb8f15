//===- DropAsserts.cpp - drop-simt-asserts --------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TileGPU/TileGPU.h"
#include "fa/Conversion/Passes.h"

#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace fa;

namespace fa {
#define GEN_PASS_DEF_DROPSIMTASSERTS
#include "fa/Conversion/Passes.h.inc"
} // namespace fa

namespace {

struct DropSimtAsserts final : fa::impl::DropSimtAssertsBase<DropSimtAsserts> {
  void runOnOperation() override {
    getOperation()->walk([](tgpu::SimtAssertOp op) { op.erase(); });
  }
};

} // namespace
