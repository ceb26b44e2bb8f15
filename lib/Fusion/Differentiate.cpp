//===- Differentiate.cpp - tile-differentiate -----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Adjoints.h"

#include "Tile/Tile.h"
#include "fa/Fusion/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;
using namespace fa;

namespace fa {
#define GEN_PASS_DEF_TILEDIFFERENTIATE
#include "fa/Fusion/Passes.h.inc"
} // namespace fa

static bool isFloat(Type type) {
  return isa<FloatType>(getElementTypeOrSelf(type));
}

/// The numbers of results that have a cotangent, or of arguments; `types` are
/// those of all. An error if one is none of them, or no floating point.
static FailureOr<SmallVector<int64_t>> takeNumbers(func::FuncOp function,
                                                   StringRef name,
                                                   StringRef what,
                                                   TypeRange types) {
  SmallVector<int64_t> numbers;
  if (auto listed = function->getAttrOfType<DenseI64ArrayAttr>(name)) {
    llvm::append_range(numbers, listed.asArrayRef());
    function->removeAttr(name);
  } else {
    for (auto [n, type] : llvm::enumerate(types))
      if (isFloat(type))
        numbers.push_back(n);
  }
  for (int64_t number : numbers)
    if (number < 0 || number >= int64_t(types.size()) ||
        !isFloat(types[number]) || llvm::count(numbers, number) > 1)
      return function.emitError("expected '")
             << name << "' to list numbers below " << types.size() << " of "
             << what << " of floating point, each once, found " << number;
  return numbers;
}

namespace {

struct TileDifferentiate final
    : fa::impl::TileDifferentiateBase<TileDifferentiate> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (function->hasAttr(tile::TileDialect::vjpWrtAttrName) &&
          failed(differentiate(function)))
        return signalPassFailure();
  }

  static LogicalResult differentiate(func::FuncOp function) {
    if (function.isDeclaration() || !function.getBody().hasOneBlock())
      return function.emitError(
                 "expected a function of one block to differentiate, found ")
             << (function.isDeclaration() ? "a declaration" : "several");
    auto wrt = takeNumbers(function, tile::TileDialect::vjpWrtAttrName,
                           "arguments", function.getArgumentTypes());
    auto of = takeNumbers(function, tile::TileDialect::vjpOfAttrName, "results",
                          function.getResultTypes());
    if (failed(wrt) || failed(of))
      return failure();
    Block &body = function.getBody().front();
    Operation *end = body.getTerminator();
    SmallVector<Value> results(end->getOperands());
    ImplicitLocOpBuilder b(function.getLoc(), end);
    Adjoints adjoints(b, body);
    for (int64_t number : *wrt)
      adjoints.addInput(body.getArgument(number));
    for (Value result : results)
      adjoints.addKnown(result, body.addArgument(result.getType(), b.getLoc()));
    for (int64_t number : *of)
      adjoints.addCotangent(
          results[number],
          body.addArgument(results[number].getType(), b.getLoc()));
    if (failed(adjoints.propagate()))
      return failure();
    SmallVector<Value> gradients;
    for (int64_t number : *wrt)
      gradients.push_back(adjoints.of(body.getArgument(number)));
    end->setOperands(gradients);
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body)))
      if (isOpTriviallyDead(&op))
        op.erase();
    function.setType(FunctionType::get(function.getContext(),
                                       body.getArgumentTypes(),
                                       TypeRange(ValueRange(gradients))));
    function.removeArgAttrsAttr();
    function.removeResAttrsAttr();
    return success();
  }
};

} // namespace
