//===- ShareBitsTest.cpp - bits of positions are moved once ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ShareBits.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/Analysis/ConstantFolding.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/NoFolder.h"
#include "llvm/IR/Verifier.h"
#include <gtest/gtest.h>

#include <random>

using namespace llvm;

namespace {

/// A function of two numbers of 32 bits, without branches.
class TwoNumbers {
public:
  TwoNumbers() : module("test", context), builder(context) {
    Type *i32 = builder.getInt32Ty();
    auto *type = FunctionType::get(i32, {i32, i32}, false);
    function = Function::Create(type, Function::ExternalLinkage, "f", module);
    builder.SetInsertPoint(BasicBlock::Create(context, "", function));
  }

  Value *argument(unsigned n) { return function->getArg(n); }

  /// A result of `values` that no operation on bits gives.
  void finish(ArrayRef<Value *> values) {
    Value *sum = builder.getInt32(0);
    for (Value *value : values)
      sum = builder.CreateAdd(builder.CreateMul(sum, builder.getInt32(31)),
                              value);
    builder.CreateRet(sum);
  }

  /// Whether it changed.
  bool run() {
    FunctionAnalysisManager analyses;
    bool changed = !fa::ShareBits().run(*function, analyses).areAllPreserved();
    EXPECT_FALSE(verifyFunction(*function, &errs()));
    return changed;
  }

  uint64_t operator()(uint32_t x, uint32_t y) {
    DenseMap<Value *, Constant *> known;
    known[argument(0)] = builder.getInt32(x);
    known[argument(1)] = builder.getInt32(y);
    for (Instruction &op : instructions(function)) {
      SmallVector<Constant *> operands;
      for (Value *operand : op.operands())
        operands.push_back(isa<Constant>(operand) ? cast<Constant>(operand)
                                                  : known.at(operand));
      if (isa<ReturnInst>(op))
        return cast<ConstantInt>(operands[0])->getZExtValue();
      known[&op] =
          ConstantFoldInstOperands(&op, operands, module.getDataLayout());
    }
    return 0;
  }

  unsigned count(unsigned opcode) {
    return count_if(instructions(function),
                    [&](Instruction &op) { return op.getOpcode() == opcode; });
  }

  LLVMContext context;
  Module module;
  IRBuilder<NoFolder> builder;
  Function *function;
};

constexpr unsigned kElements[] = {0, 1, 8, 9, 16, 17, 24, 25};

/// Every other bit of `x`, side by side, as Z-order curves have coordinates.
Value *everyOther(IRBuilderBase &builder, Value *x) {
  const unsigned masks[] = {0x33333333, 0x0f0f0f0f, 0x00ff00ff, 0x0000ffff};
  x = builder.CreateAnd(x, 0x55555555);
  for (auto [n, mask] : enumerate(masks))
    x = builder.CreateAnd(builder.CreateOr(x, builder.CreateLShr(x, 1u << n)),
                          mask);
  return x;
}

} // namespace

TEST(ShareBitsTest, OfPositionsOneIsComputed) {
  TwoNumbers before, after;
  for (TwoNumbers *each : {&before, &after}) {
    // As tiles have them: bits 1 and 2 are the thread's, 7 and up the tile's.
    IRBuilderBase &builder = each->builder;
    Value *tile = builder.CreateShl(each->argument(0), 7);
    Value *x = builder.CreateOr(tile, builder.CreateAnd(each->argument(1), 6));
    SmallVector<Value *> found;
    for (unsigned element : kElements)
      found.push_back(
          everyOther(builder, element ? builder.CreateOr(x, element) : x));
    each->finish(found);
  }
  EXPECT_EQ(before.count(Instruction::And), 1 + 5 * std::size(kElements));
  ASSERT_TRUE(after.run());
  EXPECT_EQ(after.count(Instruction::And), 1 + 5u);
  EXPECT_EQ(after.count(Instruction::LShr), 4u);
  std::mt19937 random(0);
  for (unsigned n = 0; n < 100; ++n) {
    uint32_t x = random(), y = random();
    EXPECT_EQ(before(x, y), after(x, y)) << x << " " << y;
  }
}

TEST(ShareBitsTest, OthersStay) {
  auto rotated = [](IRBuilderBase &builder, Value *x, Value *y) {
    return builder.CreateOr(builder.CreateShl(x, 8), builder.CreateLShr(y, 24));
  };
  {
    TwoNumbers of; // one element
    Value *x = of.builder.CreateOr(of.argument(0), 5);
    of.finish({rotated(of.builder, x, x)});
    EXPECT_FALSE(of.run());
  }
  {
    TwoNumbers of; // numbers that have nothing in common
    SmallVector<Value *> found;
    for (unsigned element : kElements)
      found.push_back(rotated(of.builder,
                              of.builder.CreateOr(of.argument(0), element),
                              of.builder.CreateOr(of.argument(1), element)));
    of.finish(found);
    EXPECT_FALSE(of.run());
  }
  {
    TwoNumbers of; // sums, which carry
    SmallVector<Value *> found;
    for (unsigned element : kElements) {
      Value *x =
          of.builder.CreateAdd(of.argument(0), of.builder.getInt32(element));
      found.push_back(rotated(of.builder, x, x));
    }
    of.finish(found);
    EXPECT_FALSE(of.run());
  }
}

/// Functions of random operations: the same numbers, and others where a
/// constant of one of the last is another.
TEST(ShareBitsTest, RandomFunctions) {
  std::mt19937 random(1);
  unsigned changed = 0, faults = 0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    TwoNumbers before, after;
    for (TwoNumbers *each : {&before, &after}) {
      std::mt19937 choice(seed);
      IRBuilderBase &builder = each->builder;
      SmallVector<Value *> found;
      for (unsigned element = 0; element < 3; ++element) {
        std::mt19937 own(seed); // each element is computed in the same way
        Value *root = each->argument(own() % 2);
        SmallVector<Value *> values = {
            builder.CreateOr(root, choice() % 2 ? choice() : element)};
        for (unsigned n = 0; n < 12; ++n) {
          // Late ones more often, so that there is depth.
          auto any = [&] {
            return values[values.size() - 1 -
                          own() % std::min<size_t>(values.size(), 3)];
          };
          Value *x = any(), *y = any();
          switch (own() % 8) {
          case 0:
            x = builder.CreateAnd(x, own());
            break;
          case 1:
            x = builder.CreateShl(x, own() % 32);
            break;
          case 2:
            x = builder.CreateLShr(x, own() % 32);
            break;
          case 3:
            x = builder.CreateOr(x, own());
            break;
          case 4:
            x = builder.CreateZExt(builder.CreateTrunc(x, builder.getInt16Ty()),
                                   builder.getInt32Ty());
            break;
          case 5:
            x = own() % 4 ? x : builder.CreateXor(x, y);
            break;
          default:
            x = builder.CreateOr(x, y);
          }
          values.push_back(x);
        }
        found.push_back(values.back());
      }
      each->finish(found);
    }
    if (!after.run())
      continue;
    ++changed;
    auto differs = [&] {
      for (unsigned n = 0; n < 20; ++n) {
        uint32_t x = random() & random(), y = random() & random();
        if (before(x, y) != after(x, y))
          return true;
      }
      return false;
    };
    EXPECT_FALSE(differs()) << "seed " << seed;
    for (Instruction &op : instructions(after.function)) {
      auto *number =
          dyn_cast<ConstantInt>(op.getOperand(op.getNumOperands() - 1));
      if (op.getOpcode() != Instruction::Or || !number)
        continue;
      op.setOperand(1, ConstantInt::get(op.getType(), ~number->getValue()));
      faults += differs();
      break;
    }
  }
  EXPECT_GT(changed, 50u);
  EXPECT_GT(faults, 25u);
}
