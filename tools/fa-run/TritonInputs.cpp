//===- TritonInputs.cpp - a Triton kernel and its arguments ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "InputFiles.h"

#include "fa/Runtime/AttentionArguments.h"

using namespace llvm;
using namespace fa;
using namespace fa::run;

/// A tensor as the memory that it lies in.
static LaunchArgument makeMemory(const HostTensor &tensor) {
  int64_t count[] = {1};
  constexpr int64_t step[] = {1};
  for (int64_t size : tensor.sizes())
    count[0] *= size;
  LaunchArgument argument = makeArgument(tensor);
  return LaunchArgument::tensor(argument.data, argument.type, count, step);
}

/// The sizes of an argument without data.
static Expected<LaunchArgument> readGrid(StringRef text, Job &job) {
  SmallVector<int64_t> sizes;
  if (!parseSizes(text, sizes) || sizes.size() > 3)
    return createStringError("--grid: expected one to three numbers of "
                             "programs, such as 16x4, as kernel[grid] has "
                             "them, found '" +
                             text + "'");
  sizes.resize(3, 1);
  auto none = HostTensor::create(ElementType::F32, {1});
  if (!none)
    return none.takeError();
  job.tensors.push_back(*none);
  constexpr int64_t strides[] = {0, 0, 0};
  return LaunchArgument::tensor(makeArgument(job.tensors.back()).data,
                                ElementType::F32, sizes, strides);
}

/// A tensor from `text`, a file or sizes; of an output that has only sizes all
/// elements are NaN.
static Error addTensor(Job &job, StringRef text, const ArgumentInfo &info,
                       uint64_t seed) {
  std::string name = "out" + std::to_string(job.outputs.size());
  SmallVector<int64_t> sizes;
  if (info.access == Access::Out && parseSizes(text, sizes)) {
    if (Error error = addOutput(job, name, info.type, sizes, /*bshd=*/false))
      return error;
    job.arguments.push_back(makeMemory(job.outputs.back().second));
    return Error::success();
  }
  auto tensor = readTensor(text, info, seed);
  if (!tensor)
    return tensor.takeError();
  job.tensors.push_back(*tensor);
  job.arguments.push_back(makeMemory(*tensor));
  if (info.access != Access::In)
    job.outputs.push_back({name, *tensor});
  return Error::success();
}

Error fa::run::prepareTritonArguments(Job &job, const Options &options,
                                      const KernelInfo &kernel) {
  // The last argument is the grid.
  ArrayRef given = ArrayRef(kernel.args).drop_back();
  if (options.in.size() != given.size())
    return createStringError("expected " + Twine(given.size()) +
                             " --in, one for each argument of @" +
                             kernel.entry + ", found " +
                             Twine(options.in.size()));
  for (auto [number, info] : enumerate(given)) {
    StringRef text = options.in[number];
    if (info.isMemRef) {
      if (Error error = addTensor(job, text, info, options.seed + number))
        return error;
      continue;
    }
    auto scalar = readScalar(text, info);
    if (!scalar)
      return scalar.takeError();
    job.arguments.push_back(*scalar);
  }
  auto grid = readGrid(options.grid, job);
  if (!grid)
    return grid.takeError();
  job.arguments.push_back(*grid);
  return Error::success();
}
