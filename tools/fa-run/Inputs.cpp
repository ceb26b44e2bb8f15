//===- Inputs.cpp - arguments from files, or random -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Job.h"

#include "fa/Frontend/BuildAttention.h"
#include "fa/Numerics/Npy.h"
#include "fa/Runtime/AttentionArguments.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/SourceMgr.h"

#include <cmath>
#include <limits>

using namespace llvm;
using namespace fa;
using namespace fa::run;

//===----------------------------------------------------------------------===//
// An attention problem
//===----------------------------------------------------------------------===//

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
    if (Error error = readOther("bias", options.bias, !p.bias.empty(),
                                p.biasSizes(), p.type, inputs->bias))
      return error;
    if (Error error = readOther("slopes", options.slopes, p.alibi, {p.numHeads},
                                ElementType::F32, inputs->slopes))
      return error;
    if (Error error = readOther("lengths", options.lengths, p.lengths,
                                {p.batch}, ElementType::I32, inputs->lengths))
      return error;
    if (Error error = readOther("sink", options.sink, p.sink, {p.numHeads},
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

  static Error readOther(StringRef what, StringRef path, bool wanted,
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

  const Options &options;
  AttentionSpec &spec;
  AttentionProblem &p;
};

} // namespace

/// Adds an output full of NaN, so that what is not written is seen.
static Error addOutput(Job &job, StringRef name, ElementType type,
                       ArrayRef<int64_t> sizes, bool bshd) {
  SmallVector<int64_t, 4> inMemory(sizes);
  if (bshd)
    std::swap(inMemory[1], inMemory[2]);
  auto tensor = HostTensor::create(type, inMemory);
  if (!tensor)
    return tensor.takeError();
  tensor->fill(std::numeric_limits<double>::quiet_NaN());
  job.outputs.push_back(
      {name.str(), bshd ? tensor->permuted({0, 2, 1, 3}) : *tensor});
  return Error::success();
}

Expected<Job> fa::run::prepareAttention(mlir::MLIRContext &context,
                                        const Options &options) {
  auto spec = parseAttentionSpec(*options.attention);
  if (!spec)
    return spec.takeError();
  AttentionProblem &p = spec->problem;
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
  return job;
}

//===----------------------------------------------------------------------===//
// A file
//===----------------------------------------------------------------------===//

Expected<Job> fa::run::loadFile(mlir::MLIRContext &context,
                                const Options &options) {
  std::string problems;
  raw_string_ostream out(problems);
  mlir::ScopedDiagnosticHandler handler(
      &context, [&](mlir::Diagnostic &diagnostic) {
        out << diagnostic.getLocation() << ": " << diagnostic << "\n";
        return mlir::success();
      });
  Job job;
  job.program = options.file;
  job.entry = options.entry;
  job.module = mlir::parseSourceFile<mlir::ModuleOp>(options.file, &context);
  if (!job.module)
    return createStringError(StringRef(problems).rtrim());
  return job;
}

/// "2x4x100x64" as sizes.
static bool parseSizes(StringRef text, SmallVectorImpl<int64_t> &sizes) {
  SmallVector<StringRef> parts;
  text.split(parts, 'x');
  for (StringRef part : parts) {
    int64_t size;
    if (part.getAsInteger(10, size) || size < 0)
      return false;
    sizes.push_back(size);
  }
  return true;
}

static bool isInteger(ElementType type) {
  return is_contained({ElementType::I1, ElementType::I32, ElementType::I64},
                      type);
}

/// Whether `text` is an integer that the argument's type holds.
static bool parseInteger(StringRef text, const ArgumentInfo &info,
                         int64_t &result) {
  unsigned bits = info.type == ElementType::I1    ? 1
                  : info.type == ElementType::I32 ? 32
                                                  : 64;
  return !text.getAsInteger(10, result) &&
         (bits == 1 ? result == 0 || result == 1 : isIntN(bits, result));
}

static Expected<LaunchArgument> readScalar(StringRef text,
                                           const ArgumentInfo &info) {
  bool isFloat = !isInteger(info.type);
  double number = 0;
  int64_t integer = 0;
  if (isFloat ? text.getAsDouble(number) : !parseInteger(text, info, integer))
    return createStringError("--in: expected " +
                             Twine(isFloat ? "a number" : "an integer") +
                             " for a scalar argument of type " +
                             name(info.type) + ", found '" + text + "'");
  LaunchArgument argument = LaunchArgument::index(integer);
  argument.type = info.type;
  if (isFloat)
    storeElement(&argument.bits, info.type, number);
  return argument;
}

/// What `argument` is to the reference.
static double valueOf(const LaunchArgument &argument) {
  return isInteger(argument.type)
             ? static_cast<double>(static_cast<int64_t>(argument.bits))
             : loadElement(&argument.bits, argument.type);
}

static Expected<HostTensor> readTensor(StringRef text, const ArgumentInfo &info,
                                       uint64_t seed) {
  SmallVector<int64_t> sizes;
  if (!parseSizes(text, sizes))
    return readNpy(text, info.type);
  auto tensor = HostTensor::create(info.type, sizes);
  if (tensor)
    fillNormal(*tensor, seed);
  return tensor;
}

/// The sizes of output `number`: what the kernel's rules say, else, where an
/// input has that dimension, its size.
static SmallVector<int64_t, 4>
inferSizes(size_t number, const KernelInfo &kernel, const Job &job) {
  SmallVector<int64_t, 4> sizes(ArrayRef<int64_t>(kernel.args[number].sizes));
  for (const SizeRule &rule : kernel.rules)
    if (rule.kind == SizeRule::Equal &&
        rule.argument == static_cast<int64_t>(number) &&
        rule.other < static_cast<int64_t>(job.arguments.size()) &&
        rule.otherDim <
            static_cast<int64_t>(job.arguments[rule.other].sizes.size()))
      sizes[rule.dim] =
          job.arguments[rule.other].sizes[rule.otherDim] * rule.factor;
  for (const SizeRule &rule : kernel.rules)
    if (rule.kind == SizeRule::Equal &&
        rule.other == static_cast<int64_t>(number) &&
        rule.argument < static_cast<int64_t>(job.arguments.size()))
      sizes[rule.otherDim] =
          job.arguments[rule.argument].sizes[rule.dim] / rule.factor;
  for (auto [d, size] : enumerate(sizes))
    if (size == kDynamic)
      for (const HostTensor &tensor : job.tensors)
        if (d < tensor.sizes().size()) {
          size = tensor.sizes()[d];
          break;
        }
  return sizes;
}

Error fa::run::prepareFileArguments(Job &job, const Options &options,
                                    const KernelInfo &kernel) {
  size_t next = 0;
  ArrayRef given = ArrayRef(kernel.args).take_front(kernel.numGiven());
  for (auto [number, info] : enumerate(given)) {
    if (info.isMemRef && info.access == Access::Out) {
      if (Error error =
              addOutput(job, "out" + std::to_string(job.outputs.size()),
                        info.type, inferSizes(number, kernel, job), false))
        return error;
      job.arguments.push_back(makeArgument(job.outputs.back().second));
      continue;
    }
    if (next == options.in.size())
      return createStringError("expected an --in for argument " +
                               Twine(number) + ", found " + Twine(next) +
                               " of them");
    StringRef text = options.in[next++];
    if (!info.isMemRef) {
      auto scalar = readScalar(text, info);
      if (!scalar)
        return scalar.takeError();
      job.arguments.push_back(*scalar);
      job.referenceArguments.push_back(valueOf(*scalar));
      continue;
    }
    auto tensor = readTensor(text, info, options.seed + number);
    if (!tensor)
      return tensor.takeError();
    if (tensor->rank() > int64_t(kMaxRank))
      return createStringError("--in " + text + ": expected at most " +
                               Twine(kMaxRank) + " dimensions, found " +
                               Twine(tensor->rank()));
    job.tensors.push_back(*tensor);
    // A copy: the program may write to an inout argument.
    auto copy = HostTensor::create(ElementType::F64, tensor->sizes());
    if (!copy)
      return copy.takeError();
    llvm::copy(tensor->toDoubles(), static_cast<double *>(copy->data()));
    job.referenceArguments.push_back(*copy);
    job.arguments.push_back(makeArgument(*tensor));
    if (info.access == Access::InOut)
      job.outputs.push_back(
          {"out" + std::to_string(job.outputs.size()), *tensor});
  }
  if (next != options.in.size())
    return createStringError("expected " + Twine(next) + " --in, found " +
                             Twine(options.in.size()));
  return Error::success();
}
