//===- ShareBits.cpp - bits of positions are moved once -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ShareBits.h"

#include "llvm/ADT/PostOrderIterator.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/Support/KnownBits.h"
#include "llvm/Transforms/Utils/Local.h"

using namespace llvm;

/// The number by which bits are moved or with which they are met; null where it
/// is no constant.
static const APInt *constantOf(const Instruction &op) {
  auto *number = dyn_cast<ConstantInt>(op.getOperand(op.getNumOperands() - 1));
  return number ? &number->getValue() : nullptr;
}

namespace {

/// A value f(root | x), of which `bits` are f(x). meets: whether two such
/// values meet in f, of which LLVM makes nothing.
struct Split {
  Value *root;
  APInt bits;
  bool meets = false;
};

class Sharer {
public:
  explicit Sharer(Function &function) : function(function) {}

  bool run();

private:
  Split splitOf(Value *value) {
    auto found = splits.find(value);
    if (found != splits.end())
      return found->second;
    return {value, APInt::getZero(value->getType()->getIntegerBitWidth())};
  }

  /// Notes what `op` does with bits, if that is all it does.
  void look(Instruction &op);

  /// f(root) of a value f(root | x).
  Value *ofRoot(Value *value);
  Value *create(Instruction &like, Value *first, Value *second, Value *root);

  Function &function;
  DenseMap<Value *, Split> splits;
  /// Those in which two meet.
  SmallVector<Instruction *> meetings;
  DenseMap<Value *, Value *> known;
  /// By operation, type and operands, of which those of an or have no order.
  DenseMap<std::pair<std::pair<unsigned, Type *>, std::pair<Value *, Value *>>,
           Instruction *>
      created;
  /// Behind which a root's own are created.
  DenseMap<Value *, Instruction *> last;
};

} // namespace

void Sharer::look(Instruction &op) {
  if (!op.getType()->isIntegerTy() || op.getType()->isIntegerTy(1))
    return;
  auto note = [&](const APInt &bits, const Split &of, bool meets = false) {
    splits.insert({&op, {of.root, bits, of.meets || meets}});
    if (of.meets || meets)
      meetings.push_back(&op);
  };
  if (isa<TruncInst, ZExtInst>(op)) {
    Value *from = op.getOperand(0);
    if (from->getType()->isIntegerTy(1))
      return;
    Split split = splitOf(from);
    return note(split.bits.zextOrTrunc(op.getType()->getIntegerBitWidth()),
                split);
  }
  auto *binary = dyn_cast<BinaryOperator>(&op);
  if (!binary)
    return;
  Split split = splitOf(op.getOperand(0));
  const APInt *number = constantOf(op);
  bool isShift = binary->isShift();
  if (isShift && (!number || number->uge(split.bits.getBitWidth())))
    return;
  switch (binary->getOpcode()) {
  case Instruction::And:
    return number ? note(split.bits & *number, split) : void();
  case Instruction::Shl:
    return note(split.bits.shl(*number), split);
  case Instruction::LShr:
    return note(split.bits.lshr(*number), split);
  case Instruction::Or: {
    if (number)
      return note(split.bits | *number, split);
    Split other = splitOf(op.getOperand(1));
    if (split.root == other.root)
      note(split.bits | other.bits, split, /*meets=*/true);
    return;
  }
  default:
    return;
  }
}

Value *Sharer::create(Instruction &like, Value *first, Value *second,
                      Value *root) {
  auto key = std::make_pair(std::make_pair(like.getOpcode(), like.getType()),
                            std::make_pair(first, second));
  auto swapped = key;
  std::swap(swapped.second.first, swapped.second.second);
  auto found = created.find(key);
  if (found == created.end() && like.isCommutative())
    found = created.find(swapped);
  if (found != created.end())
    return found->second;
  Instruction *op = like.clone();
  op->dropPoisonGeneratingFlags();
  op->setOperand(0, first);
  if (second)
    op->setOperand(1, second);
  Instruction *&before = last[root];
  if (before)
    op->insertAfter(before->getIterator());
  else if (auto *definition = dyn_cast<Instruction>(root))
    op->insertBefore(*definition->getInsertionPointAfterDef());
  else
    op->insertBefore(function.getEntryBlock().getFirstInsertionPt());
  before = op;
  return created[key] = op;
}

Value *Sharer::ofRoot(Value *value) {
  auto found = splits.find(value);
  if (found == splits.end())
    return value;
  if (Value *same = known.lookup(value))
    return same;
  auto &op = *cast<Instruction>(value);
  Value *root = found->second.root, *first = ofRoot(op.getOperand(0));
  const APInt *number = isa<BinaryOperator>(op) ? constantOf(op) : nullptr;
  Value *result;
  if (op.getOpcode() == Instruction::Or) {
    result = number ? first : create(op, first, ofRoot(op.getOperand(1)), root);
  } else if (op.getOpcode() == Instruction::And) {
    // instcombine has left out what is known of the element: elements share
    // what is said of the root.
    KnownBits bits = computeKnownBits(first, function.getDataLayout());
    APInt kept = *number & ~bits.Zero;
    result =
        kept == ~bits.Zero
            ? first
            : create(op, first, ConstantInt::get(op.getType(), kept), root);
  } else {
    result = create(op, first, number ? op.getOperand(1) : nullptr, root);
  }
  known[value] = result;
  return result;
}

bool Sharer::run() {
  for (BasicBlock *block : ReversePostOrderTraversal<Function *>(&function))
    for (Instruction &op : *block)
      look(op);
  // What is shared by two elements at least.
  DenseMap<Value *, unsigned> elements;
  for (Instruction *op : meetings)
    if (op->getOpcode() == Instruction::Or && !constantOf(*op) &&
        !splitOf(op).bits.isZero())
      ++elements[splitOf(op).root];
  SmallVector<WeakTrackingVH> dead;
  for (Instruction *op : meetings) {
    Split split = splitOf(op);
    if (elements.lookup(split.root) < 2)
      continue;
    Value *shared = ofRoot(op), *result = shared;
    if (!split.bits.isZero())
      result = IRBuilder<>(op).CreateOr(
          shared, ConstantInt::get(op->getType(), split.bits));
    op->replaceAllUsesWith(result);
    splits.insert({result, split});
    known.insert({result, shared});
    dead.push_back(op);
  }
  for (WeakTrackingVH &op : reverse(dead))
    if (op)
      RecursivelyDeleteTriviallyDeadInstructions(op);
  return !dead.empty();
}

PreservedAnalyses fa::ShareBits::run(Function &function,
                                     FunctionAnalysisManager &) {
  if (!Sharer(function).run())
    return PreservedAnalyses::all();
  PreservedAnalyses preserved;
  preserved.preserveSet<CFGAnalyses>();
  return preserved;
}
