//===- NarrowFloats.cpp - half and bfloat without a run-time library ------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NarrowFloats.h"

#include "llvm/Analysis/VectorUtils.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/Utils/Local.h"

using namespace llvm;
using namespace fa;

namespace {

/// Rewrites one instruction after the other. All values may be vectors.
class Expander {
public:
  Expander(LLVMContext &context, const HostInfo &host)
      : b(context), host(host) {}

  /// Whether `instruction` was rewritten; nothing uses it then.
  bool expand(Instruction &instruction);

private:
  /// Whether the host cannot compute with `type`.
  bool isNarrow(Type *type) const {
    type = type->getScalarType();
    return (type->isHalfTy() && !host.convertsHalf) ||
           (type->isBFloatTy() && !host.convertsBfloat);
  }
  bool isNarrow(const Value *value) const { return isNarrow(value->getType()); }

  /// A type of `type`'s shape.
  static Type *withScalar(Type *type, Type *scalar) {
    auto *vector = dyn_cast<VectorType>(type);
    return vector ? VectorType::get(scalar, vector->getElementCount()) : scalar;
  }
  Type *integers(Type *type, unsigned bits) {
    return withScalar(type, b.getIntNTy(bits));
  }
  Type *floats(Type *type) { return withScalar(type, b.getFloatTy()); }
  Type *doubles(Type *type) { return withScalar(type, b.getDoubleTy()); }

  Value *constant(Value *like, uint64_t value) {
    return ConstantInt::get(like->getType(), value);
  }

  /// The bits of `value`, of `bits` each.
  Value *bitsOf(Value *value, unsigned bits) {
    return b.CreateBitCast(value, integers(value->getType(), bits));
  }

  Value *halfToFloat(Value *value);
  Value *bfloatToFloat(Value *value);
  Value *floatToHalf(Value *value);
  Value *floatToBfloat(Value *value);
  Value *doubleToOddFloat(Value *value);

  /// `value` of a narrow type as float, exactly; any other as it is.
  Value *widen(Value *value);
  /// `value`, float or double, rounded to `type`.
  Value *round(Value *value, Type *type);

  Value *expandCast(CastInst &cast);
  Value *expandMove(Instruction &move);
  Value *expandPhi(PHINode &phi);
  Value *expandIntrinsic(IntrinsicInst &call);

  IRBuilder<> b;
  const HostInfo &host;
};

} // namespace

/// The exponent is moved by an addition. A denormal's leading one is found by
/// a subtraction of floats none of which is a denormal, so that a process that
/// flushes these to zero gets the same numbers.
Value *Expander::halfToFloat(Value *value) {
  Type *words = integers(value->getType(), 32);
  Value *bits = b.CreateZExt(bitsOf(value, 16), words);
  Value *magnitude = b.CreateAnd(bits, constant(bits, 0x7fff));
  Value *shifted = b.CreateShl(magnitude, constant(bits, 13));
  Value *normal = b.CreateAdd(shifted, constant(bits, 112 << 23));
  // Infinity and NaN, which becomes a quiet one.
  Value *special = b.CreateOr(
      shifted,
      b.CreateSelect(b.CreateICmpEQ(magnitude, constant(bits, 0x7c00)),
                     constant(bits, 0x7f800000), constant(bits, 0x7fc00000)));
  Value *least = constant(bits, 113 << 23); // 2^-14
  Type *type = floats(value->getType());
  Value *denormal =
      bitsOf(b.CreateFSub(b.CreateBitCast(b.CreateAdd(shifted, least), type),
                          b.CreateBitCast(least, type)),
             32);
  Value *result = b.CreateSelect(
      b.CreateICmpULT(magnitude, constant(bits, 0x0400)), denormal,
      b.CreateSelect(b.CreateICmpUGE(magnitude, constant(bits, 0x7c00)),
                     special, normal));
  Value *sign = b.CreateShl(b.CreateAnd(bits, constant(bits, 0x8000)),
                            constant(bits, 16));
  return b.CreateBitCast(b.CreateOr(result, sign), type);
}

Value *Expander::bfloatToFloat(Value *value) {
  Value *bits = b.CreateZExt(bitsOf(value, 16), integers(value->getType(), 32));
  return b.CreateBitCast(b.CreateShl(bits, constant(bits, 16)),
                         floats(value->getType()));
}

/// Ties go to even by adding, below the last bit that stays, half of it less
/// one, and one if that bit is set. Where the result is a denormal of half, an
/// addition of 0.5 puts its last bit at the last bit of a float.
Value *Expander::floatToHalf(Value *value) {
  Type *type = value->getType();
  Value *bits = bitsOf(value, 32);
  Value *magnitude = b.CreateAnd(bits, constant(bits, 0x7fffffff));
  Value *odd = b.CreateAnd(b.CreateLShr(magnitude, constant(bits, 13)),
                           constant(bits, 1));
  Value *biased = b.CreateSub(magnitude, constant(bits, (112 << 23) - 0xfff));
  Value *normal = b.CreateLShr(b.CreateAdd(biased, odd), constant(bits, 13));
  Value *half = constant(bits, 126 << 23); // 0.5
  Value *denormal =
      b.CreateSub(bitsOf(b.CreateFAdd(b.CreateBitCast(magnitude, type),
                                      b.CreateBitCast(half, type)),
                         32),
                  half);
  Value *nan =
      b.CreateOr(b.CreateAnd(b.CreateLShr(magnitude, constant(bits, 13)),
                             constant(bits, 0x3ff)),
                 constant(bits, 0x7e00));
  Value *isNan = b.CreateICmpUGT(magnitude, constant(bits, 0x7f800000));
  Value *special = b.CreateSelect(isNan, nan, constant(bits, 0x7c00));
  Value *result = b.CreateSelect(
      b.CreateICmpULT(magnitude, constant(bits, 113 << 23)), denormal,
      b.CreateSelect(b.CreateICmpUGE(magnitude, constant(bits, 143 << 23)),
                     special, normal));
  Value *sign = b.CreateAnd(b.CreateLShr(bits, constant(bits, 16)),
                            constant(bits, 0x8000));
  Value *word = b.CreateTrunc(b.CreateOr(result, sign), integers(type, 16));
  return b.CreateBitCast(word, withScalar(type, b.getHalfTy()));
}

Value *Expander::floatToBfloat(Value *value) {
  Type *type = value->getType();
  Value *bits = bitsOf(value, 32);
  Value *odd =
      b.CreateAnd(b.CreateLShr(bits, constant(bits, 16)), constant(bits, 1));
  Value *rounded = b.CreateAdd(bits, b.CreateAdd(odd, constant(bits, 0x7fff)));
  Value *word = b.CreateTrunc(b.CreateLShr(rounded, constant(bits, 16)),
                              integers(type, 16));
  Value *isNan = b.CreateFCmpUNO(value, value);
  word = b.CreateSelect(isNan, constant(word, 0x7fc0), word);
  return b.CreateBitCast(word, withScalar(type, b.getBFloatTy()));
}

/// Rounds to odd: where the float is not exact its last bit is set, so that
/// rounding it once more gives what rounding the double would (Boldo and
/// Melquiond, "Emulation of FMA and correctly rounded sums: proved algorithms
/// using rounding to odd", 2008).
Value *Expander::doubleToOddFloat(Value *value) {
  Type *type = floats(value->getType());
  Value *nearest = b.CreateFPTrunc(value, type);
  Value *back = b.CreateFPExt(nearest, value->getType());
  Value *bits = bitsOf(nearest, 32);
  Value *isEven =
      b.CreateICmpEQ(b.CreateAnd(bits, constant(bits, 1)), constant(bits, 0));
  // Not of a NaN, which is no number that was rounded.
  Value *moved = b.CreateAnd(isEven, b.CreateFCmpONE(back, value));
  Type *words = integers(value->getType(), 64);
  auto magnitudeOf = [&](Value *number) {
    Value *word = b.CreateBitCast(number, words);
    return b.CreateAnd(word, constant(word, ~0ull >> 1));
  };
  Value *tooFar = b.CreateICmpUGT(magnitudeOf(back), magnitudeOf(value));
  Value *odd = b.CreateSelect(tooFar, b.CreateSub(bits, constant(bits, 1)),
                              b.CreateAdd(bits, constant(bits, 1)));
  return b.CreateBitCast(b.CreateSelect(moved, odd, bits), type);
}

Value *Expander::widen(Value *value) {
  if (!isNarrow(value))
    return value;
  return value->getType()->getScalarType()->isHalfTy() ? halfToFloat(value)
                                                       : bfloatToFloat(value);
}

Value *Expander::round(Value *value, Type *type) {
  if (value->getType()->getScalarType()->isDoubleTy())
    value = doubleToOddFloat(value);
  if (!isNarrow(type))
    return b.CreateFPTrunc(value, type);
  return type->getScalarType()->isHalfTy() ? floatToHalf(value)
                                           : floatToBfloat(value);
}

Value *Expander::expandCast(CastInst &cast) {
  Value *from = cast.getOperand(0);
  Type *to = cast.getType();
  switch (cast.getOpcode()) {
  case Instruction::FPTrunc: {
    Type *kind = to->getScalarType();
    // From double no CPU without AVX512_FP16 has an instruction.
    bool isDouble = from->getType()->getScalarType()->isDoubleTy();
    if (!isNarrow(to) &&
        !(isDouble && (kind->isHalfTy() || kind->isBFloatTy())))
      return nullptr;
    return round(from, to);
  }
  case Instruction::FPExt:
    if (!isNarrow(from))
      return nullptr;
    return to->getScalarType()->isDoubleTy() ? b.CreateFPExt(widen(from), to)
                                             : widen(from);
  case Instruction::FPToSI:
  case Instruction::FPToUI:
    return isNarrow(from) ? b.CreateCast(cast.getOpcode(), widen(from), to)
                          : nullptr;
  case Instruction::SIToFP:
  case Instruction::UIToFP:
    // A double has all integers of 32 bits.
    return isNarrow(to)
               ? round(b.CreateCast(cast.getOpcode(), from, doubles(to)), to)
               : nullptr;
  default: // moves bits
    return nullptr;
  }
}

/// What moves numbers moves words: a bfloat that is used in another block than
/// its own LLVM keeps as a float, and rounds.
Value *Expander::expandMove(Instruction &move) {
  auto fromWords = [&](Value *words) {
    return b.CreateBitCast(words, move.getType());
  };
  auto wordsOf = [&](unsigned operand) {
    return bitsOf(move.getOperand(operand), 16);
  };
  if (auto *store = dyn_cast<StoreInst>(&move)) {
    if (isNarrow(store->getValueOperand()))
      store->setOperand(0, wordsOf(0));
    return nullptr;
  }
  if (!isNarrow(&move))
    return nullptr;
  switch (move.getOpcode()) {
  case Instruction::PHI:
    return expandPhi(cast<PHINode>(move));
  case Instruction::Select:
    return fromWords(
        b.CreateSelect(move.getOperand(0), wordsOf(1), wordsOf(2)));
  case Instruction::Freeze:
    return fromWords(b.CreateFreeze(wordsOf(0)));
  case Instruction::ExtractElement:
    return fromWords(b.CreateExtractElement(wordsOf(0), move.getOperand(1)));
  case Instruction::InsertElement:
    return fromWords(
        b.CreateInsertElement(wordsOf(0), wordsOf(1), move.getOperand(2)));
  case Instruction::ShuffleVector:
    return fromWords(
        b.CreateShuffleVector(wordsOf(0), wordsOf(1),
                              cast<ShuffleVectorInst>(move).getShuffleMask()));
  case Instruction::Load: {
    auto *words = cast<LoadInst>(b.Insert(move.clone()));
    words->mutateType(integers(move.getType(), 16));
    return fromWords(words);
  }
  default:
    return nullptr;
  }
}

Value *Expander::expandPhi(PHINode &phi) {
  PHINode *words =
      b.CreatePHI(integers(phi.getType(), 16), phi.getNumIncomingValues());
  for (auto [value, block] : zip_equal(phi.incoming_values(), phi.blocks())) {
    b.SetInsertPoint(block->getTerminator());
    words->addIncoming(bitsOf(value, 16), block);
  }
  b.SetInsertPoint(phi.getParent()->getFirstInsertionPt());
  return b.CreateBitCast(words, phi.getType());
}

/// Functions of numbers, of which float's are the same functions; others move
/// values.
Value *Expander::expandIntrinsic(IntrinsicInst &call) {
  Intrinsic::ID id = call.getIntrinsicID();
  bool computes =
      isTriviallyVectorizable(id) || (id >= Intrinsic::vector_reduce_fadd &&
                                      id <= Intrinsic::vector_reduce_fmul);
  if (!computes || !(isNarrow(&call) || any_of(call.args(), [&](Value *value) {
                       return isNarrow(value);
                     })))
    return nullptr;
  SmallVector<Value *> arguments;
  for (Value *argument : call.args())
    arguments.push_back(widen(argument));
  Type *result = isNarrow(&call) ? floats(call.getType()) : call.getType();
  auto *wide = b.CreateIntrinsic(result, id, arguments);
  if (isa<FPMathOperator>(call))
    wide->copyFastMathFlags(&call);
  return isNarrow(&call) ? round(wide, call.getType()) : wide;
}

bool Expander::expand(Instruction &instruction) {
  b.SetInsertPoint(&instruction);
  Value *result = nullptr;
  if (auto *cast = dyn_cast<CastInst>(&instruction)) {
    result = expandCast(*cast);
  } else if (auto *call = dyn_cast<IntrinsicInst>(&instruction)) {
    result = expandIntrinsic(*call);
  } else if (auto *compare = dyn_cast<FCmpInst>(&instruction)) {
    if (isNarrow(compare->getOperand(0)))
      result =
          b.CreateFCmp(compare->getPredicate(), widen(compare->getOperand(0)),
                       widen(compare->getOperand(1)));
  } else if (isNarrow(&instruction) &&
             instruction.getOpcode() == Instruction::FNeg) {
    Value *bits = bitsOf(instruction.getOperand(0), 16);
    result = b.CreateBitCast(b.CreateXor(bits, constant(bits, 0x8000)),
                             instruction.getType());
  } else if (isNarrow(&instruction) && isa<BinaryOperator>(instruction)) {
    b.setFastMathFlags(instruction.getFastMathFlags());
    Value *wide = b.CreateBinOp(Instruction::BinaryOps(instruction.getOpcode()),
                                widen(instruction.getOperand(0)),
                                widen(instruction.getOperand(1)));
    b.clearFastMathFlags();
    result = round(wide, instruction.getType());
  } else {
    result = expandMove(instruction);
  }
  if (!result)
    return false;
  instruction.replaceAllUsesWith(result);
  return true;
}

/// Words that became numbers to become words again, perhaps of another size and
/// in another block, stay words: what crosses blocks as a vector of bfloat LLVM
/// keeps as floats, and rounds.
static void foldBitCasts(Function &function) {
  SmallVector<BitCastInst *> casts;
  for (Instruction &instruction : instructions(function))
    if (auto *cast = dyn_cast<BitCastInst>(&instruction))
      casts.push_back(cast);
  for (BitCastInst *back : casts) {
    auto *there = dyn_cast<BitCastInst>(back->getOperand(0));
    if (!there)
      continue;
    Value *words = there->getOperand(0);
    if (there->getSrcTy() == back->getDestTy())
      back->replaceAllUsesWith(words);
    else
      back->setOperand(0, words);
  }
  SmallVector<WeakTrackingVH> unused(casts.begin(), casts.end());
  RecursivelyDeleteTriviallyDeadInstructionsPermissive(unused);
}

void fa::expandNarrowFloats(Module &module, const HostInfo &host) {
  Expander expander(module.getContext(), host);
  for (Function &function : module) {
    SmallVector<Instruction *> all;
    for (Instruction &instruction : instructions(function))
      all.push_back(&instruction);
    for (Instruction *instruction : all)
      if (expander.expand(*instruction))
        instruction->eraseFromParent();
    foldBitCasts(function);
  }
}
