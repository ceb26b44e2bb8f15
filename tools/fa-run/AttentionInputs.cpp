//===- AttentionInputs.cpp - an attention's arguments ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "InputFiles.h"

#include "fa/Frontend/BuildAttention.h"
#include "fa/Numerics/Npy.h"
#include "fa/Runtime/AttentionArguments.h"

#include <cmath>

using namespace llvm;
using namespace fa;
using namespace fa::run;

Error fa::run::readInput(StringRef what, StringRef path, bool wanted,
                         ArrayRef<int64_t> sizes, ElementType type,
                         std::optional<HostTensor> &result) {
  if (path.empty())
    return Error::success();
  if (!wanted)
    return createStringError("--" + what +
                             " is given, but the problem has "
                             "no '" +
                             (what == "slopes" ? "alibi" : what) + "'");
  auto tensor = readNpy(path, type);
  if (!tensor)
    return tensor.takeError();
  if (tensor->type() != type || tensor->sizes() != sizes)
    return createStringError(path + ": expected " + name(type) + " of " +
                             formatSizes(sizes) + ", found " +
                             name(tensor->type()) + " of " +
                             formatSizes(tensor->sizes()));
  result = *tensor;
  return Error::success();
}

namespace {

/// Reads the files of a problem and makes sizes and files agree.
class AttentionReader {
public:
  AttentionReader(const Options &options, AttentionSpec &spec)
      : options(options), spec(spec), p(spec.problem) {}

  Expected<AttentionInputs> read() {
    AttentionInputs files;
    if (Error error = readRows("q", options.q, files.q, &p.numHeads, "hq",
                               &p.seqQ, "sq", &p.headDim, "d"))
      return error;
    if (Error error = readRows("k", options.k, files.k, &p.numKvHeads, "hkv",
                               &p.seqKv, "sk", &p.headDim, "d"))
      return error;
    if (Error error = readRows("v", options.v, files.v, &p.numKvHeads, "hkv",
                               &p.seqKv, "sk", &p.headDimV, "dv"))
      return error;
    spec.applyDefaults();
    if (Error error = p.verify())
      return error;
    // Code depends on no values, and sizes may be too large for any.
    Expected<AttentionInputs> inputs = options.emit.empty()
                                           ? makeRandomInputs(p, options.seed)
                                           : AttentionInputs();
    if (!inputs)
      return inputs;
    if (!options.q.empty())
      inputs->q = files.q;
    if (!options.k.empty())
      inputs->k = files.k;
    if (!options.v.empty())
      inputs->v = files.v;
    if (Error error = readInput("bias", options.bias, !p.bias.empty(),
                                p.biasSizes(), p.type, inputs->bias))
      return error;
    if (Error error = readInput("slopes", options.slopes, p.alibi, {p.numHeads},
                                ElementType::F32, inputs->slopes))
      return error;
    if (Error error = readInput("lengths", options.lengths, p.lengths,
                                {p.batch}, ElementType::I32, inputs->lengths))
      return error;
    if (Error error = readInput("sink", options.sink, p.sink, {p.numHeads},
                                ElementType::F32, inputs->sink))
      return error;
    if (Error error = readDocuments(*inputs))
      return error;
    return inputs;
  }

private:
  /// A size that a file has: it must be the one that was given, if any.
  Error agree(StringRef file, StringRef key, int64_t &size, int64_t found) {
    if (spec.given.contains(key) && size != found)
      return createStringError(file + ": expected " + key + "=" + Twine(size) +
                               ", found " + Twine(found));
    size = found;
    spec.given.insert(key);
    return Error::success();
  }

  Error readRows(StringRef what, StringRef path, HostTensor &result,
                 int64_t *heads, StringRef headsKey, int64_t *seq,
                 StringRef seqKey, int64_t *dim, StringRef dimKey) {
    if (path.empty())
      return Error::success();
    auto tensor = readNpy(path, p.type);
    if (!tensor)
      return tensor.takeError();
    if (tensor->rank() != 4)
      return createStringError(
          path + ": expected " + what + " of rank 4, found rank " +
          Twine(tensor->rank()) + " (" + formatSizes(tensor->sizes()) + ")");
    result = p.layoutBshd ? tensor->permuted({0, 2, 1, 3}) : *tensor;
    if (spec.given.contains("type") && result.type() != p.type)
      return createStringError(path + ": expected elements of type " +
                               name(p.type) + ", found " + name(result.type()));
    if (result.type() != ElementType::F32 &&
        result.type() != ElementType::F16 && result.type() != ElementType::BF16)
      return createStringError(path +
                               ": expected f32, f16 or bf16 elements, "
                               "found " +
                               name(result.type()));
    p.type = result.type();
    spec.given.insert("type");
    std::tuple<StringRef, int64_t *, int64_t> sizes[] = {
        {"b", &p.batch, result.sizes()[0]},
        {headsKey, heads, result.sizes()[1]},
        {seqKey, seq, result.sizes()[2]},
        {dimKey, dim, result.sizes()[3]}};
    for (auto [key, size, found] : sizes)
      if (Error error = agree(path, key, *size, found))
        return error;
    return Error::success();
  }

  Error readDocuments(AttentionInputs &inputs) {
    StringRef path = options.documents;
    if (path.empty())
      return Error::success();
    if (!p.documents)
      return createStringError("--documents is given, but the problem has no "
                               "'documents'");
    auto tensor = readNpy(path, ElementType::I32);
    if (!tensor)
      return tensor.takeError();
    ArrayRef<int64_t> sizes = tensor->sizes();
    if (tensor->type() != ElementType::I32 || sizes.size() != 2 ||
        sizes[0] != p.batch || sizes[1] < 1)
      return createStringError(path + ": expected i32 of " + Twine(p.batch) +
                               "x(n+1) boundaries, found " +
                               name(tensor->type()) + " of " +
                               formatSizes(sizes));
    for (int64_t b = 0; b < sizes[0]; ++b)
      for (int64_t n = 1; n < sizes[1]; ++n)
        if (tensor->at({b, n}) < tensor->at({b, n - 1}))
          return createStringError(
              path + ": expected ascending boundaries, found " +
              Twine(static_cast<int64_t>(tensor->at({b, n - 1}))) + " before " +
              Twine(static_cast<int64_t>(tensor->at({b, n}))) + " in batch " +
              Twine(b));
    inputs.documents = *tensor;
    return Error::success();
  }

  const Options &options;
  AttentionSpec &spec;
  AttentionProblem &p;
};

} // namespace

static Error prepareForward(Job &job) {
  const AttentionProblem &p = *job.problem;
  if (Error error =
          addOutput(job, "out", p.type,
                    {p.batch, p.numHeads, p.seqQ, p.headDimV}, p.layoutBshd))
    return error;
  if (p.lse)
    if (Error error = addOutput(job, "lse", ElementType::F32,
                                {p.batch, p.numHeads, p.seqQ}, false))
      return error;
  auto arguments = makeArguments(p, job.inputs, job.outputs.front().second,
                                 p.lse ? &job.outputs.back().second : nullptr);
  if (!arguments)
    return arguments.takeError();
  job.arguments = std::move(*arguments);
  return Error::success();
}

Expected<Job> fa::run::prepareAttention(mlir::MLIRContext &context,
                                        const Options &options) {
  auto spec = parseAttentionSpec(*options.attention);
  if (!spec)
    return spec.takeError();
  AttentionProblem &p = spec->problem;
  if (Error error = checkDirection(p, options))
    return error;
  p.lengths |= !options.lengths.empty();
  p.lse |= !options.lse.empty();
  auto inputs = AttentionReader(options, *spec).read();
  if (!inputs)
    return inputs.takeError();
  Job job;
  job.problem = p;
  job.program = "attention " + p.str();
  job.entry = "attention";
  auto module = buildAttention(context, p, job.entry);
  if (!module)
    return module.takeError();
  job.module = std::move(*module);
  if (!options.emit.empty())
    return job;
  job.inputs = *inputs;
  if (Error error =
          p.backward ? prepareBackward(job, options) : prepareForward(job))
    return error;
  return job;
}
