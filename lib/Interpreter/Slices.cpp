//===- Slices.cpp - programs that treat heads alike -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Slices.h"

#include "Tile/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace fa;
using namespace fa::interp;
using namespace fa::tile;

/// Whether `type` has `numDims` leading dimensions of any size, and more.
static bool hasLeadingDims(Type type, int64_t numDims) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.getRank() > numDims &&
         llvm::all_of(tensor.getShape().take_front(numDims),
                      ShapedType::isDynamic);
}

/// Whether the size that `dim` gives is only used as that of the same leading
/// dimension of another tensor, or is none of a leading dimension.
static bool isOnlySize(tensor::DimOp dim, int64_t numDims) {
  std::optional<int64_t> number = dim.getConstantIndex();
  if (!number || *number >= numDims)
    return number.has_value();
  return llvm::all_of(dim->getUses(), [&](OpOperand &use) {
    // The leading dimensions are dynamic, so their sizes come first.
    if (auto broadcast = dyn_cast<BroadcastOp>(use.getOwner()))
      return use.getOperandNumber() == unsigned(*number) + 1 &&
             hasLeadingDims(broadcast.getType(), numDims);
    auto iota = dyn_cast<IotaOp>(use.getOwner());
    return iota && use.getOperandNumber() == unsigned(*number) &&
           hasLeadingDims(iota.getType(), numDims);
  });
}

/// Whether the leading dimensions of a result have the sizes that those of
/// another tensor have.
static bool hasOwnSizes(OperandRange sizes, int64_t numDims) {
  for (int64_t n = 0; n < numDims; ++n) {
    auto dim = n < int64_t(sizes.size())
                   ? sizes[n].getDefiningOp<tensor::DimOp>()
                   : tensor::DimOp();
    if (!dim || dim.getConstantIndex() != n)
      return false;
  }
  return true;
}

static bool keepsLeadingDims(Operation *op, int64_t numDims) {
  auto isBehind = [&](int64_t dim) { return dim >= numDims; };
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case([&](DotOp dot) {
        return dot.getResult().getType().getRank() >= numDims + 2;
      })
      .Case([&](SoftmaxOp softmax) {
        return isBehind(softmax.getNormalizedDim());
      })
      .Case([&](LogSumExpOp lse) {
        return isBehind(lse.getInput().getType().getRank() - 1);
      })
      .Case([&](ReduceOp reduce) { return isBehind(reduce.getDim()); })
      .Case([&](ExpandDimsOp expand) { return isBehind(expand.getDim()); })
      .Case([&](IotaOp iota) {
        return isBehind(iota.getDim()) && hasOwnSizes(iota.getSizes(), numDims);
      })
      .Case([&](BroadcastOp broadcast) {
        return hasOwnSizes(broadcast.getSizes(), numDims);
      })
      .Case([&](tensor::DimOp dim) { return isOnlySize(dim, numDims); })
      .Case([&](TransposeOp transpose) {
        return llvm::all_of(llvm::seq(numDims), [&](int64_t dim) {
          return transpose.getPermutation()[dim] == dim;
        });
      })
      .Default([](Operation *op) {
        return OpTrait::hasElementwiseMappableTraits(op);
      });
}

/// Whether no operation looks across the first `numDims` dimensions, which all
/// tensors have, or at their indices.
static bool isSliceable(func::FuncOp function, int64_t numDims) {
  auto isSliced = [&](Type type) {
    return !isa<TensorType>(type) || hasLeadingDims(type, numDims);
  };
  return llvm::all_of(function.getArgumentTypes(), isSliced) &&
         llvm::all_of(
             function.getResultTypes(),
             [&](Type type) { return hasLeadingDims(type, numDims); }) &&
         llvm::all_of(function.getBody().front().without_terminator(),
                      [&](Operation &op) {
                        return isa<arith::ConstantOp>(op) ||
                               (keepsLeadingDims(&op, numDims) &&
                                llvm::all_of(op.getResultTypes(), isSliced));
                      });
}

SmallVector<int64_t>
fa::interp::getSliceSizes(func::FuncOp function,
                          ArrayRef<InterpreterValue> arguments) {
  for (int64_t numDims : {2, 1}) {
    if (arguments.size() != function.getNumArguments() ||
        !isSliceable(function, numDims))
      continue;
    SmallVector<int64_t> common;
    bool agree = true;
    for (auto [argument, value] :
         llvm::zip(function.getArguments(), arguments)) {
      auto type = dyn_cast<RankedTensorType>(argument.getType());
      const auto *tensor = std::get_if<HostTensor>(&value);
      if (!type != !tensor || (tensor && tensor->rank() != type.getRank()))
        return {};
      if (!tensor)
        continue;
      ArrayRef<int64_t> leading = tensor->sizes().take_front(numDims);
      agree &= common.empty() || ArrayRef<int64_t>(common) == leading;
      common.assign(leading.begin(), leading.end());
    }
    if (agree)
      return common;
  }
  return {};
}

HostTensor fa::interp::sliceOf(const HostTensor &tensor,
                               ArrayRef<int64_t> index) {
  SmallVector<int64_t> sizes(tensor.sizes());
  int64_t offset = 0;
  for (auto [dim, at] : llvm::enumerate(index)) {
    sizes[dim] = 1;
    offset += at * tensor.strides()[dim];
  }
  return tensor.view(sizes, tensor.strides(), offset);
}
