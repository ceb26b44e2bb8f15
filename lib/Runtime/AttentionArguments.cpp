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
      int64_t keys =
          p.page ? static_cast<int64_t>(inputs.lengths->at({b})) : p.seqKv;
      int64_t position = i + keys - p.seqQ, start = 0, end = keys;
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

/// What both directions begin with.
static llvm::Expected<std::vector<LaunchArgument>>
makeInputs(const AttentionProblem &problem, AttentionInputs &inputs) {
  std::vector<LaunchArgument> arguments = {makeArgument(inputs.q),
                                           makeArgument(inputs.k)};
  if (!problem.valuesInKeys)
    arguments.push_back(makeArgument(inputs.v));
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
  if (problem.dropout != 0)
    arguments.push_back(makeArgument(*inputs.rng));
  if (problem.hasOffsets)
    arguments.push_back(makeArgument(*inputs.offsets));
  if (problem.hasKeyOffsets)
    arguments.push_back(makeArgument(*inputs.keyOffsets));
  if (problem.page)
    arguments.push_back(makeArgument(*inputs.table));
  if (problem.hasScales)
    for (const auto *scales : {&inputs.kScale, &inputs.vScale})
      arguments.push_back(makeArgument(**scales));
  if (problem.hasQueryScales)
    arguments.push_back(makeArgument(*inputs.qScale));
  if (problem.draft)
    arguments.push_back(makeArgument(*inputs.draft));
  arguments.push_back(
      LaunchArgument::f32(static_cast<float>(problem.effectiveScale())));
  return arguments;
}

llvm::Expected<std::vector<LaunchArgument>>
fa::makeArguments(const AttentionProblem &problem, AttentionInputs &inputs,
                  const HostTensor &out, const HostTensor *lse) {
  auto arguments = makeInputs(problem, inputs);
  if (!arguments)
    return arguments;
  arguments->push_back(makeArgument(out));
  if (lse)
    arguments->push_back(makeArgument(*lse));
  return arguments;
}

llvm::Expected<std::vector<LaunchArgument>>
fa::makeBackwardArguments(const AttentionProblem &problem,
                          AttentionInputs &inputs, const BackwardInputs &given,
                          llvm::ArrayRef<HostTensor> gradients) {
  auto arguments = makeInputs(problem, inputs);
  if (!arguments)
    return arguments;
  const auto &[forward, cotangents] = given;
  for (const HostTensor &tensor : {forward.out, forward.lse, cotangents.out})
    arguments->push_back(makeArgument(tensor));
  if (problem.backward->dlse)
    arguments->push_back(makeArgument(*cotangents.lse));
  for (const HostTensor &gradient : gradients)
    arguments->push_back(makeArgument(gradient));
  return arguments;
}

/// A tensor in the order of its memory.
static LaunchArgument describeTensor(ElementType type,
                                     llvm::ArrayRef<int64_t> sizes) {
  return LaunchArgument::tensor(nullptr, type, sizes, contiguousStrides(sizes));
}

/// A tensor of `sizes`, [.., heads, seq, dim]; `bshd`: in memory
/// [.., seq, heads, dim].
static LaunchArgument describeRows(ElementType type,
                                   llvm::ArrayRef<int64_t> sizes, bool bshd) {
  llvm::SmallVector<int64_t, 4> inMemory(sizes);
  size_t heads = sizes.size() - 3, rows = sizes.size() - 2;
  if (bshd)
    std::swap(inMemory[heads], inMemory[rows]);
  llvm::SmallVector<int64_t, 4> strides = contiguousStrides(inMemory);
  if (bshd)
    std::swap(strides[heads], strides[rows]);
  return LaunchArgument::tensor(nullptr, type, sizes, strides);
}

/// The same in the problem's layout.
static LaunchArgument describeRows(const AttentionProblem &p,
                                   llvm::ArrayRef<int64_t> sizes) {
  return describeRows(p.type, sizes, p.layoutBshd);
}

std::vector<LaunchArgument> fa::describeArguments(const AttentionProblem &p) {
  std::vector<LaunchArgument> arguments = {
      describeRows(p.queryType(), p.querySizes(p.headDim), p.layoutBshd),
      describeRows(p.keyType(), p.keySizes(p.headDim), p.areKeysTurned())};
  if (!p.valuesInKeys)
    arguments.push_back(
        describeRows(p.keyType(), p.keySizes(p.headDimV), p.areKeysTurned()));
  if (!p.bias.empty())
    arguments.push_back(describeTensor(p.type, p.biasSizes()));
  if (p.alibi)
    arguments.push_back(describeTensor(ElementType::F32, {p.numHeads}));
  if (p.lengths)
    arguments.push_back(describeTensor(ElementType::I32, {p.batch}));
  if (p.documents) // starts and ends
    arguments.insert(arguments.end(), 2,
                     describeTensor(ElementType::I32, {p.batch, p.seqQ}));
  if (p.sink)
    arguments.push_back(describeTensor(ElementType::F32, {p.numHeads}));
  if (p.dropout != 0)
    arguments.push_back(describeTensor(ElementType::I64, {2}));
  for (bool present : {p.hasOffsets, p.hasKeyOffsets})
    if (present)
      arguments.push_back(describeTensor(ElementType::I32, {p.batch + 1}));
  if (p.page)
    arguments.push_back(
        describeTensor(ElementType::I32, {p.batch, p.tableWidth()}));
  if (p.hasScales)
    arguments.insert(arguments.end(), 2,
                     describeTensor(ElementType::F32, p.scaleSizes()));
  if (p.hasQueryScales)
    arguments.push_back(
        describeTensor(ElementType::F32, {p.batch, p.numKvHeads}));
  if (p.draft)
    arguments.push_back(describeTensor(ElementType::I32, p.draftSizes()));
  arguments.push_back(
      LaunchArgument::f32(static_cast<float>(p.effectiveScale())));
  LaunchArgument out = describeRows(p, p.querySizes(p.headDimV));
  LaunchArgument lse = describeTensor(ElementType::F32, p.lseSizes());
  arguments.push_back(out);
  if (p.lse || p.backward)
    arguments.push_back(lse);
  if (p.backward) { // the cotangents, which are like the results
    arguments.push_back(out);
    if (p.backward->dlse)
      arguments.push_back(lse);
  }
  for (const WantedGradient &gradient : p.gradients())
    arguments.push_back(gradient.isRows
                            ? describeRows(p, gradient.sizes)
                            : describeTensor(gradient.type, gradient.sizes));
  return arguments;
}
