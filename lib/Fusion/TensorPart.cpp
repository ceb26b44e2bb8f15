//===- TensorPart.cpp - what is one kernel on tensors ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TensorPart.h"

#include "FindSource.h"
#include "KernelBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Support/DebugStringHelper.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fa;
using namespace fa::tile;

static Type elementOf(Value value) {
  return getElementTypeOrSelf(value.getType());
}

/// Elements that tiles have on every target.
static bool isTileElement(Type type) {
  return type.isF32() || type.isF16() || type.isBF16() || type.isIndex() ||
         type.isInteger(1) || type.isInteger(32) || type.isInteger(64);
}

static bool isTileFloat(Type type) {
  return type.isF32() || type.isF16() || type.isBF16();
}

bool fa::isTileElementwise(Operation *op) {
  if (op->getNumResults() != 1 || op->getNumRegions() != 0 || !isPure(op) ||
      !OpTrait::hasElementwiseMappableTraits(op))
    return false;
  // What tiles have no code for on some target is left out.
  bool isKnown =
      isa<arith::ArithDialect>(op->getDialect()) ||
      isa<math::AbsFOp, math::ExpOp, math::Exp2Op, math::LogOp, math::Log2Op,
          math::RsqrtOp, math::SqrtOp, math::TanhOp, math::ErfOp, math::SinOp,
          math::CosOp, math::FloorOp, math::CeilOp, math::FmaOp>(op);
  auto hasGoodElement = [](Value value) {
    return isTileElement(elementOf(value));
  };
  return isKnown && hasGoodElement(op->getResult(0)) &&
         llvm::all_of(op->getOperands(), hasGoodElement);
}

/// Whether `value` is read as it lies in memory, but for a conversion.
static bool isReadAsItIs(const TensorPart &part, unsigned node) {
  const TensorNode *at = &part.nodes[node];
  while (isa_and_nonnull<arith::ExtFOp, arith::TruncFOp>(
      at->value.getDefiningOp()))
    at = &part.nodes[at->operands[0]];
  return at->memory.has_value();
}

namespace {

class PartMatcher {
public:
  PartMatcher(func::FuncOp function, std::string &reason) : reason(reason) {
    part.function = function;
  }

  FailureOr<TensorPart> match() {
    {
      // Where sizes are not understood they have no names.
      ScopedDiagnosticHandler quiet(part.function.getContext(),
                                    [](Diagnostic &) { return success(); });
      (void)collectSizeRules(part.function, &sizes);
    }
    if (!readResults())
      return failure();
    if (!part.sum)
      part.rows = axesOf(part.results.back().dims);
    part.rows = part.axes.resolve(part.rows);
    part.columns = part.axes.resolve(part.columns);
    part.inner = part.axes.resolve(part.inner);
    if (!checkAxes())
      return failure();
    return std::move(part);
  }

private:
  std::nullopt_t fail(const Twine &why) {
    if (reason.empty())
      reason = why.str();
    return std::nullopt;
  }
  bool refuse(const Twine &why) {
    fail(why);
    return false;
  }
  std::nullopt_t failAt(Operation *op, const Twine &why) {
    return fail("'" + op->getName().getStringRef() + "' " + why);
  }

  AxisSize sizeOf(Value value, int64_t dim) const {
    AxisSize size = {typeOf(value).getDimSize(dim), std::nullopt};
    if (auto found = sizes.find({value, dim}); found != sizes.end())
      size.name = found->second;
    return size;
  }
  SmallVector<AxisSize> sizesOf(Value value, ArrayRef<int64_t> dims) const {
    return llvm::map_to_vector(dims,
                               [&](int64_t dim) { return sizeOf(value, dim); });
  }

  AxisList axesOf(ArrayRef<AxisList> dims) const {
    AxisList all;
    for (const AxisList &dim : dims)
      all.append(part.axes.resolve(dim));
    return all;
  }

  //===--- Values ---===//

  /// The last result first: those before it may be on its way.
  bool readResults() {
    Operation *end = part.function.getBody().front().getTerminator();
    part.results.resize(end->getNumOperands());
    for (size_t n = end->getNumOperands(); n-- > 0;) {
      Value value = end->getOperand(n);
      auto known = llvm::find_if(part.nodes, [&](const TensorNode &node) {
        return node.value == value;
      });
      SmallVector<AxisList> dims;
      if (known != part.nodes.end())
        dims = known->dims;
      else
        for (int64_t d = 0; d < typeOf(value).getRank(); ++d)
          dims.push_back(part.axes.add(sizeOf(value, d)));
      // Those of others are the same, or new names of them.
      if (n + 1 == end->getNumOperands())
        part.axes.settle();
      auto node = visit(value, dims);
      if (!node)
        return false;
      part.axes.settle();
      part.results[n] = {*node, std::move(dims)};
    }
    return true;
  }

  /// What is read, computed or made at `dims`.
  std::optional<unsigned> visit(Value value, SmallVector<AxisList> dims) {
    if (isa<BlockArgument>(value) ||
        value.getDefiningOp<tensor::ExtractSliceOp>())
      return addMemory(value, std::move(dims));
    Operation *op = value.getDefiningOp();
    return llvm::TypeSwitch<Operation *, std::optional<unsigned>>(op)
        .Case([&](TransposeOp transpose) {
          SmallVector<AxisList> inner(dims.size());
          for (auto [d, from] : llvm::enumerate(transpose.getPermutation()))
            inner[from] = dims[d];
          return visit(transpose.getInput(), std::move(inner));
        })
        .Case([&](ExpandDimsOp expand) {
          dims.erase(dims.begin() + expand.getDim());
          return visit(expand.getInput(), std::move(dims));
        })
        .Case([&](tensor::ExpandShapeOp expand) {
          SmallVector<AxisList> inner;
          for (const auto &group : expand.getReassociationIndices()) {
            inner.emplace_back();
            for (int64_t d : group)
              inner.back().append(dims[d]);
          }
          return visit(expand.getSrc(), std::move(inner));
        })
        .Case([&](tensor::CollapseShapeOp collapse) -> std::optional<unsigned> {
          SmallVector<AxisList> inner;
          for (auto [d, group] :
               llvm::enumerate(collapse.getReassociationIndices())) {
            auto parts =
                part.axes.divide(dims[d], sizesOf(collapse.getSrc(), group));
            if (!parts)
              return failAt(op, "joins dimensions that cannot be told apart");
            inner.append(*parts);
          }
          return visit(collapse.getSrc(), std::move(inner));
        })
        .Case([&](BroadcastOp broadcast) -> std::optional<unsigned> {
          auto input =
              dyn_cast<RankedTensorType>(broadcast.getInput().getType());
          if (!input)
            return addMade(value, std::move(dims), {broadcast.getInput()});
          for (int64_t d = 0; d < input.getRank(); ++d)
            if (input.getDimSize(d) == 1)
              dims[d].clear();
          return visit(broadcast.getInput(), std::move(dims));
        })
        .Case<arith::ConstantOp>([&](auto constant) -> std::optional<unsigned> {
          if (!isa<SplatElementsAttr>(constant.getValue()))
            return failAt(op, "has elements that differ");
          return addMade(value, std::move(dims), {});
        })
        .Case<IotaOp>([&](auto) { return addMade(value, std::move(dims), {}); })
        .Case([&](DotOp dot) { return addDot(dot, std::move(dims)); })
        .Case(
            [&](ReduceOp reduce) { return addReduce(reduce, std::move(dims)); })
        .Default(
            [&](Operation *) { return addElementwise(op, std::move(dims)); });
  }

  bool isAt(const TensorNode &node, ArrayRef<AxisList> dims) const {
    return llvm::all_of(llvm::zip(node.dims, dims), [&](auto pair) {
      auto &[x, y] = pair;
      return part.axes.resolve(x) == part.axes.resolve(y);
    });
  }

  std::optional<unsigned> find(Value value, ArrayRef<AxisList> dims) const {
    for (auto [number, node] : llvm::enumerate(part.nodes))
      if (node.value == value && isAt(node, dims))
        return number;
    return std::nullopt;
  }

  unsigned add(TensorNode node) {
    part.nodes.push_back(std::move(node));
    return part.nodes.size() - 1;
  }

  std::optional<unsigned> addMemory(Value value, SmallVector<AxisList> dims) {
    if (auto known = find(value, dims))
      return known;
    if (!isTileElement(elementOf(value)))
      return fail("elements of " + debugString(elementOf(value)) +
                  " are none of a kernel's");
    FailureOr<ArgumentView> view = ArgumentView::ofOperand(value);
    if (failed(view) || !view->collapsed.empty())
      return fail("a slice of what is no argument is not read in a kernel");
    return add({value, std::move(dims), {}, *view});
  }

  /// What is made of `scalars`, indices or nothing.
  std::optional<unsigned> addMade(Value value, SmallVector<AxisList> dims,
                                  ValueRange scalars) {
    if (!isTileElement(elementOf(value)) ||
        !llvm::all_of(scalars, isKernelScalar))
      return failAt(value.getDefiningOp(), "is not computed in a kernel");
    if (auto known = find(value, dims))
      return known;
    return add({value, std::move(dims)});
  }

  std::optional<unsigned> addElementwise(Operation *op,
                                         SmallVector<AxisList> dims) {
    if (!isTileElementwise(op))
      return failAt(op, "is not computed in a kernel of tiles");
    if (auto known = find(op->getResult(0), dims))
      return known;
    TensorNode node = {op->getResult(0), dims};
    for (Value operand : op->getOperands()) {
      if (!isa<TensorType>(operand.getType())) {
        if (!isKernelScalar(operand))
          return failAt(op, "has a number that a kernel cannot compute");
        continue;
      }
      auto inner = visit(operand, dims);
      if (!inner)
        return std::nullopt;
      node.operands.push_back(*inner);
    }
    return add(std::move(node));
  }

  //===--- Sums ---===//

  /// The sum, if it was met before; `known` says whether it was.
  std::optional<unsigned> findSum(Operation *op, ArrayRef<AxisList> dims,
                                  bool &known) {
    known = part.sum.has_value() || isInSum;
    if (!known)
      return std::nullopt;
    if (isInSum || part.nodes[*part.sum].value != op->getResult(0))
      return failAt(op, "is a second sum");
    for (auto [mine, its] : llvm::zip(dims, part.nodes[*part.sum].dims))
      if (!part.axes.unite(mine, its))
        return failAt(op, "is read in two ways");
    return part.sum;
  }

  std::optional<unsigned> addDot(DotOp dot, SmallVector<AxisList> dims) {
    bool known = false;
    if (auto sum = findSum(dot, dims, known); known)
      return sum;
    Value a = dot.getA(), b = dot.getB();
    if (!isTileFloat(elementOf(a)) || elementOf(a) != elementOf(b) ||
        !isTileFloat(elementOf(dot.getResult())))
      return failAt(dot, "is not of f32, f16 or bf16 alone");
    int64_t rank = typeOf(a).getRank();
    AxisList inner = part.axes.add(sizeOf(a, rank - 1));
    SmallVector<AxisList> ofA(dims), ofB(dims);
    ofA[rank - 1] = inner;
    ofB[rank - 2] = dot.getTransposeB() ? dims[rank - 1] : inner;
    ofB[rank - 1] = dot.getTransposeB() ? inner : dims[rank - 1];
    for (int64_t d = 0; d < rank - 2; ++d)
      if (!shareBatch(a, b, d, ofB[d]))
        return failAt(dot, "shares a batch that is known at launch alone");
    TensorNode node = {dot.getResult(), dims};
    isInSum = true;
    for (auto [value, at] : {std::pair(a, ofA), std::pair(b, ofB)}) {
      auto operand = visit(value, at);
      if (!operand)
        return std::nullopt;
      if (!isReadAsItIs(part, *operand))
        return failAt(dot, "is of what is computed in its kernel");
      node.operands.push_back(*operand);
    }
    isInSum = false;
    if (dot.getAcc()) {
      auto acc = visit(dot.getAcc(), dims);
      if (!acc)
        return std::nullopt;
      node.operands.push_back(*acc);
    }
    part.rows = dims[rank - 2];
    part.columns = dims[rank - 1];
    part.inner = inner;
    part.sum = add(std::move(node));
    return part.sum;
  }

  /// Leaves in `list`, the axes of batch `d` of `a`, those of `b`.
  bool shareBatch(Value a, Value b, int64_t d, AxisList &list) {
    AxisSize many = sizeOf(a, d), few = sizeOf(b, d);
    if (few.number == 1) {
      list.clear();
      return true;
    }
    if (many.isDynamic() || few.isDynamic())
      return many.name && few.name &&
             many.name->argument == few.name->argument &&
             many.name->dim == few.name->dim;
    if (many.number == few.number)
      return true;
    auto parts =
        part.axes.divide(list, {{few.number}, {many.number / few.number}});
    if (parts)
      list = parts->front();
    return parts.has_value();
  }

  std::optional<unsigned> addReduce(ReduceOp reduce,
                                    SmallVector<AxisList> dims) {
    bool known = false;
    if (auto sum = findSum(reduce, dims, known); known)
      return sum;
    if (!isTileFloat(elementOf(reduce.getResult())))
      return failAt(reduce, "is not of f32, f16 or bf16");
    AxisList inner = part.axes.add(sizeOf(reduce.getInput(), reduce.getDim()));
    SmallVector<AxisList> ofInput(dims);
    ofInput.insert(ofInput.begin() + reduce.getDim(), inner);
    isInSum = true;
    auto input = visit(reduce.getInput(), std::move(ofInput));
    isInSum = false;
    if (!input)
      return std::nullopt;
    TensorNode node = {reduce.getResult(), dims, {*input}};
    part.rows.clear();
    for (const AxisList &dim : dims)
      part.rows.append(dim);
    part.inner = inner;
    part.sum = add(std::move(node));
    return part.sum;
  }

  //===--- Axes ---===//

  bool checkAxes() {
    AxisList all = axesOf(part.results.back().dims);
    llvm::sort(all);
    auto hasAll = [&](ArrayRef<AxisList> dims) {
      AxisList own = axesOf(dims);
      llvm::sort(own);
      return own == all;
    };
    for (const auto &result : part.results)
      if (!hasAll(result.dims))
        return refuse("its results have other dimensions than each other");
    if (part.sum && !hasAll(part.nodes[*part.sum].dims))
      return refuse("a sum is repeated, or read in part");
    // What lies in memory is seen with a dimension for each axis.
    auto canBeSeen = [&](ArrayRef<AxisList> dims) {
      return llvm::all_of(dims, [&](const AxisList &dim) {
        return llvm::count_if(part.axes.resolve(dim), [&](AxisId axis) {
                 return ShapedType::isDynamic(part.axes.sizeOf(axis));
               }) <= 1;
      });
    };
    auto isGood = [&](const TensorNode &node) {
      return !node.memory || canBeSeen(node.dims);
    };
    if (!llvm::all_of(part.nodes, isGood) ||
        !llvm::all_of(part.results, [&](const auto &result) {
          return canBeSeen(result.dims);
        }))
      return refuse("two sizes of one dimension are known at launch alone");
    for (AxisId axis : all)
      if (!llvm::is_contained(part.rows, axis) &&
          !llvm::is_contained(part.columns, axis))
        part.others.push_back(axis);
    return true;
  }

  TensorPart part;
  ArgumentSizes sizes;
  bool isInSum = false;
  std::string &reason;
};

} // namespace

FailureOr<TensorPart> fa::matchTensorPart(func::FuncOp function,
                                          std::string &reason) {
  return PartMatcher(function, reason).match();
}
