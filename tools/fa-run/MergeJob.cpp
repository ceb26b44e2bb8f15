//===- MergeJob.cpp - a merge of parts ------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Job.h"

#include "fa/Frontend/BuildMerge.h"
#include "fa/Numerics/Npy.h"
#include "fa/Runtime/ServingArguments.h"

#include <limits>

using namespace llvm;
using namespace fa;
using namespace fa::run;

/// Input `path`, of which `wanted` is like.
static Expected<HostTensor> readPart(const MergeProblem &p, StringRef path,
                                     const HostTensor &wanted) {
  auto tensor = readNpy(path, wanted.type());
  if (!tensor)
    return tensor;
  bool isOut = wanted.rank() == 4;
  HostTensor rows = p.layoutBshd && isOut ? exchangeHeads(*tensor) : *tensor;
  if (rows.type() != wanted.type() || rows.sizes() != wanted.sizes())
    return createStringError(
        path + ": expected " + name(wanted.type()) + " of " +
        formatSizes(wanted.sizes()) + (isOut ? " (b, h, s, d)" : " (b, h, s)") +
        ", found " + name(rows.type()) + " of " + formatSizes(rows.sizes()));
  return rows;
}

/// Replaces random parts by those of files: outputs, then log-sum-exps.
static Error readParts(const MergeProblem &p, const Options &options,
                       MergeInputs &inputs) {
  if (options.in.empty())
    return Error::success();
  size_t parts = p.parts;
  if (options.in.size() != 2 * parts)
    return createStringError("--in: expected the outputs of " + Twine(parts) +
                             " parts and then their log-sum-exps, found " +
                             Twine(options.in.size()));
  for (size_t n = 0; n < 2 * parts; ++n) {
    HostTensor &part = n < parts ? inputs.outs[n] : inputs.lses[n - parts];
    auto read = readPart(p, options.in[n], part);
    if (!read)
      return read.takeError();
    part = *read;
  }
  return Error::success();
}

Expected<Job> fa::run::prepareMerge(mlir::MLIRContext &context,
                                    const Options &options) {
  auto parsed = parseMergeSpec(*options.merge);
  if (!parsed)
    return parsed.takeError();
  MergeProblem p = *parsed;
  p.lse |= !options.lse.empty();
  Job job;
  job.program = "merge " + p.str();
  job.entry = "merge";
  auto module = buildMerge(context, p, job.entry);
  if (!module)
    return module.takeError();
  job.module = std::move(*module);
  if (!options.emit.empty())
    return job;
  auto inputs = makeRandomInputs(p, options.seed);
  if (!inputs)
    return inputs.takeError();
  if (Error error = readParts(p, options, *inputs))
    return error;
  for (bool isLse : {false, true}) {
    if (isLse && !p.lse)
      continue;
    auto rows =
        createMergeRows(p, isLse ? std::nullopt : std::optional(p.headDim));
    if (!rows)
      return rows.takeError();
    rows->fill(std::numeric_limits<double>::quiet_NaN());
    job.outputs.push_back({isLse ? "lse" : "out", *rows});
  }
  job.arguments = makeArguments(*inputs, job.outputs[0].second,
                                p.lse ? &job.outputs[1].second : nullptr);
  job.checker = [p, inputs = *inputs](const Job &job) {
    return checkMerge(p, inputs, job.outputs[0].second,
                      p.lse ? &job.outputs[1].second : nullptr);
  };
  return job;
}
