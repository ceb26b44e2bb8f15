//===- Inputs.cpp - arguments of a file's program, and outputs ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "InputFiles.h"

#include "fa/Frontend/BuildAttention.h"
#include "fa/Numerics/Npy.h"
#include "fa/Runtime/AttentionArguments.h"
#include "fa/Runtime/TritonProgram.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/SourceMgr.h"

#include <cmath>
#include <limits>

using namespace llvm;
using namespace fa;
using namespace fa::run;

Error fa::run::addOutput(Job &job, StringRef name, ElementType type,
                         ArrayRef<int64_t> sizes, bool bshd) {
  auto tensor = createRows(type, sizes, bshd);
  if (!tensor)
    return tensor.takeError();
  tensor->fill(std::numeric_limits<double>::quiet_NaN());
  job.outputs.push_back({name.str(), *tensor});
  return Error::success();
}

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
  job.isTriton = isTritonProgram(*job.module);
  if (job.isTriton)
    if (Error error = lowerTritonProgram(*job.module))
      return error;
  if (job.isTriton)
    if (Error error = raiseTritonProgram(job, options))
      return error;
  return job;
}

bool fa::run::parseSizes(StringRef text, SmallVectorImpl<int64_t> &sizes) {
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

Expected<LaunchArgument> fa::run::readScalar(StringRef text,
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

Expected<HostTensor>
fa::run::readTensor(StringRef text, const ArgumentInfo &info, uint64_t seed) {
  SmallVector<int64_t> sizes;
  if (!parseSizes(text, sizes))
    return readNpy(text, info.type);
  auto tensor = HostTensor::create(info.type, sizes);
  if (tensor)
    fillNormal(*tensor, seed);
  return tensor;
}

/// The sizes of output `number`: what the kernel's rules say, else, where an
/// input has that dimension, its size; an error where none has.
static Expected<SmallVector<int64_t, 4>>
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
  for (auto [d, size] : enumerate(sizes)) {
    if (size != kDynamic)
      continue;
    auto has = find_if(job.tensors, [d = d](const HostTensor &tensor) {
      return d < tensor.sizes().size();
    });
    if (has == job.tensors.end())
      return createStringError(
          "argument " + Twine(number) + " of @" + kernel.symbol +
          ", an output: expected a rule of its dimension " + Twine(d) +
          ", or an input before it that has one, found neither");
    size = has->sizes()[d];
  }
  return sizes;
}

/// Adds a tensor to the program's arguments and to the reference's.
static Error addInput(Job &job, const HostTensor &tensor) {
  job.tensors.push_back(tensor);
  // A copy: the program may write to an inout argument.
  bool isLong = tensor.type() == ElementType::I64; // a double holds not all
  auto copy = HostTensor::create(isLong ? ElementType::I64 : ElementType::F64,
                                 tensor.sizes());
  if (!copy)
    return copy.takeError();
  if (auto *next = static_cast<char *>(copy->data()); isLong)
    tensor.forEach([&](const char *element) {
      next = std::copy_n(element, sizeof(int64_t), next);
    });
  else
    llvm::copy(tensor.toDoubles(), static_cast<double *>(copy->data()));
  job.referenceArguments.push_back(*copy);
  job.arguments.push_back(makeArgument(tensor));
  return Error::success();
}

/// Whether an argument, by its number, is a result of the function whose
/// gradients the program computes.
static bool isOfForward(const Job &job, size_t number) {
  if (!job.forward)
    return false;
  size_t first = job.forward->numArguments;
  return number >= first && number < first + job.forward->numResults;
}

/// The same of one that is not given.
static std::function<bool(size_t)>
resultsToCompute(const Job &job, const Options &options,
                 ArrayRef<ArgumentInfo> given) {
  if (!job.forward)
    return [](size_t) { return false; };
  size_t count = job.forward->numResults;
  auto inputs = count_if(given, [](const ArgumentInfo &info) {
    return !info.isMemRef || info.access != Access::Out;
  });
  bool areGiven = options.in.size() + count != size_t(inputs);
  return [=, &job](size_t number) {
    return !areGiven && isOfForward(job, number);
  };
}

Error fa::run::prepareFileArguments(Job &job, const Options &options,
                                    const KernelInfo &kernel) {
  if (job.isTriton)
    return prepareTritonArguments(job, options, kernel);
  size_t next = 0;
  ArrayRef given = ArrayRef(kernel.args).take_front(kernel.numGiven());
  auto isResult = resultsToCompute(job, options, given);
  for (auto [number, info] : enumerate(given)) {
    if (info.isMemRef && info.access == Access::Out) {
      auto sizes = inferSizes(number, kernel, job);
      if (!sizes)
        return sizes.takeError();
      if (Error error =
              addOutput(job, "out" + std::to_string(job.outputs.size()),
                        info.type, *sizes, false))
        return error;
      job.arguments.push_back(makeArgument(job.outputs.back().second));
      continue;
    }
    if (isResult(number)) {
      auto tensor =
          forwardResult(job, number - job.forward->numArguments, info.type);
      if (!tensor)
        return tensor.takeError();
      if (Error error = addInput(job, *tensor))
        return error;
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
    if (Error error = addInput(job, *tensor))
      return error;
    if (isOfForward(job, number))
      job.forward->given.push_back(*tensor);
    if (info.access == Access::InOut)
      job.outputs.push_back(
          {"out" + std::to_string(job.outputs.size()), *tensor});
  }
  if (next != options.in.size())
    return createStringError("expected " + Twine(next) + " --in, found " +
                             Twine(options.in.size()));
  return Error::success();
}
