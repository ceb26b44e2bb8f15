//===- AttentionArguments.cpp - an attention's launch arguments -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Runtime/AttentionArguments.h"

using namespace fa;

LaunchArgument fa::makeArgument(const HostTensor &tensor) {
  return LaunchArgument::tensor(tensor.data(), tensor.type(), tensor.sizes(),
                                tensor.strides());
}

/// A kernel is given what a query sees, not the list of documents: the limits
/// of its document, for each query once.
static llvm::Error setDocumentRows(const AttentionProblem &p,
                                   AttentionInputs &inputs) {
  for (std::optional<HostTensor> *rows : {&inputs.starts, &inputs.ends}) {
    auto created = HostTensor::create(ElementType::I32, {p.batch, p.seqQ});
    if (!created)
      return created.takeError();
    *rows = *created;
  }
  int64_t numBounds = inputs.documents->sizes()[1];
  for (int64_t b = 0; b < p.batch; ++b)
    for (int64_t i = 0; i < p.seqQ; ++i) {
      int64_t position = i + p.seqKv - p.seqQ, start = 0, end = p.seqKv;
      for (int64_t n = 0; n < numBounds; ++n) {
        auto bound = static_cast<int64_t>(inputs.documents->at({b, n}));
        if (bound <= position)
          start = std::max(start, bound);
        else
          end = std::min(end, bound);
      }
      inputs.starts->set({b, i}, static_cast<double>(start));
      inputs.ends->set({b, i}, static_cast<double>(end));
    }
  return llvm::Error::success();
}

llvm::Expected<std::vector<LaunchArgument>>
fa::makeArguments(const AttentionProblem &problem, AttentionInputs &inputs,
                  const HostTensor &out, const HostTensor *lse) {
  std::vector<LaunchArgument> arguments = {
      makeArgument(inputs.q), makeArgument(inputs.k), makeArgument(inputs.v)};
  if (!problem.bias.empty())
    arguments.push_back(makeArgument(*inputs.bias));
  if (problem.alibi)
    arguments.push_back(makeArgument(*inputs.slopes));
  if (problem.lengths)
    arguments.push_back(makeArgument(*inputs.lengths));
  if (problem.documents) {
    if (llvm::Error error = setDocumentRows(problem, inputs))
      return error;
    arguments.push_back(makeArgument(*inputs.starts));
    arguments.push_back(makeArgument(*inputs.ends));
  }
  if (problem.sink)
    arguments.push_back(makeArgument(*inputs.sink));
  arguments.push_back(
      LaunchArgument::f32(static_cast<float>(problem.effectiveScale())));
  arguments.push_back(makeArgument(out));
  if (lse)
    arguments.push_back(makeArgument(*lse));
  return arguments;
}
