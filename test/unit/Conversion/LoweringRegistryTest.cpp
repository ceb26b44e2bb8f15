//===- LoweringRegistryTest.cpp -------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LoweringRegistry.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/OwningOpRef.h"

#include "gtest/gtest.h"

using namespace mlir;
using namespace fa;

namespace {

/// What any target has, and one that has more.
struct Context {
  LoweringRegistry registry;
  std::string called;
};
struct VendorContext : Context {};

class LoweringRegistryTest : public testing::Test {
protected:
  LoweringRegistryTest() {
    context.loadDialect<arith::ArithDialect>();
    ImplicitLocOpBuilder b(UnknownLoc::get(&context), &context);
    auto constant = arith::ConstantIntOp::create(b, 1, 32);
    one = OwningOpRef<Operation *>(constant);
    sum =
        OwningOpRef<Operation *>(arith::AddIOp::create(b, constant, constant));
  }

  MLIRContext context;
  OwningOpRef<Operation *> one, sum; ///< the sum is gone first
  VendorContext vendor;
};

} // namespace

static void lowerSum(Context &ctx, arith::AddIOp) { ctx.called += "any "; }
static LogicalResult refuseSum(VendorContext &ctx, arith::AddIOp) {
  ctx.called += "vendor ";
  return failure();
}

TEST_F(LoweringRegistryTest, FindsByType) {
  vendor.registry.add<Context>(vendor, lowerSum);
  const LoweringRegistry::Lowering *lower = vendor.registry.find(sum.get());
  ASSERT_TRUE(lower);
  EXPECT_TRUE(succeeded((*lower)(sum.get())));
  EXPECT_EQ(vendor.called, "any ");
  // The twin: another operation has none.
  EXPECT_FALSE(vendor.registry.find(one.get()));
}

TEST_F(LoweringRegistryTest, TheLastOneLowers) {
  vendor.registry.add<Context>(vendor, lowerSum);
  vendor.registry.add(vendor, refuseSum);
  EXPECT_TRUE(failed((*vendor.registry.find(sum.get()))(sum.get())));
  EXPECT_EQ(vendor.called, "vendor ");
}

TEST_F(LoweringRegistryTest, SkipsWithoutLowering) {
  vendor.registry.skip<arith::AddIOp>();
  EXPECT_TRUE(succeeded((*vendor.registry.find(sum.get()))(sum.get())));
  EXPECT_EQ(vendor.called, "");
}

static bool tryFirst(Context &ctx, arith::AddIOp) {
  ctx.called += "first ";
  return true;
}
static bool trySecond(VendorContext &ctx, arith::AddIOp op) {
  ctx.called += "second ";
  return op->hasAttr("test.taken");
}

TEST_F(LoweringRegistryTest, FormsAreTriedFromTheLastOn) {
  EXPECT_FALSE(vendor.registry.lowerByForm(sum.get()));
  vendor.registry.addForm<Context>(vendor, tryFirst);
  vendor.registry.addForm(vendor, trySecond);
  EXPECT_TRUE(vendor.registry.lowerByForm(sum.get()));
  EXPECT_EQ(vendor.called, "second first ");
  vendor.called.clear();
  sum.get()->setAttr("test.taken", UnitAttr::get(&context));
  EXPECT_TRUE(vendor.registry.lowerByForm(sum.get()));
  EXPECT_EQ(vendor.called, "second ");
  // The twin: a form is no lowering of its own, and is of one type.
  EXPECT_FALSE(vendor.registry.find(sum.get()));
  EXPECT_FALSE(vendor.registry.lowerByForm(one.get()));
}
