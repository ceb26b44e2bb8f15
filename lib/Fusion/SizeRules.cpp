//===- SizeRules.cpp - sizes that must agree in a function ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every dimension of every tensor is traced to an argument's; where operations
// ask for equal sizes, the arguments' sizes must be equal.
//
//===----------------------------------------------------------------------===//

#include "ArgumentView.h"
#include "ElementReads.h"
#include "SizeTable.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fa;
using namespace fa::tile;

namespace {

class SizeCollector {
public:
  explicit SizeCollector(func::FuncOp function)
      : function(function), sizes(function.getContext()) {}

  FailureOr<SmallVector<Attribute>> collect() {
    for (BlockArgument argument : function.getArguments())
      if (auto type = dyn_cast<RankedTensorType>(argument.getType()))
        for (int64_t d = 0; d < type.getRank(); ++d)
          sizes.set(argument, d,
                    {argument.getArgNumber(), d,
                     type.isDynamicDim(d) ? -1 : type.getDimSize(d)});
    for (Operation &op : function.getBody().front().without_terminator())
      if (failed(visit(&op)))
        return failure();
    int64_t number = function.getNumArguments();
    for (Value result :
         function.getBody().front().getTerminator()->getOperands()) {
      auto type = dyn_cast<RankedTensorType>(result.getType());
      if (!type)
        return function.emitError("expected results that are tensors, found ")
               << result.getType();
      for (int64_t d = 0; d < type.getRank(); ++d) {
        if (!type.isDynamicDim(d))
          continue; // part of the argument's type
        if (!sizes.contains(result, d) || sizes.lookup(result, d).isProduct())
          return function.emitError("the size of dimension ")
                 << d << " of result " << number - function.getNumArguments()
                 << " cannot be told from the arguments";
        TensorSize size = sizes.lookup(result, d);
        if (size.hasName())
          sizes.add(SizeRuleKind::Equal, {number, d}, size);
      }
      ++number;
    }
    return SmallVector<Attribute>(sizes.getRules());
  }

  const SizeTable &getSizes() const { return sizes; }

private:
  LogicalResult visit(Operation *op) {
    for (Value result : op->getResults())
      if (auto type = dyn_cast<RankedTensorType>(result.getType()))
        for (int64_t d = 0; d < type.getRank(); ++d)
          if (!type.isDynamicDim(d))
            sizes.set(result, d, TensorSize::of(type.getDimSize(d)));
    if (understand(op))
      return success();
    return op->emitOpError("has sizes that cannot be checked against the "
                           "arguments before a launch");
  }

  bool understand(Operation *op) {
    return llvm::TypeSwitch<Operation *, bool>(op)
        .Case([&](DotOp dot) { return understandDot(dot); })
        .Case([&](TransposeOp transpose) {
          bool good = true;
          for (auto [d, from] : llvm::enumerate(transpose.getPermutation()))
            good &= sizes.unite(transpose.getResult(), d, transpose.getInput(),
                                from);
          return good;
        })
        .Case([&](ExpandDimsOp expand) {
          bool good = true;
          int64_t at = expand.getDim();
          for (int64_t d = 0; d < SizeTable::rankOf(expand.getInput()); ++d)
            good &= sizes.unite(expand.getResult(), d < at ? d : d + 1,
                                expand.getInput(), d);
          return good;
        })
        .Case([&](BroadcastOp broadcast) {
          return sizes.setDynamic(broadcast.getResult(),
                                  broadcast.getSizes()) &&
                 understandBroadcast(broadcast);
        })
        .Case([&](RepeatOp repeat) {
          bool good = sizes.setDynamic(repeat.getResult(), repeat.getSizes());
          for (int64_t d = 1; d < SizeTable::rankOf(repeat.getInput()); ++d)
            good &= sizes.unite(repeat.getResult(), d - 1, repeat.getInput(),
                                d - 1);
          return good;
        })
        .Case<IotaOp>([&](IotaOp iota) {
          return sizes.setDynamic(iota.getResult(), iota.getSizes());
        })
        .Case([&](tensor::SplatOp splat) {
          return sizes.setDynamic(splat.getResult(), splat.getDynamicSizes());
        })
        .Case([&](tensor::EmptyOp empty) {
          return sizes.setDynamic(empty.getResult(), empty.getDynamicSizes());
        })
        .Case([&](ReduceOp reduce) {
          return sizes.dropDim(reduce.getResult(), reduce.getInput(),
                               reduce.getDim());
        })
        .Case([&](SoftmaxOp softmax) {
          return sizes.uniteAll(softmax.getResult(), softmax.getInput()) &&
                 (!softmax.getSink() ||
                  sizes.dropDim(softmax.getSink(), softmax.getInput(),
                                softmax.getNormalizedDim()));
        })
        .Case([&](DropoutOp dropout) {
          return sizes.uniteAll(dropout.getResult(), dropout.getInput());
        })
        .Case([&](LogSumExpOp lse) {
          return sizes.dropDim(lse.getResult(), lse.getInput(),
                               SizeTable::rankOf(lse.getInput()) - 1);
        })
        .Case([&](PagedOp paged) { return understandPaged(sizes, paged); })
        .Case([&](OnlineAttentionOp attention) {
          return understandAttention(sizes, attention);
        })
        .Case([&](AttentionBackwardOp backward) {
          return understandBackward(sizes, backward);
        })
        .Case([&](OnlineFinalizeOp finalize) {
          return sizes.uniteAll(finalize.getOutput(), finalize.getAcc()) &&
                 sizes.uniteAll(finalize.getLse(), finalize.getMax()) &&
                 (!finalize.getMaxOut() ||
                  sizes.uniteAll(finalize.getMaxOut(), finalize.getMax()));
        })
        .Case<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(
            [&](auto reshape) { return understandReshape(reshape); })
        .Case([&](tensor::ExtractSliceOp slice) {
          return understandSlice(slice);
        })
        .Case([&](linalg::LinalgOp linalg) { return understandLinalg(linalg); })
        .Case([&](func::CallOp call) { return understandCall(call); })
        .Default([&](Operation *op) { return understandElementwise(op); });
  }

  bool understandElementwise(Operation *op) {
    if (isa<arith::ConstantOp, tensor::DimOp>(op))
      return true;
    if (auto extract = dyn_cast<tensor::ExtractOp>(op))
      return readsFixedElement(extract);
    bool tensors =
        llvm::any_of(op->getResultTypes(), llvm::IsaPred<RankedTensorType>);
    if (!tensors)
      return isPure(op) && op->getNumRegions() == 0;
    if (!OpTrait::hasElementwiseMappableTraits(op))
      return false;
    for (Value operand : op->getOperands())
      if (isa<RankedTensorType>(operand.getType()) &&
          !sizes.uniteAll(op->getResult(0), operand))
        return false;
    return true;
  }

  bool understandDot(DotOp dot) {
    Value a = dot.getA(), c = dot.getB(), r = dot.getResult();
    int64_t rank = SizeTable::rankOf(a);
    int64_t k = dot.getTransposeB() ? rank - 1 : rank - 2;
    int64_t n = dot.getTransposeB() ? rank - 2 : rank - 1;
    bool good = sizes.unite(a, rank - 1, c, k) &&
                sizes.unite(r, rank - 2, a, rank - 2) &&
                sizes.unite(r, rank - 1, c, n);
    for (int64_t d = 0; d < rank - 2; ++d)
      good &= sizes.unite(r, d, a, d) && sizes.shares(a, c, d);
    if (dot.getAcc())
      good &= sizes.uniteAll(r, dot.getAcc());
    return good;
  }

  bool understandBroadcast(BroadcastOp op) {
    auto type = dyn_cast<RankedTensorType>(op.getInput().getType());
    if (!type)
      return true;
    for (int64_t d = 0; d < type.getRank(); ++d)
      if (type.getDimSize(d) != 1 &&
          !sizes.unite(op.getResult(), d, op.getInput(), d))
        return false;
    return true;
  }

  template <typename OpT> bool understandReshape(OpT op) {
    bool expands = isa<tensor::ExpandShapeOp>(op.getOperation());
    Value wide = expands ? Value(op->getResult(0)) : op->getOperand(0);
    Value tight = expands ? op->getOperand(0) : Value(op->getResult(0));
    auto type = cast<RankedTensorType>(wide.getType());
    for (auto [d, group] : llvm::enumerate(op.getReassociationIndices())) {
      SmallVector<int64_t> several;
      for (int64_t n : group)
        if (type.getDimSize(n) != 1)
          several.push_back(n);
      auto whole = cast<RankedTensorType>(tight.getType()).getDimSize(d);
      if (several.size() == 1) {
        if (!sizes.unite(wide, several[0], tight, d))
          return false;
      } else if (!several.empty() && ShapedType::isDynamic(whole)) {
        return false; // a product of sizes has no name
      }
    }
    return true;
  }

  /// Sizes of a part are constants, others those of the source.
  bool understandSlice(tensor::ExtractSliceOp op) {
    if (!isKnownSlice(op))
      return false;
    llvm::SmallBitVector dropped = op.getDroppedDims();
    int64_t kept = 0;
    for (int64_t d = 0; d < op.getSourceType().getRank(); ++d) {
      if (op.isDynamicSize(d) &&
          !sizes.unite(op.getResult(), kept, op.getSource(), d))
        return false;
      kept += !dropped.test(d);
    }
    return true;
  }

  bool understandLinalg(linalg::LinalgOp op) {
    WalkResult reads = op->walk([](tensor::ExtractOp extract) {
      return readsFixedElement(extract) ? WalkResult::advance()
                                        : WalkResult::interrupt();
    });
    if (reads.wasInterrupted())
      return false;
    // Every loop has one size, whichever operand says it.
    llvm::DenseMap<unsigned, std::pair<Value, int64_t>> loops;
    for (bool again : {false, true})
      for (OpOperand &operand : op->getOpOperands()) {
        AffineMap map = op.getMatchingIndexingMap(&operand);
        for (auto [d, expr] : llvm::enumerate(map.getResults())) {
          auto dim = dyn_cast<AffineDimExpr>(expr);
          if (!dim) {
            auto constant = dyn_cast<AffineConstantExpr>(expr);
            int64_t size =
                cast<ShapedType>(operand.get().getType()).getDimSize(d);
            if (!constant || constant.getValue() < 0 ||
                constant.getValue() >= size) // false if the size is dynamic
              return false;
            continue;
          }
          auto [it, isNew] = loops.try_emplace(
              dim.getPosition(), std::pair<Value, int64_t>(operand.get(), d));
          if (!isNew && again &&
              !sizes.unite(it->second.first, it->second.second, operand.get(),
                           d))
            return false;
        }
      }
    for (auto [n, result] : llvm::enumerate(op->getResults()))
      if (!sizes.uniteAll(result, op.getDpsInitOperand(n)->get()))
        return false;
    return true;
  }

  /// What is called is the caller's from here on: a part of it.
  bool understandCall(func::CallOp call) {
    auto callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
        call, call.getCalleeAttr());
    if (!callee || callee.isDeclaration() || !callee.getBody().hasOneBlock())
      return false;
    auto copy = [&](Value from, Value to) {
      for (int64_t d = 0; d < SizeTable::rankOf(from); ++d)
        if (sizes.contains(from, d))
          sizes.set(to, d, sizes.lookup(from, d));
    };
    for (auto [operand, argument] :
         llvm::zip(call.getOperands(), callee.getArguments()))
      copy(operand, argument);
    Block &body = callee.getBody().front();
    for (Operation &op : body.without_terminator())
      if (failed(visit(&op)))
        return false;
    for (auto [returned, result] :
         llvm::zip(body.getTerminator()->getOperands(), call.getResults()))
      copy(returned, result);
    return true;
  }

  func::FuncOp function;
  SizeTable sizes;
};

} // namespace

FailureOr<SmallVector<Attribute>> fa::collectSizeRules(func::FuncOp function,
                                                       ArgumentSizes *sizes) {
  SizeCollector collector(function);
  FailureOr<SmallVector<Attribute>> rules = collector.collect();
  if (sizes)
    collector.getSizes().addTo(*sizes);
  return rules;
}
