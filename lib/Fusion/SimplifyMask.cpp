//===- SimplifyMask.cpp - masks as comparisons with bounds ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Fusion/MaskAnalysis.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace fa;
using arith::CmpIPredicate;

/// Which arguments of a mask region are the query and the key.
static constexpr unsigned kQuery = 2, kKey = 3;

namespace {

class MaskWriter {
public:
  MaskWriter(ImplicitLocOpBuilder &b, Block &mask) : b(b), mask(mask) {}

  Value write(const MaskRule &rule) {
    Value any;
    for (const KeyInterval &interval : rule.intervals) {
      Value all;
      for (const KeyBound &bound : interval.bounds)
        all = join<arith::AndIOp>(all, write(bound));
      if (!all)
        all = arith::ConstantOp::create(b, b.getBoolAttr(true));
      any = join<arith::OrIOp>(any, all);
    }
    return any;
  }

private:
  template <typename OpT> Value join(Value x, Value y) {
    return x ? Value(OpT::create(b, x, y)) : y;
  }

  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(b, value);
  }

  Value write(const KeyBound &bound) {
    Value any;
    auto predicate = bound.upper ? CmpIPredicate::sle : CmpIPredicate::sge;
    for (const AffineForm &form : bound.forms)
      any = join<arith::OrIOp>(
          any, arith::CmpIOp::create(b, predicate, mask.getArgument(kKey),
                                     write(form)));
    return any;
  }

  Value write(const AffineForm &form) {
    Value sum;
    auto add = [&](Value value, int64_t coefficient) {
      if (!isa<IndexType>(value.getType()))
        value = arith::IndexCastOp::create(b, b.getIndexType(), value);
      if (coefficient != 1)
        value = arith::MulIOp::create(b, value, index(coefficient));
      sum = join<arith::AddIOp>(sum, value);
    };
    if (form.query)
      add(mask.getArgument(kQuery), form.query);
    for (const auto &terms : {form.terms, form.rowTerms})
      for (auto [value, coefficient] : terms)
        if (coefficient)
          add(value, coefficient);
    if (form.constant || !sum)
      add(index(form.constant), 1);
    return sum;
  }

  ImplicitLocOpBuilder &b;
  Block &mask;
};

} // namespace

void fa::simplifyMask(Region &mask) {
  if (mask.empty())
    return;
  Block &block = mask.front();
  // Of other operations the comparisons are those that were written.
  bool isDear = llvm::any_of(block, [](Operation &op) {
    return isa<arith::MaxSIOp, arith::MinSIOp, arith::FloorDivSIOp,
               arith::DivSIOp, arith::DivUIOp>(op);
  });
  MaskRule rule = analyzeMask(mask);
  if (!isDear ||
      !llvm::all_of(rule.intervals, std::mem_fn(&KeyInterval::complete)))
    return;
  Operation *yield = block.getTerminator();
  ImplicitLocOpBuilder b(yield->getLoc(), yield);
  yield->setOperand(0, MaskWriter(b, block).write(rule));
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&op))
      op.erase();
}
