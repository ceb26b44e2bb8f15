//===- Structured.cpp - linalg in the reference evaluator -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Structured.h"

#include "fa/Numerics/HostTensor.h"
#include "mlir/Support/DebugStringHelper.h"

using namespace mlir;
using namespace fa;
using namespace fa::interp;

namespace {

class StructuredEvaluator {
public:
  StructuredEvaluator(linalg::LinalgOp op, const Scope &scope)
      : op(op), scope(scope) {}

  llvm::Expected<Tensor> run() {
    if (llvm::Error error = findSizes())
      return error;
    Tensor out = scope.get(op.getDpsInitOperand(0)->get());
    SmallVector<int64_t> point(sizes.size(), 0);
    if (llvm::is_contained(sizes, 0))
      return out;
    do {
      if (llvm::Error error = step(point, out))
        return error;
    } while (advance(point, utils::IteratorType::reduction));
    return out;
  }

private:
  llvm::Error fail(const llvm::Twine &what) {
    return llvm::createStringError(debugString(op->getLoc()) + ": " + what);
  }

  llvm::Error findSizes() {
    sizes.assign(op.getNumLoops(), -1);
    iterators = op.getIteratorTypesArray();
    for (OpOperand &operand : op->getOpOperands()) {
      AffineMap map = op.getMatchingIndexingMap(&operand);
      const Tensor &tensor = scope.get(operand.get());
      for (auto [d, expr] : llvm::enumerate(map.getResults()))
        if (llvm::Error error = findSize(expr, tensor.sizes[d]))
          return error;
    }
    return llvm::is_contained(sizes, -1)
               ? fail("a loop whose size no operand gives")
               : llvm::Error::success();
  }

  /// Takes note of a dimension of `found` elements that is read at `expr`.
  llvm::Error findSize(AffineExpr expr, int64_t found) {
    if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
      int64_t &size = sizes[dim.getPosition()];
      if (size >= 0 && size != found)
        return fail("operands of different sizes: " + llvm::Twine(size) +
                    " and " + llvm::Twine(found));
      size = found;
      return llvm::Error::success();
    }
    auto number = dyn_cast<AffineConstantExpr>(expr);
    if (number && number.getValue() >= 0 && number.getValue() < found)
      return llvm::Error::success();
    return fail("expected a loop or a number below " + llvm::Twine(found) +
                " as an index, found " + debugString(expr));
  }

  /// Moves `point` to the next one along the loops of `type`; false at the end.
  bool advance(SmallVectorImpl<int64_t> &point, utils::IteratorType type) {
    for (size_t d = point.size(); d-- > 0;) {
      if (iterators[d] != type)
        continue;
      if (++point[d] < sizes[d])
        return true;
      point[d] = 0;
    }
    return false;
  }

  /// Calls `f` with each parallel iteration in order.
  void forParallel(ArrayRef<int64_t> from,
                   llvm::function_ref<void(ArrayRef<int64_t>)> f) {
    SmallVector<int64_t> point(from);
    do
      f(point);
    while (advance(point, utils::IteratorType::parallel));
  }

  /// Where `tensor` is read through `map` at `point`.
  static int64_t offsetOf(const Tensor &tensor, AffineMap map,
                          ArrayRef<int64_t> point) {
    SmallVector<int64_t> at = map.compose(point);
    SmallVector<int64_t, 4> strides = contiguousStrides(tensor.sizes);
    int64_t offset = 0;
    for (auto [index, stride] : llvm::zip(at, strides))
      offset += index * stride;
    return offset;
  }

  Tensor parallelTensor(bool isFloat) {
    SmallVector<int64_t, 4> shape;
    for (auto [size, type] : llvm::zip(sizes, iterators))
      if (type == utils::IteratorType::parallel)
        shape.push_back(size);
    return Tensor(shape, isFloat);
  }

  /// The elements of `tensor` at all parallel iterations.
  Tensor gather(const Tensor &tensor, AffineMap map, ArrayRef<int64_t> from) {
    Tensor result = parallelTensor(tensor.isFloat);
    int64_t n = 0;
    forParallel(from, [&](ArrayRef<int64_t> point) {
      int64_t at = offsetOf(tensor, map, point);
      if (tensor.isFloat)
        result.floats[n++] = tensor.floats[at];
      else
        result.ints[n++] = tensor.ints[at];
    });
    return result;
  }

  llvm::Error step(ArrayRef<int64_t> from, Tensor &out) {
    Block &body = *op.getBlock();
    for (auto [operand, argument] :
         llvm::zip(op->getOpOperands(), body.getArguments())) {
      bool isOut = op.isDpsInit(&operand);
      const Tensor &source = isOut ? out : scope.get(operand.get());
      scope.set(argument,
                gather(source, op.getMatchingIndexingMap(&operand), from));
    }
    for (Operation &inner : body.without_terminator()) {
      if (auto index = dyn_cast<linalg::IndexOp>(inner)) {
        Tensor indices = parallelTensor(/*isFloat=*/false);
        int64_t n = 0;
        forParallel(from, [&](ArrayRef<int64_t> point) {
          indices.ints[n++] = point[index.getDim()];
        });
        scope.set(index, indices);
      } else if (llvm::Error error = scope.evaluate(&inner)) {
        return error;
      }
    }
    const Tensor &yielded = scope.get(body.getTerminator()->getOperand(0));
    AffineMap map = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
    int64_t n = 0;
    // A scalar is the same at every iteration.
    int64_t stride = yielded.count() == 1 ? 0 : 1;
    forParallel(from, [&](ArrayRef<int64_t> point) {
      int64_t at = offsetOf(out, map, point);
      if (out.isFloat)
        out.floats[at] = yielded.floats[n];
      else
        out.ints[at] = yielded.ints[n];
      n += stride;
    });
    return llvm::Error::success();
  }

  linalg::LinalgOp op;
  const Scope &scope;
  SmallVector<int64_t> sizes;
  SmallVector<utils::IteratorType> iterators;
};

} // namespace

llvm::Expected<Tensor> fa::interp::evaluateStructured(linalg::LinalgOp op,
                                                      const Scope &scope) {
  return StructuredEvaluator(op, scope).run();
}
