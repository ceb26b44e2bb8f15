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
                             (what == "slopes"          ? "alibi"
                              : what == "rng"           ? "dropout"
                              : what == "q-scale"       ? "type=f8e4m3"
                              : what.ends_with("scale") ? "kv"
                                                        : what) +
                             "'");
  auto tensor = readNpy(path, type, /*takesWords=*/what == "draft");
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

Error fa::run::agreeOnType(AttentionSpec &spec, StringRef path, bool isKey,
                           ElementType found) {
  AttentionProblem &p = spec.problem;
  bool isNarrow = (isKey ? p.kvType : p.qType).has_value();
  ElementType expected = isKey ? p.keyType() : p.queryType();
  if ((isNarrow || spec.given.contains("type")) && found != expected)
    return createStringError(path + ": expected elements of type " +
                             name(expected) + ", found " + name(found));
  if (isNarrow)
    return Error::success();
  if (found != ElementType::F32 && found != ElementType::F16 &&
      found != ElementType::BF16)
    return createStringError(path +
                             ": expected f32, f16 or bf16 elements, "
                             "found " +
                             name(found));
  p.type = found;
  spec.given.insert("type");
  return Error::success();
}

Error fa::run::agree(AttentionSpec &spec, StringRef file, StringRef key,
                     int64_t &size, int64_t found) {
  if (spec.given.contains(key) && size != found)
    return createStringError(file + ": expected " + key + "=" + Twine(size) +
                             ", found " + Twine(found));
  size = found;
  spec.given.insert(key);
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
    if (p.valuesInKeys && !options.v.empty())
      return createStringError("--v is given, but the problem has "
                               "'values-in-keys'");
    if (Error error = readOffsets("offsets", options.offsets, p.hasOffsets,
                                  p.seqQ, "sq", files.offsets))
      return error;
    if (Error error =
            readOffsets("key-offsets", options.keyOffsets, p.hasKeyOffsets,
                        p.seqKv, "sk", files.keyOffsets))
      return error;
    RowFile q{"q",     options.q, &p.numHeads, "hq",
              &p.seqQ, "sq",      &p.headDim,  "d"};
    if (p.hasOffsets)
      q.pack(&p.rowsQ, "tq");
    if (Error error = readRows(q, files.q))
      return error;
    if (Error error =
            p.page ? readPagedKeys(options, spec, files) : readKeys(files))
      return error;
    spec.applyDefaults();
    if (Error error = p.verify())
      return error;
    if (Error error =
            checkLast(options.offsets, files.offsets, p.querySizes(1)))
      return error;
    if (Error error =
            checkLast(options.keyOffsets, files.keyOffsets, p.keySizes(1)))
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
    if (p.valuesInKeys && options.emit.empty())
      inputs->v = firstColumns(inputs->k, p.headDimV);
    else if (!options.v.empty())
      inputs->v = files.v;
    if (files.offsets)
      inputs->offsets = files.offsets;
    if (files.keyOffsets)
      inputs->keyOffsets = files.keyOffsets;
    if (files.table)
      inputs->table = files.table;
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
    SmallVector<int64_t, 2> scales = {p.batch, p.numKvHeads};
    if (Error error =
            readInput("k-scale", options.kScale, p.hasScales, p.scaleSizes(),
                      ElementType::F32, inputs->kScale))
      return error;
    if (Error error =
            readInput("v-scale", options.vScale, p.hasScales, p.scaleSizes(),
                      ElementType::F32, inputs->vScale))
      return error;
    if (Error error = readInput("q-scale", options.qScale, p.hasQueryScales,
                                scales, ElementType::F32, inputs->qScale))
      return error;
    if (Error error = readInput("rng", options.rng, p.dropout != 0, {2},
                                ElementType::I64, inputs->rng))
      return error;
    if (Error error = readInput("draft", options.draft, p.draft, p.draftSizes(),
                                ElementType::I32, inputs->draft))
      return error;
    if (Error error = readDocuments(*inputs))
      return error;
    if (p.page && options.emit.empty())
      if (Error error = checkPagedKeys(*inputs))
        return error;
    return inputs;
  }

private:
  Error readKeys(AttentionInputs &files) {
    if (!options.table.empty())
      return createStringError(
          "--table is given, but the problem has no 'page'");
    RowFile k{"k",      options.k, &p.numKvHeads, "hkv",
              &p.seqKv, "sk",      &p.headDim,    "d"},
        v{"v",      options.v, &p.numKvHeads, "hkv",
          &p.seqKv, "sk",      &p.headDimV,   "dv"};
    k.isKey = v.isKey = true;
    if (p.hasKeyOffsets)
      for (RowFile *file : {&k, &v})
        file->pack(&p.rowsKv, "tk");
    if (Error error = readRows(k, files.k))
      return error;
    return readRows(v, files.v);
  }

  /// A file of rows, and the sizes of the problem that it has, with their keys.
  struct RowFile {
    StringRef what, path;
    int64_t *heads;
    StringRef headsKey;
    int64_t *seq; ///< or all rows, packed
    StringRef seqKey;
    int64_t *dim;
    StringRef dimKey;
    bool isPacked = false, isKey = false;

    void pack(int64_t *rows, StringRef rowsKey) {
      seq = rows;
      seqKey = rowsKey;
      isPacked = true;
    }
  };

  Error readRows(const RowFile &file, HostTensor &result) {
    StringRef path = file.path;
    if (path.empty())
      return Error::success();
    auto tensor = readNpy(path, file.isKey ? p.keyType() : p.queryType());
    if (!tensor)
      return tensor.takeError();
    int64_t rank = file.isPacked ? 3 : 4;
    if (tensor->rank() != rank)
      return createStringError(path + ": expected " + file.what + " of rank " +
                               Twine(rank) + ", found rank " +
                               Twine(tensor->rank()) + " (" +
                               formatSizes(tensor->sizes()) + ")");
    result = p.layoutBshd ? exchangeHeads(*tensor) : *tensor;
    if (Error error = agreeOnType(spec, path, file.isKey, result.type()))
      return error;
    ArrayRef<int64_t> found = result.sizes();
    if (!file.isPacked) {
      if (Error error = agree(spec, path, "b", p.batch, found.front()))
        return error;
      found = found.drop_front();
    }
    std::tuple<StringRef, int64_t *, int64_t> sizes[] = {
        {file.headsKey, file.heads, found[0]},
        {file.seqKey, file.seq, found[1]},
        {file.dimKey, file.dim, found[2]}};
    for (auto [key, size, found] : sizes)
      if (Error error = agree(spec, path, key, *size, found))
        return error;
    return Error::success();
  }

  /// Offsets say how many sequences there are and how long the longest is.
  Error readOffsets(StringRef flag, StringRef path, bool wanted, int64_t &seq,
                    StringRef seqKey, std::optional<HostTensor> &result) {
    if (path.empty())
      return Error::success();
    if (!wanted)
      return createStringError("--" + flag +
                               " is given, but the problem has no 'ragged'");
    auto tensor = readNpy(path, ElementType::I32);
    if (!tensor)
      return tensor.takeError();
    if (tensor->type() != ElementType::I32 || tensor->rank() != 1 ||
        tensor->sizes()[0] < 2)
      return createStringError(path + ": expected i32 of b+1 offsets, found " +
                               name(tensor->type()) + " of " +
                               formatSizes(tensor->sizes()));
    int64_t longest = 0, before = 0;
    for (int64_t n = 0; n < tensor->sizes()[0]; ++n) {
      auto offset = static_cast<int64_t>(tensor->at({n}));
      if (offset < before)
        return createStringError(path + ": expected ascending offsets, found " +
                                 Twine(before) + " before " + Twine(offset));
      if (n > 0)
        longest = std::max(longest, offset - before);
      before = offset;
    }
    result = *tensor;
    if (Error error = agree(spec, path, "b", p.batch, tensor->sizes()[0] - 1))
      return error;
    return agree(spec, path, seqKey, seq, longest);
  }

  /// An error if the last of `offsets` is beyond the rows of `sizes`,
  /// [heads, rows, dim].
  static Error checkLast(StringRef path,
                         const std::optional<HostTensor> &offsets,
                         ArrayRef<int64_t> sizes) {
    if (!offsets || offsets->at({offsets->sizes()[0] - 1}) <= sizes[1])
      return Error::success();
    return createStringError(
        path + ": expected offsets of at most " + Twine(sizes[1]) +
        " rows, found " +
        Twine(static_cast<int64_t>(offsets->at({offsets->sizes()[0] - 1}))));
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
          addOutput(job, "out", p.type, p.querySizes(p.headDimV), p.layoutBshd))
    return error;
  if (p.lse)
    if (Error error =
            addOutput(job, "lse", ElementType::F32, p.lseSizes(), false))
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
