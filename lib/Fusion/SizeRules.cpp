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
#include "UnfusedKernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fa;
using namespace fa::tile;

namespace {

/// A size: what it is, if that is known, and the argument's dimension that it
/// is the size of, if there is one; of keys in pages the product of two.
struct Size {
  int64_t argument = -1, dim = 0;
  int64_t number = -1;                ///< -1: known at launch
  int64_t factor = -1, factorDim = 0; ///< the other argument of a product

  bool isProduct() const { return factor >= 0; }
  Size factorSize() const { return {factor, factorDim}; }
  static Size of(int64_t number) { return {-1, 0, number}; }
  bool hasName() const { return argument >= 0; }
  bool isKnown() const { return number >= 0; }
};

class SizeCollector {
public:
  explicit SizeCollector(func::FuncOp function) : function(function) {}

  FailureOr<SmallVector<Attribute>> collect() {
    for (BlockArgument argument : function.getArguments())
      if (auto type = dyn_cast<RankedTensorType>(argument.getType()))
        for (int64_t d = 0; d < type.getRank(); ++d)
          sizes[{argument, d}] = {argument.getArgNumber(), d,
                                  type.isDynamicDim(d) ? -1
                                                       : type.getDimSize(d)};
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
        if (!sizes.contains({result, d}) ||
            sizes.lookup({result, d}).isProduct())
          return function.emitError("the size of dimension ")
                 << d << " of result " << number - function.getNumArguments()
                 << " cannot be told from the arguments";
        Size size = sizes.lookup({result, d});
        if (size.hasName())
          add(SizeRuleKind::Equal, {number, d}, size);
      }
      ++number;
    }
    return rules;
  }

  /// The sizes that are those of an argument.
  void addTo(ArgumentSizes &named) const {
    for (auto [place, size] : sizes)
      if (size.hasName() && !size.isProduct())
        named[place] = {size.argument, size.dim};
  }

private:
  static int64_t rankOf(Value value) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    return type ? type.getRank() : 0;
  }

  void add(SizeRuleKind kind, Size x, Size y) {
    auto rule = SizeRuleAttr::get(function.getContext(), kind, x.argument,
                                  x.dim, y.argument, y.dim, /*factor=*/1);
    if (!llvm::is_contained(rules, rule))
      rules.push_back(rule);
  }

  /// Dimension d of `x` is as large as dimension e of `y`; one of them may not
  /// be known yet. False: it cannot be checked.
  bool unite(Value x, int64_t d, Value y, int64_t e) {
    bool knowsX = sizes.contains({x, d}), knowsY = sizes.contains({y, e});
    if (!knowsX && !knowsY)
      return false;
    if (!knowsX)
      sizes[{x, d}] = sizes.lookup({y, e});
    else if (!knowsY)
      sizes[{y, e}] = sizes.lookup({x, d});
    else if (!sizes.lookup({x, d}).hasName() && sizes.lookup({x, d}).isKnown())
      return adopt(x, d, sizes.lookup({y, e}));
    else
      return require(sizes.lookup({x, d}), sizes.lookup({y, e}));
    return true;
  }

  /// Dimension d of `x`, of which the number is known, takes the name of `y` if
  /// that is of the same size.
  bool adopt(Value x, int64_t d, Size y) {
    Size known = sizes.lookup({x, d});
    if (y.isKnown() && y.number == known.number)
      sizes[{x, d}] = y;
    return require(known, y);
  }

  bool require(Size x, Size y) {
    if (x.isKnown() && y.isKnown())
      return x.number == y.number;
    if (!x.hasName() || !y.hasName() || x.isProduct() != y.isProduct())
      return false; // a size that must be a number, or a product
    if (x.isProduct() && !require(x.factorSize(), y.factorSize()))
      return false;
    if (x.argument != y.argument || x.dim != y.dim)
      add(SizeRuleKind::Equal, x, y);
    return true;
  }

  bool uniteAll(Value x, Value y) {
    for (int64_t d = 0; d < rankOf(x); ++d)
      if (!unite(x, d, y, d))
        return false;
    return true;
  }

  LogicalResult visit(Operation *op) {
    for (Value result : op->getResults())
      if (auto type = dyn_cast<RankedTensorType>(result.getType()))
        for (int64_t d = 0; d < type.getRank(); ++d)
          if (!type.isDynamicDim(d))
            sizes[{result, d}] = Size::of(type.getDimSize(d));
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
            good &= unite(transpose.getResult(), d, transpose.getInput(), from);
          return good;
        })
        .Case([&](ExpandDimsOp expand) {
          bool good = true;
          int64_t at = expand.getDim();
          for (int64_t d = 0; d < rankOf(expand.getInput()); ++d)
            good &= unite(expand.getResult(), d < at ? d : d + 1,
                          expand.getInput(), d);
          return good;
        })
        .Case([&](BroadcastOp broadcast) {
          return setDynamic(broadcast.getResult(), broadcast.getSizes()) &&
                 understandBroadcast(broadcast);
        })
        .Case<IotaOp>([&](IotaOp iota) {
          return setDynamic(iota.getResult(), iota.getSizes());
        })
        .Case([&](tensor::SplatOp splat) {
          return setDynamic(splat.getResult(), splat.getDynamicSizes());
        })
        .Case([&](tensor::EmptyOp empty) {
          return setDynamic(empty.getResult(), empty.getDynamicSizes());
        })
        .Case([&](ReduceOp reduce) {
          return dropDim(reduce.getResult(), reduce.getInput(),
                         reduce.getDim());
        })
        .Case([&](SoftmaxOp softmax) {
          return uniteAll(softmax.getResult(), softmax.getInput()) &&
                 (!softmax.getSink() ||
                  dropDim(softmax.getSink(), softmax.getInput(),
                          softmax.getNormalizedDim()));
        })
        .Case([&](DropoutOp dropout) {
          return uniteAll(dropout.getResult(), dropout.getInput());
        })
        .Case([&](LogSumExpOp lse) {
          return dropDim(lse.getResult(), lse.getInput(),
                         rankOf(lse.getInput()) - 1);
        })
        .Case([&](PagedOp paged) { return understandPaged(paged); })
        .Case([&](OnlineAttentionOp attention) {
          return understandAttention(attention);
        })
        .Case([&](AttentionBackwardOp backward) {
          return understandBackward(backward);
        })
        .Case([&](OnlineFinalizeOp finalize) {
          return uniteAll(finalize.getOutput(), finalize.getAcc()) &&
                 uniteAll(finalize.getLse(), finalize.getMax()) &&
                 (!finalize.getMaxOut() ||
                  uniteAll(finalize.getMaxOut(), finalize.getMax()));
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
          !uniteAll(op->getResult(0), operand))
        return false;
    return true;
  }

  bool dropDim(Value rows, Value full, int64_t dim) {
    bool good = true;
    for (int64_t d = 0; d < rankOf(rows); ++d)
      good &= unite(rows, d, full, d < dim ? d : d + 1);
    return good;
  }

  bool understandDot(DotOp dot) {
    Value a = dot.getA(), c = dot.getB(), r = dot.getResult();
    int64_t rank = rankOf(a);
    int64_t k = dot.getTransposeB() ? rank - 1 : rank - 2;
    int64_t n = dot.getTransposeB() ? rank - 2 : rank - 1;
    bool good = unite(a, rank - 1, c, k) && unite(r, rank - 2, a, rank - 2) &&
                unite(r, rank - 1, c, n);
    for (int64_t d = 0; d < rank - 2; ++d)
      good &= unite(r, d, a, d) && shares(a, c, d);
    if (dot.getAcc())
      good &= uniteAll(r, dot.getAcc());
    return good;
  }

  /// Dimension d of `y` divides that of `x`.
  bool shares(Value x, Value y, int64_t d) {
    if (!sizes.contains({x, d}) || !sizes.contains({y, d}))
      return false;
    Size many = sizes.lookup({x, d}), few = sizes.lookup({y, d});
    if (few.number == 1 || (many.isKnown() && few.isKnown()))
      return true; // two numbers are the verifier's business
    if (!many.hasName() || !few.hasName())
      return false;
    if (many.argument != few.argument || many.dim != few.dim)
      add(SizeRuleKind::Multiple, many, few);
    return true;
  }

  /// The dynamic sizes of `result` are `values`: sizes of tensors or numbers.
  bool setDynamic(Value result, ValueRange values) {
    auto type = cast<RankedTensorType>(result.getType());
    auto next = values.begin();
    for (int64_t d = 0; d < type.getRank(); ++d) {
      if (!type.isDynamicDim(d))
        continue;
      Value size = *next++;
      APInt number;
      auto dim = size.getDefiningOp<tensor::DimOp>();
      if (matchPattern(size, m_ConstantInt(&number)))
        sizes[{result, d}] = Size::of(number.getSExtValue());
      else if (dim && dim.getConstantIndex() &&
               sizes.contains({dim.getSource(), *dim.getConstantIndex()}))
        sizes[{result, d}] =
            sizes.lookup({dim.getSource(), *dim.getConstantIndex()});
      else
        return false;
    }
    return true;
  }

  bool understandBroadcast(BroadcastOp op) {
    auto type = dyn_cast<RankedTensorType>(op.getInput().getType());
    if (!type)
      return true;
    for (int64_t d = 0; d < type.getRank(); ++d)
      if (type.getDimSize(d) != 1 &&
          !unite(op.getResult(), d, op.getInput(), d))
        return false;
    return true;
  }

  bool understandAttention(OnlineAttentionOp op) {
    Value q = op.getQ(), k = op.getK(), v = op.getV();
    bool good = unite(q, 0, k, 0) && unite(q, 0, v, 0) && unite(k, 1, v, 1) &&
                unite(k, 2, v, 2) && unite(q, 3, k, 3) &&
                unite(op.getAcc(), 3, v, 3) && shares(q, k, 1);
    for (int64_t d = 0; d < 3; ++d)
      good &= unite(op.getMax(), d, q, d) && unite(op.getAcc(), d, q, d);
    good &= uniteAll(op.getMaxOut(), op.getMax()) &&
            uniteAll(op.getSumOut(), op.getSum()) &&
            uniteAll(op.getAccOut(), op.getAcc());
    for (Region *region : {&op.getScore(), &op.getMask()})
      region->walk([&](tensor::ExtractOp extract) {
        good &= understandExtract(op, *region, extract);
      });
    return good;
  }

  bool understandBackward(AttentionBackwardOp op) {
    Value q = op.getQ(), k = op.getK(), v = op.getV(), output = op.getOutput();
    bool good = unite(q, 0, k, 0) && unite(q, 3, k, 3) && shares(q, k, 1) &&
                unite(output, 3, v, 3) && uniteAll(op.getDout(), output);
    for (int64_t d = 0; d < 3; ++d)
      good &= unite(v, d, k, d) && unite(output, d, q, d) &&
              unite(op.getLse(), d, q, d);
    if (op.getDlse())
      good &= uniteAll(op.getDlse(), op.getLse());
    for (auto [gradient, of] : {std::pair<Value, Value>(op.getDq(), q),
                                {op.getDk(), k},
                                {op.getDv(), v},
                                {op.getDsink(), op.getSink()}})
      good &= !gradient || uniteAll(gradient, of);
    for (auto [gradient, number] : llvm::zip(op.getDcaptures(), op.getWrt()))
      good &= uniteAll(gradient, op.getCaptures()[number]);
    // What scores read at coordinates is the verifier's business.
    return good && (op.getCaptures().empty() ||
                    llvm::all_of(op.getOperandTypes(), [](Type type) {
                      auto tensor = dyn_cast<RankedTensorType>(type);
                      return !tensor || tensor.hasStaticShape();
                    }));
  }

  /// A captured tensor is read at coordinates alone, or where types say that
  /// there is something to read.
  bool understandExtract(OnlineAttentionOp op, Region &region,
                         tensor::ExtractOp extract) {
    unsigned leading = region.getNumArguments() - op.getCaptures().size();
    unsigned number =
        cast<BlockArgument>(extract.getTensor()).getArgNumber() - leading;
    Value capture = op.getCaptures()[number];
    std::pair<Value, int64_t> coordinates[] = {
        {op.getQ(), 0}, {op.getQ(), 1}, {op.getQ(), 2}, {op.getK(), 2}};
    for (auto [d, index] : llvm::enumerate(extract.getIndices())) {
      if (hasFixedIndex(extract, d))
        continue;
      int64_t n = getCoordinate(index);
      std::optional<int64_t> bound = findBound(index, [&](int64_t n) {
        auto [value, dim] = coordinates[n];
        return typeOf(value).getDimSize(dim);
      });
      if (n < 0 && bound && *bound <= typeOf(capture).getDimSize(d))
        continue;
      if (n < 0 ||
          !unite(capture, d, coordinates[n].first, coordinates[n].second))
        return false;
    }
    return true;
  }

  bool understandPaged(PagedOp op) {
    Value pages = op.getPages(), table = op.getTable();
    if (!sizes.contains({table, 1}) || !sizes.contains({pages, 2}))
      return false;
    Size width = sizes.lookup({table, 1}), page = sizes.lookup({pages, 2});
    if (op.getType().isDynamicDim(2)) {
      if (!width.hasName() || !page.hasName())
        return false;
      sizes[{op.getResult(), 2}] = {width.argument, width.dim, /*number=*/-1,
                                    page.argument, page.dim};
    }
    return unite(op.getResult(), 0, table, 0) &&
           unite(op.getLengths(), 0, table, 0) &&
           unite(op.getResult(), 1, pages, 1) &&
           unite(op.getResult(), 3, pages, 3);
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
        if (!unite(wide, several[0], tight, d))
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
          !unite(op.getResult(), kept, op.getSource(), d))
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
              !unite(it->second.first, it->second.second, operand.get(), d))
            return false;
        }
      }
    for (auto [n, result] : llvm::enumerate(op->getResults()))
      if (!uniteAll(result, op.getDpsInitOperand(n)->get()))
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
      for (int64_t d = 0; d < rankOf(from); ++d)
        if (auto size = sizes.find({from, d}); size != sizes.end())
          sizes[{to, d}] = Size(size->second);
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
  llvm::DenseMap<std::pair<Value, int64_t>, Size> sizes;
  SmallVector<Attribute> rules;
};

} // namespace

FailureOr<SmallVector<Attribute>> fa::collectSizeRules(func::FuncOp function,
                                                       ArgumentSizes *sizes) {
  SizeCollector collector(function);
  FailureOr<SmallVector<Attribute>> rules = collector.collect();
  if (sizes)
    collector.addTo(*sizes);
  return rules;
}
