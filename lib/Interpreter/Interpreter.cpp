//===- Interpreter.cpp - a whole-tensor program, evaluated ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Interpreter/Interpreter.h"

#include "Evaluator.h"
#include "Slices.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "llvm/Support/Parallel.h"

#include <cstring>
#include <mutex>

using namespace mlir;
using namespace fa;
using namespace fa::interp;

namespace {

/// The results of all slices, put together.
class Gathered {
public:
  explicit Gathered(ArrayRef<int64_t> sizes) : sizes(sizes) {}

  /// Takes what the slice at `index` gave. May be called from many threads.
  llvm::Error add(ArrayRef<int64_t> index, ArrayRef<HostTensor> part) {
    std::scoped_lock lock(mutex);
    for (auto [r, tensor] : llvm::enumerate(part)) {
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
  }

  std::vector<HostTensor> results;

private:
  ArrayRef<int64_t> sizes;
  std::mutex mutex;
};

} // namespace

/// Slice by slice.
static llvm::Expected<std::vector<HostTensor>>
interpretSlices(func::FuncOp function, ArrayRef<InterpreterValue> arguments,
                ArrayRef<int64_t> sizes, Precision precision) {
  constexpr int64_t atOnce = 4; // each holds its scores
  Sizes steps = contiguousStrides(sizes);
  int64_t count = llvm::product_of(sizes);
  Gathered gathered(sizes);
  auto evaluateSlice = [&](int64_t n) -> llvm::Error {
    SmallVector<int64_t> index = delinearize(n, steps);
    std::vector<InterpreterValue> slices(arguments);
    for (InterpreterValue &slice : slices)
      if (auto *tensor = std::get_if<HostTensor>(&slice))
        slice = sliceOf(*tensor, index);
    auto part = Evaluator(precision).run(function, slices);
    if (!part)
      return part.takeError();
    return gathered.add(index, *part);
  };
  for (int64_t first = 0; first < count; first += atOnce)
    if (llvm::Error error = llvm::parallelForEachError(
            llvm::seq(first, std::min(first + atOnce, count)), evaluateSlice))
      return error;
  return std::move(gathered.results);
}

llvm::Expected<std::vector<HostTensor>>
fa::interpret(ModuleOp module, StringRef entry,
              ArrayRef<InterpreterValue> arguments, Precision precision) {
  auto function = module.lookupSymbol<func::FuncOp>(entry);
  if (!function || function.isDeclaration() ||
      !function.getBody().hasOneBlock())
    return llvm::createStringError("expected a function @" + entry +
                                   " with a body of one block");
  if (llvm::Error error = checkArguments(function, arguments))
    return error;
  SmallVector<int64_t> sizes = getSliceSizes(function, arguments);
  if (llvm::product_of(sizes) > 1)
    return interpretSlices(function, arguments, sizes, precision);
  return Evaluator(precision).run(function, arguments);
}
