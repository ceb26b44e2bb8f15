//===- InstructionOrder.cpp - what the back end may not reorder -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The back end schedules a loop's body as one block and, left alone, moves what
// waits for the next tile's loads in front of this tile's dots, and all reads
// of V in front of the softmax, where they take registers.
//
//===----------------------------------------------------------------------===//

#include "AmdLowerings.h"

#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"

using namespace mlir;
using namespace fa;
using namespace fa::tgpu;

/// Kinds of instructions (LLVM, "User Guide for AMDGPU Backend",
/// llvm.amdgcn.sched.group.barrier).
static constexpr int32_t kMfma = 0x8, kSharedRead = 0x100;

/// Reads under way in front of the first mfma: as far as one's latency, some 64
/// cycles (CDNA3 ISA, "Local Data Share"), is covered by those of two others.
static constexpr int64_t kReadsAhead = 3;

void fa::keepOrder(AmdContext &ctx) {
  ROCDL::SchedBarrier::create(ctx.b, /*mask=*/0);
}

void fa::spreadReads(AmdContext &ctx, Value operand, int64_t products) {
  ImplicitLocOpBuilder &b = ctx.b;
  auto group = [&](int32_t kind, int64_t count) {
    ROCDL::SchedGroupBarrier::create(b, kind, count, /*groupId=*/0);
  };
  int64_t reads = ctx.wideReads.lookup(operand);
  if (reads > kReadsAhead && products % reads == 0) {
    group(kSharedRead, kReadsAhead);
    for (int64_t n = kReadsAhead; n < reads; ++n) {
      group(kMfma, products / reads);
      group(kSharedRead, 1);
    }
    group(kMfma, kReadsAhead * products / reads);
  }
  keepOrder(ctx);
}
