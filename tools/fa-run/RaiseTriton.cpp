//===- RaiseTriton.cpp - a Triton kernel that is attention as one ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "InputFiles.h"

#include "Triton/Triton.h"
#include "fa/Runtime/TritonProgram.h"

#include "mlir/IR/AffineExpr.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace fa;
using namespace fa::run;

//===----------------------------------------------------------------------===//
// What is raised
//===----------------------------------------------------------------------===//

Error fa::run::raiseTritonProgram(Job &job, const Options &options) {
  SmallVector<tile::KernelOp> kernels;
  for (auto kernel : job.module->getOps<tile::KernelOp>())
    if (options.entry.empty() || kernel.getSymName() == options.entry)
      kernels.push_back(kernel);
  if (options.raise == Raise::Off || kernels.size() != 1)
    return Error::success();
  NotRaised reason{kernels[0].getLoc(), {}};
  job.raised = raiseAttention(kernels[0], reason);
  if (!job.raised && options.raise == Raise::Only)
    return createStringError(placeOf(reason.where) + ": not raised: @" +
                             kernels[0].getSymName() + ": " + reason.why);
  // What is shown has no launch to depend on.
  if (job.raised && !options.emit.empty())
    job.module = std::move(job.raised->module);
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Its launch
//===----------------------------------------------------------------------===//

/// What `kernel` takes, as far as arguments are made of it.
static Expected<KernelInfo> describeArguments(tile::KernelOp kernel) {
  KernelInfo info;
  info.entry = kernel.getSymName();
  for (auto [number, type] : enumerate(kernel.getArgumentTypes())) {
    std::string text;
    raw_string_ostream(text) << mlir::getElementTypeOrSelf(type);
    auto element = parseElementType(text);
    if (!element)
      return createStringError("argument " + Twine(number) + " of @" +
                               info.entry +
                               " has an element type that no "
                               "buffer has: " +
                               text);
    ArgumentInfo argument;
    argument.type = *element;
    argument.isMemRef = isa<mlir::MemRefType>(type);
    if (argument.isMemRef)
      switch (kernel.getAccess(number)) {
      case tile::Access::In:
        argument.access = Access::In;
        break;
      case tile::Access::Out:
        argument.access = Access::Out;
        break;
      case tile::Access::InOut:
        argument.access = Access::InOut;
        break;
      }
    info.args.push_back(argument);
  }
  return info;
}

namespace {

/// The numbers of one launch of a kernel.
class LaunchValues {
public:
  LaunchValues(ArrayRef<LaunchArgument> arguments, mlir::MLIRContext *context) {
    auto add = [&](int64_t value) {
      symbols.push_back(mlir::getAffineConstantExpr(value, context));
    };
    for (const LaunchArgument &argument : arguments.drop_back())
      add(argument.isTensor ? 0 : static_cast<int64_t>(argument.bits));
    for (int64_t size : arguments.back().sizes)
      add(size);
  }

  /// Nothing where it divides by 0.
  std::optional<int64_t> evaluate(mlir::AffineExpr expression) const {
    auto folded = dyn_cast<mlir::AffineConstantExpr>(
        expression.replaceDimsAndSymbols({}, symbols));
    return folded ? std::optional(folded.getValue()) : std::nullopt;
  }

private:
  SmallVector<mlir::AffineExpr> symbols;
};

} // namespace

static bool holds(const LaunchCondition &condition,
                  const LaunchValues &values) {
  std::optional<int64_t> value = values.evaluate(condition.expression);
  return value && (condition.isZero ? *value == 0 : *value >= 0);
}

/// A view of the memory of `argument`; nothing if it would leave it.
static std::optional<LaunchArgument> viewOf(const LaunchArgument &memory,
                                            const RaisedArgument &argument,
                                            const LaunchValues &values) {
  std::optional<int64_t> offset = values.evaluate(argument.offset);
  if (!offset || *offset < 0)
    return std::nullopt;
  SmallVector<int64_t> sizes, strides;
  int64_t last = *offset;
  for (auto [size, stride] : zip_equal(argument.sizes, argument.strides)) {
    std::optional<int64_t> n = values.evaluate(size),
                           step = values.evaluate(stride);
    int64_t length;
    if (!n || !step || *n < 1 || *step < 0 ||
        MulOverflow(*n - 1, *step, length) || AddOverflow(last, length, last))
      return std::nullopt;
    sizes.push_back(*n);
    strides.push_back(*step);
  }
  if (last >= memory.sizes[0])
    return std::nullopt;
  auto *data =
      static_cast<char *>(memory.data) + *offset * byteSize(memory.type);
  return LaunchArgument::tensor(data, memory.type, sizes, strides);
}

/// Whether no two elements of `view` are one in memory, by its strides: each is
/// beyond all that the smaller ones reach.
static bool isWithoutOverlap(const LaunchArgument &view) {
  SmallVector<std::pair<int64_t, int64_t>> dims;
  for (auto [size, stride] : zip_equal(view.sizes, view.strides))
    if (size > 1)
      dims.push_back({stride, size});
  sort(dims);
  int64_t reach = 0;
  for (auto [stride, size] : dims) {
    if (stride <= reach)
      return false;
    reach += (size - 1) * stride;
  }
  return true;
}

/// The arguments of the raised function; an error says what the launch breaks.
static Expected<std::vector<LaunchArgument>>
bindRaised(const RaisedAttention &raised, ArrayRef<LaunchArgument> given,
           mlir::MLIRContext *context) {
  LaunchValues values(given, context);
  for (const LaunchCondition &condition : raised.conditions)
    if (!holds(condition, values))
      return createStringError("this launch breaks: " + condition.text);
  for (unsigned n : raised.positiveArguments)
    if (!(bit_cast<float>(static_cast<uint32_t>(given[n].bits)) > 0))
      return createStringError("this launch breaks: argument " + Twine(n) +
                               " is above 0");
  mlir::func::FuncOp function = raised.function;
  unsigned numInputs = function.getNumArguments();
  std::vector<LaunchArgument> bound;
  for (const RaisedArgument &argument : raised.arguments) {
    if (argument.kind == RaisedArgument::Same) {
      bound.push_back(given[argument.from]);
      continue;
    }
    if (argument.kind == RaisedArgument::Index) {
      std::optional<int64_t> value = values.evaluate(argument.offset);
      if (!value)
        return createStringError("this launch divides by 0");
      bound.push_back(LaunchArgument::index(*value));
      continue;
    }
    std::optional<LaunchArgument> view =
        viewOf(given[argument.from], argument, values);
    if (!view)
      return createStringError("argument " + Twine(argument.from) +
                               " is smaller than what is read or written");
    bool isWritten = bound.size() >= numInputs;
    if (isWritten && !isWithoutOverlap(*view))
      return createStringError("several programs write the same elements of "
                               "argument " +
                               Twine(argument.from));
    bound.push_back(*view);
  }
  // What is written is nothing else's memory.
  for (unsigned out = numInputs; out < raised.arguments.size(); ++out)
    for (unsigned n = 0; n < out; ++n)
      if (raised.arguments[n].kind == RaisedArgument::Tensor &&
          given[raised.arguments[n].from].data ==
              given[raised.arguments[out].from].data)
        return createStringError("the output's memory is that of an input");
  return bound;
}

Error fa::run::chooseRaised(Job &job, const Options &options) {
  tile::KernelOp kernel = *job.module->getOps<tile::KernelOp>().begin();
  for (auto other : job.module->getOps<tile::KernelOp>())
    if (other.getSymName() == job.raised->function.getSymName())
      kernel = other;
  auto info = describeArguments(kernel);
  if (!info)
    return info.takeError();
  if (Error error = prepareTritonArguments(job, options, *info))
    return error;
  auto bound = bindRaised(*job.raised, job.arguments, job.module->getContext());
  if (bound) {
    job.arguments = std::move(*bound);
    job.module = std::move(job.raised->module);
    job.program += ", @" + info->entry + " raised";
    return Error::success();
  }
  std::string why = "@" + info->entry + ": " + toString(bound.takeError());
  if (options.raise == Raise::Only)
    return createStringError("--raise=only: " + why);
  errs() << "fa-run: note: not raised: " << why
         << "; it runs as it is written\n";
  return Error::success();
}
