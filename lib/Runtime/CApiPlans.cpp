//===- CApiPlans.cpp - FlashTile's C interface: plans ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CApi.h"

#include "fa/Launch/ConvertArgument.h"
#include "fa/Launch/SizedStruct.h"
#include "fa/Runtime/ChooseKernels.h"
#include "fa/Runtime/DescribePlan.h"
#include "fa/Runtime/ReadProgram.h"
#include "fa/Runtime/TritonProgram.h"

using namespace llvm;
using namespace fa;

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

/// The size that each description had in the first version.
static constexpr size_t kFirstAttentionDescSize =
                            offsetof(faAttentionDesc, hasPrefix),
                        kFirstModuleDescSize =
                            offsetof(faModuleDesc, allowBytecode),
                        kFirstBackwardDescSize =
                            offsetof(faBackwardDesc, wantBias);

namespace {
/// An attention whose gradients are described.
struct BackwardDesc {
  const faAttentionDesc *attention;
  const faBackwardDesc *backward;
};
} // namespace

static Result<faAttentionDesc> readDesc(const faAttentionDesc &given) {
  return readSized("faAttentionDesc", given, kFirstAttentionDescSize);
}

static Result<faModuleDesc> readDesc(const faModuleDesc &given) {
  return readSized("faModuleDesc", given, kFirstModuleDescSize);
}

static Result<faMergeDesc> readDesc(const faMergeDesc &given) {
  return readSized("faMergeDesc", given, sizeof(faMergeDesc));
}

static Result<faAppendDesc> readDesc(const faAppendDesc &given) {
  return readSized("faAppendDesc", given, sizeof(faAppendDesc));
}

static Result<faAttentionDesc> readDesc(const BackwardDesc &given) {
  return readDesc(*given.attention);
}

static faStatus build(const faAttentionDesc &desc,
                      Expected<AttentionProblem> problem, Program &program) {
  if (!problem)
    return fail(FA_ERROR_INVALID_ARGUMENT, problem.takeError());
  auto built = buildProgram(*problem, desc.scoreMod ? desc.scoreMod : "",
                            desc.maskMod ? desc.maskMod : "");
  if (!built)
    return fail(FA_ERROR_COMPILE, built.takeError());
  program = std::move(*built);
  return FA_SUCCESS;
}

static faStatus readProgram(const faAttentionDesc &given, Program &program) {
  auto desc = readDesc(given);
  if (!desc)
    return fail(FA_ERROR_INVALID_ARGUMENT, desc.takeFailure());
  return build(*desc, readProblem(*desc), program);
}

static faStatus readProgram(const BackwardDesc &given, Program &program) {
  auto desc = readDesc(given);
  if (!desc)
    return fail(FA_ERROR_INVALID_ARGUMENT, desc.takeFailure());
  auto backward =
      readSized("faBackwardDesc", *given.backward, kFirstBackwardDescSize);
  if (!backward)
    return fail(FA_ERROR_INVALID_ARGUMENT, backward.takeFailure());
  return build(*desc, readProblem(*desc, *backward), program);
}

/// Of a description without code of the caller's.
template <typename Desc>
static faStatus readKernels(const Desc &given, Program &program) {
  auto desc = readDesc(given);
  if (!desc)
    return fail(FA_ERROR_INVALID_ARGUMENT, desc.takeFailure());
  auto problem = readProblem(*desc);
  if (!problem)
    return fail(FA_ERROR_INVALID_ARGUMENT, problem.takeError());
  auto built = buildProgram(*problem);
  if (!built)
    return fail(FA_ERROR_COMPILE, built.takeError());
  program = std::move(*built);
  return FA_SUCCESS;
}

static faStatus readProgram(const faMergeDesc &given, Program &program) {
  return readKernels(given, program);
}

static faStatus readProgram(const faAppendDesc &given, Program &program) {
  return readKernels(given, program);
}

static faStatus readProgram(const faModuleDesc &given, Program &program) {
  auto desc = readDesc(given);
  if (!desc)
    return fail(FA_ERROR_INVALID_ARGUMENT, desc.takeFailure());
  if (!desc->text && desc->length)
    return fail(FA_ERROR_INVALID_ARGUMENT,
                "faModuleDesc: expected text, found null");
  if (desc->raiseAttention < FA_RAISE_OFF ||
      desc->raiseAttention > FA_RAISE_ONLY)
    return fail(
        FA_ERROR_INVALID_ARGUMENT,
        "faModuleDesc: expected raiseAttention between 0 and 2, found " +
            Twine(static_cast<int>(desc->raiseAttention)));
  auto parsed = parseProgram(*desc);
  if (!parsed)
    return fail(FA_ERROR_COMPILE, parsed.takeError());
  if (desc->raiseAttention == FA_RAISE_ONLY && !parsed->isTriton)
    return fail(FA_ERROR_INVALID_ARGUMENT,
                "faModuleDesc: expected a kernel that Triton printed with "
                "FA_RAISE_ONLY, found a module of another kind");
  program = std::move(*parsed);
  return FA_SUCCESS;
}

/// How the program of a description runs, which was read.
template <typename Desc> static Raise readRaise(const Desc &, const Program &) {
  return Raise::Off;
}

static Raise readRaise(const faModuleDesc &given, const Program &program) {
  auto desc = readDesc(given);
  if (!desc || !program.isTriton || desc->raiseAttention == FA_RAISE_OFF)
    return Raise::Off;
  return desc->raiseAttention == FA_RAISE_AUTO ? Raise::Auto : Raise::Only;
}

/// The launch that a plan is for; nothing if it is for any.
template <typename Desc>
static faStatus readLaunch(const Desc &given,
                           std::optional<std::vector<LaunchArgument>> &launch) {
  auto desc = readDesc(given);
  if (!desc)
    return fail(FA_ERROR_INVALID_ARGUMENT, desc.takeFailure());
  if (!desc->launch)
    return desc->launchCount
               ? fail(FA_ERROR_INVALID_ARGUMENT, "launch: expected " +
                                                     Twine(desc->launchCount) +
                                                     " arguments, found null")
               : FA_SUCCESS;
  ConvertedArguments converted;
  if (Failure failure = converted.convert(desc->launch, desc->launchCount))
    return fail(FA_ERROR_INVALID_ARGUMENT, failure);
  launch.emplace(converted.get().begin(), converted.get().end());
  return FA_SUCCESS;
}

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

/// Of an error from preparing a plan.
static faStatus failPrepare(Error error) {
  faStatus status = error.isA<CancelledError>() ? FA_ERROR_CANCELLED
                    : error.isA<LoadError>()    ? FA_ERROR_DEVICE
                    : error.isA<RefusedLaunchError>()
                        ? FA_ERROR_INVALID_ARGUMENT
                        : FA_ERROR_COMPILE;
  return fail(status, std::move(error));
}

/// The attention that a program of Triton's is; nothing, and `why`: it is none.
static std::optional<RaisedAttention> findAttention(const Program &program,
                                                    std::string &why) {
  tile::KernelOp kernel = findTritonKernel(*program.module, program.entry);
  return kernel ? raiseTritonKernel(kernel, why) : std::nullopt;
}

/// What is said of a program none of whose kernels, or not all of them, are
/// those of an attention; empty: nothing.
static StringRef describeSlow(ArrayRef<KernelInfo> kernels) {
  auto isUnfused = [](const KernelInfo &each) { return each.unfused; };
  if (any_of(kernels, isUnfused))
    return all_of(kernels, isUnfused)
               ? " runs unfused, one program on whole tensors, slow: "
               : " runs in part unfused, one program on whole tensors, slow: ";
  if (any_of(kernels, [](const KernelInfo &each) { return each.noAttention; }))
    return " runs as kernels with whole tensors between them: ";
  return "";
}

/// Says which programs run slowly, and why. That is found out anew: a plan from
/// the cache was not compiled here.
template <typename Desc>
static void logSlowKernels(const faContextImpl &context, const Desc &desc,
                           const LoadedPlan &plan, bool isRaised) {
  ArrayRef<KernelInfo> kernels = plan.artifact().kernels;
  StringRef what = describeSlow(kernels);
  if (what.empty() || !context.logTo)
    return;
  Program program;
  if (readProgram(desc, program) != FA_SUCCESS)
    return;
  std::string why;
  if (isRaised)
    if (auto raised = findAttention(program, why))
      program.module = std::move(raised->module);
  context.log(FA_LOG_NOTE, "@" + kernels.front().entry + what.str() +
                               explainUnfused(*program.module));
}

/// The problem that a tuning table may know; nothing where code of the
/// caller's is part of it, or all of it.
static std::optional<AttentionProblem>
readTunedProblem(const faAttentionDesc &given) {
  auto desc = readDesc(given);
  if (!desc || desc->scoreMod || desc->maskMod)
    return std::nullopt;
  return expectedToOptional(readProblem(*desc));
}

/// Tables know nothing else.
template <typename Desc>
static std::optional<AttentionProblem> readTunedProblem(const Desc &) {
  return std::nullopt;
}

template <typename Desc>
static faStatus createPlan(StringRef function, faContext context,
                           const Desc *desc, faPlan *plan) {
  if (plan)
    *plan = nullptr;
  if (!context || !desc || !plan)
    return fail(FA_ERROR_INVALID_ARGUMENT,
                function + ": expected a context, a description and a place "
                           "for the plan, found null");
  Ranges::Range range(context->ranges.get(), "flashtile: prepare");
  Program program;
  if (faStatus status = readProgram(*desc, program))
    return status;
  std::optional<std::vector<LaunchArgument>> planned;
  if (faStatus status = readLaunch(*desc, planned))
    return status;
  auto problem = readTunedProblem(*desc);
  std::unique_ptr<TritonPlan> triton;
  auto loaded = [&]() -> Expected<std::shared_ptr<const LoadedPlan>> {
    Raise raise = readRaise(*desc, program);
    if (raise == Raise::Off)
      return context->plans->prepare(*program.module, program.entry,
                                     std::move(planned),
                                     problem ? &*problem : nullptr);
    auto created = TritonPlan::create(std::move(program), raise,
                                      *context->plans, std::move(planned),
                                      [context](const std::string &message) {
                                        context->log(FA_LOG_WARNING, message);
                                      });
    if (!created)
      return created.takeError();
    triton = std::move(*created);
    return triton->plan();
  }();
  if (!loaded)
    return failPrepare(loaded.takeError());
  bool isRaised = triton && triton->notRaised().empty();
  logSlowKernels(*context, *desc, **loaded, isRaised);
  std::string description = describePlan(**loaded, triton.get());
  std::string launch =
      "flashtile: @" + (*loaded)->artifact().kernels.back().entry;
  *plan = new faPlanImpl{std::move(*loaded), std::move(description),
                         context->threads,   context->ranges,
                         std::move(launch),  context,
                         std::move(triton)};
  return FA_SUCCESS;
}

faStatus faPlanCreateFromAttention(faContext context,
                                   const faAttentionDesc *desc,
                                   faPlan *plan) noexcept {
  return createPlan("faPlanCreateFromAttention", context, desc, plan);
}

faStatus faPlanCreateFromAttentionBackward(faContext context,
                                           const faAttentionDesc *desc,
                                           const faBackwardDesc *backward,
                                           faPlan *plan) noexcept {
  BackwardDesc both{desc, backward};
  return createPlan("faPlanCreateFromAttentionBackward", context,
                    desc && backward ? &both : nullptr, plan);
}

faStatus faPlanCreateFromModule(faContext context, const faModuleDesc *desc,
                                faPlan *plan) noexcept {
  return createPlan("faPlanCreateFromModule", context, desc, plan);
}

faStatus faPlanCreateFromMerge(faContext context, const faMergeDesc *desc,
                               faPlan *plan) noexcept {
  return createPlan("faPlanCreateFromMerge", context, desc, plan);
}

faStatus faPlanCreateFromAppend(faContext context, const faAppendDesc *desc,
                                faPlan *plan) noexcept {
  return createPlan("faPlanCreateFromAppend", context, desc, plan);
}

void faPlanDestroy(faPlan plan) noexcept { delete plan; }

template <typename Desc>
static faStatus checkSupported(StringRef function, const char *arch,
                               const Desc *desc) {
  if (!arch || !desc)
    return fail(FA_ERROR_INVALID_ARGUMENT,
                function + ": expected an architecture and a description, "
                           "found null");
  Program program;
  if (faStatus status = readProgram(*desc, program))
    return status;
  CompileOptions options;
  options.arch = arch;
  Emit form =
      isNvidiaArch(arch) || isAmdArch(arch) ? Emit::TileGPU : Emit::Kernel;
  Raise raise = readRaise(*desc, program);
  if (raise != Raise::Off) {
    std::string why = "expected one kernel, or the name of one of several";
    auto raised = findAttention(program, why);
    auto lowered = raised ? emit(*raised->module, raised->function.getSymName(),
                                 options, form)
                          : Expected<std::string>(createStringError(why));
    if (lowered)
      return FA_SUCCESS;
    if (raise == Raise::Only)
      return fail(FA_ERROR_COMPILE, lowered.takeError());
    consumeError(lowered.takeError());
  }
  auto lowered = emit(*program.module, program.entry, options, form);
  return lowered ? FA_SUCCESS : fail(FA_ERROR_COMPILE, lowered.takeError());
}

faStatus faAttentionIsSupported(const char *arch,
                                const faAttentionDesc *desc) noexcept {
  return checkSupported("faAttentionIsSupported", arch, desc);
}

faStatus
faAttentionBackwardIsSupported(const char *arch, const faAttentionDesc *desc,
                               const faBackwardDesc *backward) noexcept {
  BackwardDesc both{desc, backward};
  return checkSupported("faAttentionBackwardIsSupported", arch,
                        desc && backward ? &both : nullptr);
}

faStatus faMergeIsSupported(const char *arch,
                            const faMergeDesc *desc) noexcept {
  return checkSupported("faMergeIsSupported", arch, desc);
}

faStatus faAppendIsSupported(const char *arch,
                             const faAppendDesc *desc) noexcept {
  return checkSupported("faAppendIsSupported", arch, desc);
}

faStatus faModuleIsSupported(const char *arch,
                             const faModuleDesc *desc) noexcept {
  return checkSupported("faModuleIsSupported", arch, desc);
}

//===----------------------------------------------------------------------===//
// What a module and a plan are
//===----------------------------------------------------------------------===//

faStatus faModuleDescribe(const faModuleDesc *desc,
                          const char **description) noexcept {
  if (!desc || !description)
    return fail(FA_ERROR_INVALID_ARGUMENT,
                "faModuleDescribe: expected a module and a place for its "
                "description, found null");
  *description = nullptr;
  Program program;
  if (faStatus status = readProgram(*desc, program))
    return status;
  auto described = describeModule(*program.module);
  if (!described)
    return fail(FA_ERROR_COMPILE, described.takeError());
  static thread_local std::string text;
  text = std::move(*described);
  *description = text.c_str();
  return FA_SUCCESS;
}

const char *faPlanDescribe(faPlan plan) noexcept {
  return plan ? plan->description.c_str() : "";
}

template <typename Info>
static faStatus giveInfo(StringRef name, const Info &value, Info *to) {
  if (Failure failure = writeSized(name, value, to, sizeof(size_t)))
    return fail(FA_ERROR_INVALID_ARGUMENT, failure);
  return FA_SUCCESS;
}

faStatus faPlanGetInfo(faPlan plan, faPlanInfo *info) noexcept {
  if (!plan || !info)
    return fail(FA_ERROR_INVALID_ARGUMENT,
                "faPlanGetInfo: expected a plan and a place for its "
                "description, found null");
  return giveInfo("faPlanInfo", planInfo(*plan->plan, plan->threads), info);
}

faStatus faPlanGetKernelInfo(faPlan plan, uint32_t index,
                             faKernelInfo *info) noexcept {
  if (!plan || !info)
    return fail(FA_ERROR_INVALID_ARGUMENT,
                "faPlanGetKernelInfo: expected a plan and a place for a "
                "kernel's description, found null");
  const auto &kernels = plan->plan->artifact().kernels;
  if (index >= kernels.size())
    return fail(FA_ERROR_INVALID_ARGUMENT,
                "faPlanGetKernelInfo: expected a kernel below " +
                    Twine(kernels.size()) + ", found " + Twine(index));
  faKernelInfo found = kernelInfo(plan->plan->kernel(index));
  found.name = kernels[index].symbol.c_str(); // which the plan owns
  return giveInfo("faKernelInfo", found, info);
}
