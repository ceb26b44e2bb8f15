//===- BackwardInputs.cpp - arguments of gradients ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "InputFiles.h"

#include "fa/Runtime/AttentionArguments.h"

#include <cmath>

using namespace llvm;
using namespace fa;
using namespace fa::run;

Error fa::run::checkDirection(const AttentionProblem &p,
                              const Options &options) {
  std::tuple<StringRef, bool, bool> backward[] = {
      {"--dout", !options.dout.empty(), true},
      {"--dlse", !options.dlse.empty(), true},
      {"--forward-out", !options.forwardOut.empty(), true},
      {"--forward-lse", !options.forwardLse.empty(), true},
      {"--dq", !options.dq.empty(), p.backward && p.backward->q},
      {"--dk", !options.dk.empty(), p.backward && p.backward->k},
      {"--dv", !options.dv.empty(), p.backward && p.backward->v},
      {"--dbias", !options.dbias.empty(), p.backward && p.backward->bias},
      {"--dslopes", !options.dslopes.empty(), p.backward && p.backward->slopes},
      {"--dsink", !options.dsink.empty(), p.backward && p.backward->sink},
      {"--dscale", !options.dscale.empty(), p.backward && p.backward->scale}};
  for (auto [option, given, wanted] : backward) {
    if (given && !p.backward)
      return createStringError(option + " is given, but the problem has no "
                                        "'backward'");
    if (given && !wanted)
      return createStringError(option + " is given, but the gradient is not "
                                        "one that 'backward' asks for");
  }
  for (auto [option, given] :
       {std::pair<StringRef, bool>("--out", !options.out.empty()),
        {"--lse", !options.lse.empty()}})
    if (given && p.backward)
      return createStringError(
          option + " is a result of the forward, but the problem has "
                   "'backward': --dq, --dk, --dv and so on write "
                   "gradients, and "
                   "--forward-out and --forward-lse read what they are of");
  return Error::success();
}

namespace {

/// Reads the results of the forward and the cotangents.
class BackwardReader {
public:
  BackwardReader(const Options &options, const Job &job)
      : options(options), inputs(job.inputs), p(*job.problem) {}

  Expected<BackwardInputs> read() {
    auto cotangents = makeRandomCotangents(p, options.seed);
    if (!cotangents)
      return cotangents.takeError();
    if (Error error = readLikeOutput("dout", options.dout, cotangents->out))
      return error;
    if (Error error =
            readInput("dlse", options.dlse, p.backward->dlse, p.lseSizes(),
                      ElementType::F32, cotangents->lse))
      return error;
    auto forward = readForward();
    if (!forward)
      return forward.takeError();
    return BackwardInputs{std::move(*forward), std::move(*cotangents)};
  }

private:
  Expected<AttentionResult> readForward() {
    if (options.forwardOut.empty() != options.forwardLse.empty())
      return createStringError(
          "expected --forward-out and --forward-lse together, found one of "
          "them");
    if (options.forwardOut.empty())
      return readsGradients() ? makeForwardResults(p, inputs) : makeStandIns();
    AttentionResult forward;
    std::optional<HostTensor> lse;
    if (Error error =
            readLikeOutput("forward-out", options.forwardOut, forward.out))
      return error;
    if (Error error = readInput("forward-lse", options.forwardLse, true,
                                p.lseSizes(), ElementType::F32, lse))
      return error;
    forward.lse = *lse;
    return forward;
  }

  /// Whether anything looks at the values of gradients: the forward in float64
  /// takes long for the sizes of a benchmark.
  bool readsGradients() const {
    bool writes = llvm::any_of(
        ArrayRef<StringRef>{options.dq, options.dk, options.dv, options.dbias,
                            options.dslopes, options.dsink, options.dscale},
        [](StringRef path) { return !path.empty(); });
    return !options.bench || options.check || writes;
  }

  /// Results that normal scores of full rows have about.
  Expected<AttentionResult> makeStandIns() {
    auto out = makeRandomCotangents(p, options.seed + 1);
    if (!out)
      return out.takeError();
    auto lse = HostTensor::create(ElementType::F32, p.lseSizes());
    if (!lse)
      return lse.takeError();
    lse->fill(std::log(std::max<double>(p.seqKv, 1)) + 0.5);
    return AttentionResult{out->out, *lse};
  }

  /// A file of what has the output's type and sizes; nothing if there is none.
  Error readLikeOutput(StringRef what, StringRef path, HostTensor &result) {
    SmallVector<int64_t, 4> sizes = p.querySizes(p.headDimV);
    if (p.layoutBshd)
      std::swap(sizes[sizes.size() - 3], sizes[sizes.size() - 2]);
    std::optional<HostTensor> file;
    if (Error error = readInput(what, path, true, sizes, p.type, file))
      return error;
    if (file)
      result = p.layoutBshd ? exchangeHeads(*file) : *file;
    return Error::success();
  }

  const Options &options;
  const AttentionInputs &inputs;
  const AttentionProblem &p;
};

} // namespace

Error fa::run::prepareBackward(Job &job, const Options &options) {
  const AttentionProblem &p = *job.problem;
  auto given = BackwardReader(options, job).read();
  if (!given)
    return given.takeError();
  job.backward = std::move(*given);
  job.hasForwardFiles = !options.forwardOut.empty();
  std::vector<HostTensor> gradients;
  for (const WantedGradient &gradient : p.gradients()) {
    if (Error error =
            addOutput(job, gradient.name, gradient.type, gradient.sizes,
                      gradient.isRows && p.layoutBshd))
      return error;
    gradients.push_back(job.outputs.back().second);
  }
  auto arguments =
      makeBackwardArguments(p, job.inputs, *job.backward, gradients);
  if (!arguments)
    return arguments.takeError();
  job.arguments = std::move(*arguments);
  return Error::success();
}
