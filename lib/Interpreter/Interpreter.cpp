//===- Interpreter.cpp - a whole-tensor program, evaluated ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Interpreter/Interpreter.h"

#include "Slices.h"
#include "Structured.h"
#include "Value.h"

#include "Tile/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/Parallel.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <mutex>

using namespace mlir;
using namespace fa;
using namespace fa::interp;

static SmallVector<int64_t, 4> stridesOf(ArrayRef<int64_t> sizes) {
  return contiguousStrides(sizes);
}

static ElementType elementTypeOf(Type type) {
  if (type.isF16())
    return ElementType::F16;
  if (type.isBF16())
    return ElementType::BF16;
  if (type.isF32())
    return ElementType::F32;
  return ElementType::F64;
}

namespace {

class Evaluator {
public:
  explicit Evaluator(Precision precision) : precision(precision) {}

  llvm::Expected<std::vector<HostTensor>>
  run(func::FuncOp function, ArrayRef<InterpreterValue> arguments) {
    if (arguments.size() != function.getNumArguments())
      return llvm::createStringError(
          "@" + function.getSymName() + ": expected " +
          llvm::Twine(function.getNumArguments()) + " arguments, found " +
          llvm::Twine(arguments.size()));
    for (auto [argument, value] : llvm::zip(function.getArguments(), arguments))
      values[argument] = import(argument.getType(), value);
    for (Operation &op : function.getBody().front().without_terminator()) {
      if (llvm::Error error = evaluate(&op))
        return error;
      releaseOperands(&op);
    }
    std::vector<HostTensor> results;
    for (Value result :
         function.getBody().front().getTerminator()->getOperands()) {
      auto exported = exportTensor(get(result));
      if (!exported)
        return exported.takeError();
      results.push_back(*exported);
    }
    return results;
  }

private:
  /// Forgets what nothing after `op` reads: scores are large.
  void releaseOperands(Operation *op) {
    for (Value operand : op->getOperands())
      if (llvm::all_of(operand.getUsers(), [&](Operation *user) {
            Operation *here = op->getBlock()->findAncestorOpInBlock(*user);
            return here && (here == op || here->isBeforeInBlock(op));
          }))
        values.erase(operand);
  }

  const Tensor &get(Value value) { return values.find(value)->second; }
  int64_t getIndex(Value value) { return get(value).ints[0]; }

  static bool isFloat(Type type) {
    return isa<FloatType>(getElementTypeOrSelf(type));
  }

  static Tensor import(Type type, const InterpreterValue &value) {
    if (auto *scalar = std::get_if<double>(&value)) {
      Tensor result(ArrayRef<int64_t>{}, isFloat(type));
      if (result.isFloat)
        result.floats[0] = *scalar;
      else
        result.ints[0] = static_cast<int64_t>(*scalar);
      return result;
    }
    const HostTensor &tensor = std::get<HostTensor>(value);
    Tensor result(tensor.sizes(), isFloat(type));
    size_t n = 0;
    tensor.forEach([&](char *p) {
      double x = loadElement(p, tensor.type());
      if (result.isFloat)
        result.floats[n++] = x;
      else
        result.ints[n++] = static_cast<int64_t>(x);
    });
    return result;
  }

  static llvm::Expected<HostTensor> exportTensor(const Tensor &tensor) {
    auto result = HostTensor::create(ElementType::F64, tensor.sizes);
    if (!result)
      return result;
    auto *data = static_cast<double *>(result->data());
    for (int64_t n = 0, e = tensor.count(); n < e; ++n)
      data[n] = tensor.isFloat ? tensor.floats[n]
                               : static_cast<double>(tensor.ints[n]);
    return result;
  }

  /// Rounds what an operation gives to its element type.
  Tensor rounded(Tensor tensor, Type type) {
    if (precision == Precision::Float64 || !tensor.isFloat)
      return tensor;
    ElementType element = elementTypeOf(getElementTypeOrSelf(type));
    for (double &x : tensor.floats)
      x = roundTo(element, x);
    return tensor;
  }

  llvm::Error unknown(Operation *op) {
    std::string where;
    llvm::raw_string_ostream(where) << op->getLoc();
    return llvm::createStringError(where + ": '" +
                                   op->getName().getStringRef() +
                                   "' is not evaluated by the reference");
  }

  llvm::Error evaluate(Operation *op) {
    if (auto attention = dyn_cast<tile::AttentionOp>(op))
      return evaluateAttention(attention);
    if (op->getNumResults() != 1)
      return unknown(op);
    if (auto extract = dyn_cast<tensor::ExtractOp>(op)) {
      values[op->getResult(0)] = gather(extract);
      return llvm::Error::success();
    }
    if (auto linalg = dyn_cast<linalg::LinalgOp>(op))
      return evaluateLoops(linalg);
    std::optional<Tensor> result =
        llvm::TypeSwitch<Operation *, std::optional<Tensor>>(op)
            .Case([&](arith::ConstantOp op) { return constant(op); })
            .Case([&](tensor::DimOp op) { return dim(op); })
            .Case([&](tensor::SplatOp op) { return splat(op); })
            .Case([&](tensor::CastOp op) { return get(op.getSource()); })
            .Case([&](tensor::EmptyOp op) { return empty(op); })
            .Case([&](tensor::ExpandShapeOp op) { return expandShape(op); })
            .Case([&](tensor::CollapseShapeOp op) { return collapseShape(op); })
            .Case([&](linalg::SoftmaxOp op) {
              return softmax(get(op.getInput()), op.getDimension(), nullptr);
            })
            .Case([&](tile::BroadcastOp op) { return broadcast(op); })
            .Case([&](tile::IotaOp op) { return iota(op); })
            .Case([&](tile::ExpandDimsOp op) { return expandDims(op); })
            .Case([&](tile::TransposeOp op) { return transpose(op); })
            .Case([&](tile::DotOp op) { return std::optional(dot(op)); })
            .Case([&](tile::SoftmaxOp op) {
              return softmax(get(op.getInput()), op.getNormalizedDim(),
                             op.getSink() ? &get(op.getSink()) : nullptr);
            })
            .Case([&](tile::LogSumExpOp op) { return logSumExp(op); })
            .Case([&](tile::ReduceOp op) { return reduce(op); })
            .Default([&](Operation *op) { return elementwise(op); });
    if (!result)
      return unknown(op);
    values[op->getResult(0)] =
        rounded(std::move(*result), op->getResult(0).getType());
    return llvm::Error::success();
  }

  //===--- Shapes ---===//

  SmallVector<int64_t, 4> sizesOf(RankedTensorType type, OperandRange given) {
    SmallVector<int64_t, 4> sizes;
    auto next = given.begin();
    for (int64_t size : type.getShape())
      sizes.push_back(ShapedType::isDynamic(size) ? getIndex(*next++) : size);
    return sizes;
  }

  /// Calls f(position, indices) for each element of `sizes` in order.
  static void forEach(ArrayRef<int64_t> sizes,
                      llvm::function_ref<void(int64_t, ArrayRef<int64_t>)> f) {
    int64_t count = 1;
    for (int64_t size : sizes)
      count *= size;
    SmallVector<int64_t, 4> index(sizes.size(), 0);
    for (int64_t n = 0; n < count; ++n) {
      f(n, index);
      for (size_t d = sizes.size(); d-- > 0;) {
        if (++index[d] < sizes[d])
          break;
        index[d] = 0;
      }
    }
  }

  /// A tensor of `sizes` whose element at `indices` is that of `input` at
  /// `offset(indices)`.
  static Tensor remap(const Tensor &input, ArrayRef<int64_t> sizes,
                      llvm::function_ref<int64_t(ArrayRef<int64_t>)> offset) {
    Tensor result(sizes, input.isFloat);
    forEach(sizes, [&](int64_t n, ArrayRef<int64_t> indices) {
      if (input.isFloat)
        result.floats[n] = input.floats[offset(indices)];
      else
        result.ints[n] = input.ints[offset(indices)];
    });
    return result;
  }

  std::optional<Tensor> constant(arith::ConstantOp op) {
    Attribute value = op.getValue();
    auto fill = [](Tensor &result, int64_t n, Attribute element) {
      if (auto number = dyn_cast<FloatAttr>(element))
        result.floats[n] = number.getValueAsDouble();
      else
        result.ints[n] = cast<IntegerAttr>(element).getType().isInteger(1)
                             ? cast<IntegerAttr>(element).getValue() != 0
                             : cast<IntegerAttr>(element).getInt();
    };
    auto dense = dyn_cast<DenseElementsAttr>(value);
    if (!dense) {
      if (!isa<FloatAttr, IntegerAttr>(value))
        return std::nullopt;
      Tensor result(ArrayRef<int64_t>{}, isa<FloatAttr>(value));
      fill(result, 0, value);
      return result;
    }
    Tensor result(dense.getType().getShape(), isFloat(dense.getType()));
    int64_t n = 0;
    for (Attribute element : dense.getValues<Attribute>())
      fill(result, n++, element);
    return result;
  }

  std::optional<Tensor> dim(tensor::DimOp op) {
    Tensor result(ArrayRef<int64_t>{}, /*isFloat=*/false);
    result.ints[0] = get(op.getSource()).sizes[getIndex(op.getIndex())];
    return result;
  }

  std::optional<Tensor> splat(tensor::SplatOp op) {
    return remap(get(op.getInput()),
                 sizesOf(op.getType(), op.getDynamicSizes()),
                 [](ArrayRef<int64_t>) { return 0; });
  }

  std::optional<Tensor> broadcast(tile::BroadcastOp op) {
    const Tensor &input = get(op.getInput());
    SmallVector<int64_t, 4> strides = stridesOf(input.sizes);
    return remap(input, sizesOf(op.getType(), op.getSizes()),
                 [&](ArrayRef<int64_t> indices) {
                   int64_t at = 0;
                   for (auto [d, stride] : llvm::enumerate(strides))
                     if (input.sizes[d] != 1)
                       at += indices[d] * stride;
                   return at;
                 });
  }

  std::optional<Tensor> iota(tile::IotaOp op) {
    Tensor result(sizesOf(op.getType(), op.getSizes()), /*isFloat=*/false);
    forEach(result.sizes, [&](int64_t n, ArrayRef<int64_t> indices) {
      result.ints[n] = indices[op.getDim()];
    });
    return result;
  }

  /// Elements that nothing reads.
  std::optional<Tensor> empty(tensor::EmptyOp op) {
    return Tensor(sizesOf(op.getType(), op.getDynamicSizes()),
                  isFloat(op.getType()));
  }

  std::optional<Tensor> expandShape(tensor::ExpandShapeOp op) {
    Tensor result = get(op.getSrc());
    result.sizes = sizesOf(op.getResultType(), op.getOutputShape());
    return result;
  }

  std::optional<Tensor> collapseShape(tensor::CollapseShapeOp op) {
    const Tensor &source = get(op.getSrc());
    Tensor result = source;
    result.sizes.clear();
    for (const ReassociationIndices &group : op.getReassociationIndices()) {
      int64_t size = 1;
      for (int64_t d : group)
        size *= source.sizes[d];
      result.sizes.push_back(size);
    }
    return result;
  }

  std::optional<Tensor> expandDims(tile::ExpandDimsOp op) {
    Tensor result = get(op.getInput());
    result.sizes.insert(result.sizes.begin() + op.getDim(), 1);
    return result;
  }

  std::optional<Tensor> transpose(tile::TransposeOp op) {
    const Tensor &input = get(op.getInput());
    SmallVector<int64_t, 4> strides = stridesOf(input.sizes), sizes;
    for (int64_t from : op.getPermutation())
      sizes.push_back(input.sizes[from]);
    return remap(input, sizes, [&](ArrayRef<int64_t> indices) {
      int64_t at = 0;
      for (auto [d, from] : llvm::enumerate(op.getPermutation()))
        at += indices[d] * strides[from];
      return at;
    });
  }

  //===--- Dots ---===//

  /// sums[n] += Σ_k a[k] b[k * stepK + n * stepN], in order of k, in double or,
  /// for the declared precision, in f32. Several n side by side, for speed.
  template <typename T>
  static void addProducts(MutableArrayRef<double> sums, const double *a,
                          int64_t depth, const double *b, int64_t stepK,
                          int64_t stepN) {
    constexpr size_t width = 8;
    for (size_t first = 0; first < sums.size(); first += width) {
      size_t count = std::min(width, sums.size() - first);
      T partial[width];
      for (size_t n = 0; n < count; ++n)
        partial[n] = static_cast<T>(sums[first + n]);
      auto add = [&](size_t count) {
        for (int64_t k = 0; k < depth; ++k)
          for (size_t n = 0; n < count; ++n)
            partial[n] += static_cast<T>(a[k]) *
                          static_cast<T>(b[k * stepK + (first + n) * stepN]);
      };
      count == width ? add(width) : add(count);
      std::copy_n(partial, count, sums.data() + first);
    }
  }

  static Tensor toTf32(Tensor tensor) {
    for (double &x : tensor.floats)
      x = roundToTf32(static_cast<float>(x));
    return tensor;
  }

  Tensor dot(tile::DotOp op) {
    return dot(get(op.getA()), get(op.getB()), op.getTransposeB(),
               op.getAcc() ? &get(op.getAcc()) : nullptr, op.getPrecision());
  }

  Tensor dot(const Tensor &a, const Tensor &b, bool transposed,
             const Tensor *acc, tile::DotPrecision dotPrecision) {
    using enum tile::DotPrecision;
    if (dotPrecision == Tf32 && precision == Precision::Declared)
      return dot(toTf32(a), toTf32(b), transposed, acc, Ieee);
    size_t rank = a.sizes.size();
    int64_t rows = a.sizes[rank - 2], depth = a.sizes[rank - 1];
    int64_t columns = b.sizes[transposed ? rank - 2 : rank - 1];
    SmallVector<int64_t, 4> sizes(a.sizes);
    sizes.back() = columns;
    Tensor result(sizes, /*isFloat=*/true);
    if (acc)
      result.floats = acc->floats;
    if (depth == 0)
      return result;
    ArrayRef<int64_t> batches = ArrayRef(sizes).drop_back(2);
    SmallVector<int64_t> batchOfB;
    forEach(batches, [&](int64_t, ArrayRef<int64_t> indices) {
      int64_t at = 0;
      for (size_t d = 0; d + 2 < rank; ++d) {
        int64_t group = b.sizes[d] ? a.sizes[d] / b.sizes[d] : 1;
        at = at * b.sizes[d] + indices[d] / group;
      }
      batchOfB.push_back(at);
    });
    llvm::parallelFor(0, batchOfB.size() * rows, [&](size_t row) {
      const double *left = a.floats.data() + row * depth;
      const double *right =
          b.floats.data() + batchOfB[row / rows] * depth * columns;
      MutableArrayRef<double> sums(result.floats.data() + row * columns,
                                   columns);
      int64_t stepK = transposed ? 1 : columns, stepN = transposed ? depth : 1;
      if (precision == Precision::Float64)
        addProducts<double>(sums, left, depth, right, stepK, stepN);
      else
        addProducts<float>(sums, left, depth, right, stepK, stepN);
    });
    return result;
  }

  //===--- Along one dimension ---===//

  /// Calls f with the positions of each line along `dim`.
  static void forLines(const Tensor &tensor, int64_t dim,
                       llvm::function_ref<void(ArrayRef<int64_t>)> f) {
    SmallVector<int64_t, 4> outer(tensor.sizes);
    outer[dim] = 1;
    SmallVector<int64_t, 4> strides = stridesOf(tensor.sizes);
    forEach(outer, [&](int64_t, ArrayRef<int64_t> indices) {
      SmallVector<int64_t> line;
      int64_t start = 0;
      for (auto [index, stride] : llvm::zip(indices, strides))
        start += index * stride;
      for (int64_t n = 0; n < tensor.sizes[dim]; ++n)
        line.push_back(start + n * strides[dim]);
      f(line);
    });
  }

  double exponential(double x) {
    return precision == Precision::Float64 ? std::exp(x)
                                           : std::exp(static_cast<float>(x));
  }

  /// The largest of a line that is no NaN, and the sum of exponentials.
  std::pair<double, double> sumExponentials(const Tensor &input,
                                            ArrayRef<int64_t> line,
                                            std::optional<double> sink) {
    double max = -std::numeric_limits<double>::infinity(), sum = 0;
    bool any = false;
    if (sink) {
      any = *sink != max;
      max = std::max(max, *sink);
    }
    for (int64_t at : line) {
      any |= input.floats[at] != -std::numeric_limits<double>::infinity();
      max = std::max(max, input.floats[at]);
    }
    if (!any)
      return {max, 0};
    if (std::isinf(max) && max < 0)
      max = 0; // only NaNs
    if (sink)
      sum = exponential(*sink - max);
    for (int64_t at : line) {
      sum += exponential(input.floats[at] - max);
      if (precision == Precision::Declared)
        sum = static_cast<float>(sum);
    }
    return {max, sum};
  }

  static std::optional<double> sinkAt(const Tensor *sinks, int64_t row) {
    if (!sinks)
      return std::nullopt;
    return sinks->floats[row];
  }

  std::optional<Tensor> softmax(const Tensor &input, int64_t dim,
                                const Tensor *sinks) {
    Tensor result(input.sizes, /*isFloat=*/true);
    int64_t n = 0;
    forLines(input, dim, [&](ArrayRef<int64_t> line) {
      auto [max, sum] = sumExponentials(input, line, sinkAt(sinks, n++));
      for (int64_t at : line)
        result.floats[at] =
            sum == 0 ? 0 : exponential(input.floats[at] - max) / sum;
    });
    return result;
  }

  std::optional<Tensor> logSumExp(tile::LogSumExpOp op) {
    return logSumExp(get(op.getInput()),
                     op.getSink() ? &get(op.getSink()) : nullptr);
  }

  Tensor logSumExp(const Tensor &input, const Tensor *sinks) {
    Tensor result(ArrayRef(input.sizes).drop_back(), /*isFloat=*/true);
    int64_t n = 0;
    forLines(input, input.sizes.size() - 1, [&](ArrayRef<int64_t> line) {
      auto [max, sum] = sumExponentials(input, line, sinkAt(sinks, n));
      result.floats[n++] = max + std::log(sum);
    });
    return result;
  }

  std::optional<Tensor> reduce(tile::ReduceOp op) {
    const Tensor &input = get(op.getInput());
    if (!input.isFloat)
      return std::nullopt;
    SmallVector<int64_t, 4> sizes(input.sizes);
    sizes.erase(sizes.begin() + op.getDim());
    Tensor result(sizes, /*isFloat=*/true);
    double infinity = std::numeric_limits<double>::infinity();
    int64_t n = 0;
    forLines(input, op.getDim(), [&](ArrayRef<int64_t> line) {
      bool add = op.getKind() == tile::ReduceKind::Add;
      bool max = op.getKind() == tile::ReduceKind::Max;
      double value = add ? 0 : max ? -infinity : infinity;
      for (int64_t at : line) {
        double x = input.floats[at];
        if (add)
          value += x;
        else if (std::isnan(x) || (max ? x > value : x < value))
          value = x;
      }
      result.floats[n++] = value;
    });
    return result;
  }

  std::optional<Tensor> elementwise(Operation *op) {
    if (!OpTrait::hasElementwiseMappableTraits(op) || !op->getNumOperands())
      return std::nullopt;
    SmallVector<const Tensor *> operands;
    for (Value operand : op->getOperands())
      operands.push_back(&get(operand));
    // In the body of a loop nest a scalar meets a tensor of all iterations.
    const Tensor *largest =
        *llvm::max_element(operands, [](const Tensor *x, const Tensor *y) {
          return x->sizes.size() < y->sizes.size();
        });
    SmallVector<Tensor> spread;
    spread.reserve(operands.size());
    for (const Tensor *&operand : operands)
      if (operand->sizes.empty() && !largest->sizes.empty()) {
        spread.push_back(remap(*operand, largest->sizes,
                               [](ArrayRef<int64_t>) { return 0; }));
        operand = &spread.back();
      }
    return evaluateElementwise(op, operands);
  }

  //===--- Attention ---===//

  /// Elements of a tensor at tensors of indices; an index may be a scalar.
  Tensor gather(tensor::ExtractOp op) {
    const Tensor &source = get(op.getTensor());
    const Tensor *largest = nullptr;
    for (Value index : op.getIndices())
      if (const Tensor &t = get(index);
          !largest || t.sizes.size() > largest->sizes.size())
        largest = &t;
    Tensor result(largest ? ArrayRef<int64_t>(largest->sizes)
                          : ArrayRef<int64_t>(),
                  source.isFloat);
    SmallVector<int64_t, 4> strides = stridesOf(source.sizes);
    for (int64_t n = 0, e = result.count(); n < e; ++n) {
      int64_t at = 0;
      for (auto [index, stride] : llvm::zip(op.getIndices(), strides)) {
        const Tensor &t = get(index);
        at += t.ints[t.sizes.empty() ? 0 : n] * stride;
      }
      if (source.isFloat)
        result.floats[n] = source.floats[at];
      else
        result.ints[n] = source.ints[at];
    }
    return result;
  }

  /// What a region of an attention gives for all elements of its scores.
  llvm::Expected<Tensor> evaluateRegion(tile::AttentionOp op, Region &region,
                                        ArrayRef<int64_t> sizes,
                                        const Tensor *scores) {
    Block &block = region.front();
    unsigned next = 0;
    if (scores)
      values[block.getArgument(next++)] = *scores;
    for (unsigned d = 0; d < 4; ++d) {
      Tensor indices(sizes, /*isFloat=*/false);
      forEach(sizes, [&](int64_t n, ArrayRef<int64_t> at) {
        indices.ints[n] = at[d];
      });
      values[block.getArgument(next++)] = std::move(indices);
    }
    for (Value capture : op.getCaptures()) {
      Tensor copy = get(capture);
      values[block.getArgument(next++)] = std::move(copy);
    }
    for (Operation &inner : block.without_terminator())
      if (llvm::Error error = evaluate(&inner))
        return error;
    const Tensor &result = get(block.getTerminator()->getOperand(0));
    return result.sizes.empty()
               ? remap(result, sizes, [](ArrayRef<int64_t>) { return 0; })
               : result;
  }

  /// As the definition of tile.attention says.
  llvm::Error evaluateAttention(tile::AttentionOp op) {
    Tensor scores = rounded(
        dot(get(op.getQ()), get(op.getK()), true, nullptr, op.getPrecision()),
        op.getScale().getType());
    double scale = get(op.getScale()).floats[0];
    for (double &s : scores.floats)
      s *= scale;
    scores = rounded(std::move(scores), op.getScale().getType());
    SmallVector<int64_t, 4> sizes = scores.sizes;
    if (!op.getScore().empty()) {
      auto modified = evaluateRegion(op, op.getScore(), sizes, &scores);
      if (!modified)
        return modified.takeError();
      scores = std::move(*modified);
    }
    if (!op.getMask().empty()) {
      auto mask = evaluateRegion(op, op.getMask(), sizes, nullptr);
      if (!mask)
        return mask.takeError();
      for (auto [s, seen] : llvm::zip(scores.floats, mask->ints))
        if (!seen)
          s = -std::numeric_limits<double>::infinity();
    }
    std::optional<Tensor> sinks;
    if (op.getSink()) {
      const Tensor &sink = get(op.getSink());
      sinks = remap(sink, ArrayRef(sizes).drop_back(),
                    [](ArrayRef<int64_t> at) { return at[1]; });
    }
    const Tensor *rows = sinks ? &*sinks : nullptr;
    Tensor p = rounded(*softmax(scores, 3, rows), op.getScale().getType());
    if (!op.getWideP())
      p = rounded(std::move(p), op.getV().getType());
    values[op.getOutput()] =
        rounded(dot(p, get(op.getV()), false, nullptr, op.getPrecision()),
                op.getOutput().getType());
    if (op.getLse())
      values[op.getLse()] =
          rounded(logSumExp(scores, rows), op.getLse().getType());
    return llvm::Error::success();
  }

  llvm::Error evaluateLoops(linalg::LinalgOp op) {
    auto read = [&](Value value) -> const Tensor & { return get(value); };
    auto write = [&](Value value, Tensor tensor) {
      values[value] = std::move(tensor);
    };
    auto step = [&](Operation *inner) { return evaluate(inner); };
    llvm::Expected<Tensor> result = evaluateStructured(op, {read, write, step});
    if (!result)
      return result.takeError();
    values[op->getResult(0)] = std::move(*result);
    return llvm::Error::success();
  }

  Precision precision;
  llvm::DenseMap<Value, Tensor> values;
};

} // namespace

/// Slice by slice; the results are put together.
static llvm::Expected<std::vector<HostTensor>>
interpretSlices(func::FuncOp function, ArrayRef<InterpreterValue> arguments,
                ArrayRef<int64_t> sizes, Precision precision) {
  constexpr int64_t atOnce = 4; // each holds its scores
  std::vector<HostTensor> results;
  SmallVector<int64_t, 4> steps = stridesOf(sizes);
  int64_t count = llvm::product_of(sizes);
  std::mutex mutex;
  auto evaluateSlice = [&](int64_t n) -> llvm::Error {
    SmallVector<int64_t> index = delinearize(n, steps);
    std::vector<InterpreterValue> slices(arguments);
    for (InterpreterValue &slice : slices)
      if (auto *tensor = std::get_if<HostTensor>(&slice))
        slice = sliceOf(*tensor, index);
    auto part = Evaluator(precision).run(function, slices);
    if (!part)
      return part.takeError();
    std::scoped_lock lock(mutex);
    for (auto [r, tensor] : llvm::enumerate(*part)) {
      if (r == results.size()) {
        SmallVector<int64_t> whole(tensor.sizes());
        llvm::copy(sizes, whole.begin());
        auto created = HostTensor::create(tensor.type(), whole);
        if (!created)
          return created.takeError();
        results.push_back(std::move(*created));
      }
      size_t bytes = tensor.numElements() * sizeof(double);
      std::memcpy(sliceOf(results[r], index).data(), tensor.data(), bytes);
    }
    return llvm::Error::success();
  };
  for (int64_t first = 0; first < count; first += atOnce)
    if (llvm::Error error = llvm::parallelForEachError(
            llvm::seq(first, std::min(first + atOnce, count)), evaluateSlice))
      return error;
  return results;
}

llvm::Expected<std::vector<HostTensor>>
fa::interpret(ModuleOp module, StringRef entry,
              ArrayRef<InterpreterValue> arguments, Precision precision) {
  auto function = module.lookupSymbol<func::FuncOp>(entry);
  if (!function || function.isDeclaration() ||
      !function.getBody().hasOneBlock())
    return llvm::createStringError("expected a function @" + entry +
                                   " with a body of one block");
  SmallVector<int64_t> sizes = getSliceSizes(function, arguments);
  if (llvm::product_of(sizes) > 1)
    return interpretSlices(function, arguments, sizes, precision);
  return Evaluator(precision).run(function, arguments);
}
