//===- TensorKernel.cpp - a kernel of tiles on tensors --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelSignature.h"
#include "TensorTiles.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fa;
using namespace fa::tile;

namespace {

class TensorKernelBuilder : TensorTiles {
public:
  TensorKernelBuilder(OpBuilder &builder, const TensorPart &part, bool promises,
                      const ForwardRules &rules)
      : TensorTiles(builder, part, promises, rules) {}

  KernelOp build(StringRef name) {
    chooseSides();
    createKernel(name);
    placeSides();
    if (part.sum)
      sumTile = isDot() ? buildDot() : buildReduce();
    for (size_t n = 0; n < part.results.size(); ++n)
      store(n);
    tile::ReturnOp::create(b);
    return kernel;
  }

private:
  //===--- The kernel ---===//

  Type memoryType(Type type) const {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor)
      return type;
    SmallVector<int64_t> strides(tensor.getRank(), ShapedType::kDynamic);
    if (promises && !strides.empty())
      strides.back() = 1;
    return fa::memoryOf(tensor.getElementType(), tensor.getShape(), strides);
  }

  void createKernel(StringRef name) {
    func::FuncOp function = part.function;
    SmallVector<Type> types;
    SmallVector<Attribute> attributes;
    auto add = [&](Type type, Access access) {
      types.push_back(memoryType(type));
      NamedAttrList list;
      if (auto memory = dyn_cast<MemRefType>(types.back())) {
        list.append(KernelOp::accessAttrName,
                    AccessAttr::get(b.getContext(), access));
        if (promises && beginsAligned(memory))
          list.append(KernelOp::alignmentAttrName,
                      b.getI64IntegerAttr(kRowAlignment));
      }
      attributes.push_back(list.getDictionary(b.getContext()));
    };
    for (Type type : function.getArgumentTypes())
      add(type, Access::In);
    for (Type type : function.getResultTypes())
      add(type, Access::Out);
    AffineExpr count = names.constant(1);
    for (AxisId axis : fixed)
      count = count * sizeName(axis);
    auto tiles = [&](const TileSide &side) {
      if (side.outer)
        return sizeName(*side.outer);
      return side.axis ? sizeName(*side.axis).ceilDiv(side.size)
                       : names.constant(1);
    };
    // Rows first: there may be more of them than a GPU has numbers for behind.
    AffineExpr grid[] = {tiles(rows), tiles(columns), count};
    if (isGrouped()) {
      grid[0] = grid[0] * grid[1];
      grid[1] = names.constant(1);
    }
    b.setInsertionPoint(function);
    kernel = KernelOp::create(
        b, b.getStringAttr(name), TypeAttr::get(b.getFunctionType(types, {})),
        AffineMapAttr::get(names.map(grid)),
        b.getDenseI64ArrayAttr(names.names),
        /*rules=*/ArrayAttr(), /*entry=*/StringAttr(),
        /*reference=*/FlatSymbolRefAttr(), /*unfused=*/UnitAttr(),
        b.getArrayAttr(attributes), /*res_attrs=*/ArrayAttr());
    Block *block = &kernel.getBody().emplaceBlock();
    for (Type type : types)
      block->addArgument(type, kernel.getLoc());
    b.setInsertionPointToStart(block);
  }

  //===--- Tiles ---===//

  /// The tile of `number` at `place`; `made` has those that are there.
  Value get(unsigned number, const TilePlace &place,
            llvm::DenseMap<unsigned, Value> &made) {
    if (Value known = made.lookup(number))
      return known;
    Value value = make(number, place, made);
    made[number] = value;
    return value;
  }

  Value make(unsigned number, const TilePlace &place,
             llvm::DenseMap<unsigned, Value> &made) {
    const TensorNode &node = part.nodes[number];
    if (part.sum == number)
      return sumTile;
    if (node.memory)
      return load(number, place);
    Operation *op = node.value.getDefiningOp();
    Type element = getElementTypeOrSelf(node.value.getType());
    auto type = tile(place.shape(), element);
    if (auto constant = dyn_cast<arith::ConstantOp>(op))
      return arith::ConstantOp::create(
          b, DenseElementsAttr::get(type,
                                    cast<SplatElementsAttr>(constant.getValue())
                                        .getSplatValue<Attribute>()));
    if (auto repeat = dyn_cast<BroadcastOp>(op))
      return broadcast(scalarOf(repeat.getInput()), type);
    if (auto iota = dyn_cast<IotaOp>(op)) {
      Value along = indexAlong(node.dims[iota.getDim()], place);
      return element.isIndex()
                 ? along
                 : arith::IndexCastOp::create(b, type, along).getResult();
    }
    SmallVector<Value> operands;
    size_t next = 0;
    for (Value operand : op->getOperands())
      operands.push_back(isa<TensorType>(operand.getType())
                             ? get(node.operands[next++], place, made)
                             : scalarOf(operand));
    // Functions of 16 bits are rounded once.
    bool widens = isa<math::MathDialect>(op->getDialect()) &&
                  isa<FloatType>(element) && !element.isF32();
    auto computed = widens ? type.clone(b.getF32Type()) : type;
    if (widens)
      for (Value &operand : operands)
        operand = arith::ExtFOp::create(b, computed, operand);
    OperationState state(b.getLoc(), op->getName(), operands, {computed},
                         op->getAttrs());
    Value result = b.create(state)->getResult(0);
    return widens ? arith::TruncFOp::create(b, type, result).getResult()
                  : result;
  }

  //===--- Sums ---===//

  /// A loop over all that is summed over, by tiles of `depth`; gives what
  /// `step` makes of `start` from one to the next.
  Value overDepth(Value start, llvm::function_ref<Value(Value)> step) {
    bool isOne = !depth.axis || sizeOf(*depth.axis) == depth.size;
    AxisList axes = outerDepth;
    if (depth.outer)
      axes.push_back(*depth.outer);
    depth.offset = index(0);
    if (axes.empty() && isOne && !isDot())
      return step(start);
    // Even one tile is a loop, for which a producer can fetch it.
    if (axes.empty() && isOne)
      return loop(index(1), 1, start, [](Value) {}, step);
    if (axes.empty())
      return loop(
          sizeValue(*depth.axis), depth.size, start,
          [&](Value at) { depth.offset = at; }, step);
    // One loop, so that tiles are fetched ahead through all of it.
    SmallVector<Value> counts;
    for (AxisId axis : axes)
      counts.push_back(sizeValue(axis));
    if (!isOne)
      counts.push_back(arith::CeilDivUIOp::create(b, sizeValue(*depth.axis),
                                                  index(depth.size)));
    Value all = counts.front();
    for (Value count : llvm::drop_begin(counts))
      all = arith::MulIOp::create(b, all, count);
    return loop(
        all, 1, start,
        [&](Value number) {
          SmallVector<Value> at(counts.size());
          for (size_t n = counts.size(); n-- > 1;) {
            at[n] = arith::RemUIOp::create(b, number, counts[n]);
            number = arith::DivUIOp::create(b, number, counts[n]);
          }
          at[0] = number;
          for (auto [n, axis] : llvm::enumerate(axes))
            indices[axis] = at[n];
          if (!isOne)
            depth.offset =
                arith::MulIOp::create(b, at.back(), index(depth.size));
        },
        step);
  }

  Value loop(Value end, int64_t by, Value start,
             llvm::function_ref<void(Value)> enter,
             llvm::function_ref<Value(Value)> step) {
    auto loop = scf::ForOp::create(b, index(0), end, index(by), start);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    enter(loop.getInductionVar());
    scf::YieldOp::create(b, step(loop.getRegionIterArg(0)));
    return loop.getResult(0);
  }

  Value constantTile(RankedTensorType type, double value) {
    return arith::ConstantOp::create(
        b, DenseElementsAttr::get(
               type, b.getFloatAttr(type.getElementType(), value)));
  }

  Value buildDot() {
    const TensorNode &node = part.nodes[*part.sum];
    auto dot = node.value.getDefiningOp<DotOp>();
    auto wide = tile({rows.size, columns.size}, b.getF32Type());
    unsigned left = node.operands[0], right = node.operands[1];
    Value sum =
        part.inner.empty()
            ? buildProduct(left, right)
            : overDepth(constantTile(wide, 0.0), [&](Value acc) -> Value {
                llvm::DenseMap<unsigned, Value> ofA, ofB;
                Value x = get(left, {rows, depth}, ofA);
                bool across =
                    isAcross(source(right).dims, depth.axis, columns.axis);
                Value y = across ? get(right, {columns, depth}, ofB)
                                 : get(right, {depth, columns}, ofB);
                return DotOp::create(b, wide, x, y, acc, /*transpose_b=*/across,
                                     dot.getPrecision());
              });
    TilePlace place = {rows, columns};
    auto type = wide.clone(dot.getType().getElementType());
    if (node.operands.size() > 2) {
      Value more = get(node.operands[2], place, tiles);
      if (type != wide)
        more = arith::ExtFOp::create(b, wide, more);
      sum = arith::AddFOp::create(b, sum, more);
    }
    return type == wide ? sum
                        : arith::TruncFOp::create(b, type, sum).getResult();
  }

  /// A dot over one element: a column times a line.
  Value buildProduct(unsigned left, unsigned right) {
    llvm::DenseMap<unsigned, Value> made;
    auto factor = [&](unsigned number) -> Value {
      Value x = get(number, {rows, columns}, made);
      auto type = cast<RankedTensorType>(x.getType());
      if (type.getElementType().isF32())
        return x;
      return arith::ExtFOp::create(b, type.clone(b.getF32Type()), x);
    };
    Value x = factor(left);
    return arith::MulFOp::create(b, x, factor(right));
  }

  /// What `number`, read as it is but for conversions, is read from.
  const TensorNode &source(unsigned number) const {
    const TensorNode *node = &part.nodes[number];
    while (!node->memory)
      node = &part.nodes[node->operands[0]];
    return *node;
  }

  Value buildReduce() {
    const TensorNode &node = part.nodes[*part.sum];
    auto reduce = node.value.getDefiningOp<ReduceOp>();
    auto wide = tile({rows.size, depth.size}, b.getF32Type());
    double infinity = std::numeric_limits<double>::infinity();
    ReduceKind kind = reduce.getKind();
    Value neutral = constantTile(wide, kind == ReduceKind::Add   ? 0.0
                                       : kind == ReduceKind::Max ? -infinity
                                                                 : infinity);
    Value sum = overDepth(neutral, [&](Value acc) -> Value {
      llvm::DenseMap<unsigned, Value> made;
      Value x = get(node.operands[0], {rows, depth}, made);
      if (x.getType() != wide)
        x = arith::ExtFOp::create(b, wide, x);
      return combine(b, kind, acc, withinDepth(x, neutral));
    });
    auto narrow = tile({rows.size}, b.getF32Type());
    sum = ReduceOp::create(b, narrow, kind, sum, /*dim=*/1);
    auto type = narrow.clone(reduce.getType().getElementType());
    return type == narrow ? sum
                          : arith::TruncFOp::create(b, type, sum).getResult();
  }

  /// `x`, but `neutral` behind the end of what is summed over.
  Value withinDepth(Value x, Value neutral) {
    if (depth.axis && !isDynamic(*depth.axis) &&
        sizeOf(*depth.axis) % depth.size == 0)
      return x;
    auto type = tile({rows.size, depth.size}, b.getIndexType());
    Value size = depth.axis ? sizeValue(*depth.axis) : index(1);
    Value left = arith::SubIOp::create(b, size, depth.offset);
    Value at = IotaOp::create(b, type, /*dim=*/1, ValueRange());
    Value inside = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, at,
                                         broadcast(left, type));
    return arith::SelectOp::create(b, inside, x, neutral);
  }

  //===--- Results ---===//

  void store(size_t n) {
    TilePlace place = {rows, columns};
    const TensorPart::Result &result = part.results[n];
    Value value = get(result.node, place, tiles);
    auto type = cast<RankedTensorType>(value.getType());
    if (type.getElementType().isInteger(1))
      value = arith::ExtUIOp::create(b, type.clone(b.getI8Type()), value);
    Value memory = viewAt(memoryOfResult(n), result.dims, place);
    SmallVector<Value> at = {rows.offset};
    if (columns.size)
      at.push_back(columns.offset);
    if (isAcross(result.dims, rows.axis, columns.axis)) {
      value = transposed(value);
      std::swap(at[0], at[1]);
    }
    StoreOp::create(b, value, addUnits(memory), at);
  }

  /// A side along no axis is one of size 1, which `memory` does not have.
  Value addUnits(Value memory) {
    auto type = cast<MemRefType>(memory.getType());
    int64_t rank = columns.size ? 2 : 1;
    if (type.getRank() == rank)
      return memory;
    SmallVector<int64_t> shape(rank, 1);
    SmallVector<OpFoldResult> sizes(rank, b.getIndexAttr(1));
    SmallVector<ReassociationIndices> groups;
    if (type.getRank() == 1) {
      int64_t at = rows.axis ? 0 : 1;
      groups.push_back({0, 1});
      shape[at] = type.getDimSize(0);
      sizes[at] =
          type.isDynamicDim(0)
              ? OpFoldResult(memref::DimOp::create(b, memory, 0).getResult())
              : OpFoldResult(b.getIndexAttr(shape[at]));
    }
    return memref::ExpandShapeOp::create(b, shape, memory, groups, sizes);
  }

  llvm::DenseMap<unsigned, Value> tiles; ///< at the tile of the results
  Value sumTile;
};

} // namespace

KernelOp fa::buildTensorKernel(const TensorPart &part, StringRef name,
                               bool promises, const ForwardRules &rules) {
  OpBuilder builder(func::FuncOp(part.function).getContext());
  return TensorKernelBuilder(builder, part, promises, rules).build(name);
}
