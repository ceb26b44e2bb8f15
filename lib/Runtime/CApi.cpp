//===- CApi.cpp - FlashTile's C interface ---------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/fa.h"

#include "fa/Frontend/BuildAttention.h"
#include "fa/Launch/ContextOptions.h"
#include "fa/Launch/ConvertArgument.h"
#include "fa/Launch/TargetName.h"
#include "fa/Runtime/CudaPlan.h"
#include "fa/Runtime/HostPlan.h"
#include "fa/Target/Compile.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/JSON.h"

using namespace llvm;
using namespace fa;

/// A place to run: one of the two devices, and how to compile for it.
struct faContextImpl {
  std::shared_ptr<HostDevice> host;
  std::shared_ptr<CudaDevice> card;
  CompileOptions compile;
};

struct faPlanImpl {
  std::unique_ptr<HostPlan> host;
  std::unique_ptr<CudaPlan> card;
  std::string description;
};

static thread_local std::string lastError;

const char *faGetLastErrorMessage(void) noexcept { return lastError.c_str(); }

static faStatus fail(faStatus status, const Twine &message) {
  lastError = message.str();
  return status;
}

static faStatus fail(faStatus status, const Failure &failure) {
  return fail(status, Twine(failure.message()));
}

static faStatus fail(faStatus status, Error error) {
  return fail(status, toString(std::move(error)));
}

//===----------------------------------------------------------------------===//
// Contexts
//===----------------------------------------------------------------------===//

/// Makes `context` one of a card.
static Error openCard(const TargetName &target, const faContextOptions &options,
                      faContextImpl &context) {
  auto card = CudaDevice::open(target.card,
                               options.driver ? options.driver : kCudaDriver);
  if (!card)
    return toError(card.takeFailure());
  auto arch = archOf(**card);
  if (!arch)
    return arch.takeError();
  context.card = *card;
  context.compile.arch = *arch;
  context.compile.ptxas = options.ptxas ? options.ptxas : "";
  return Error::success();
}

faStatus faContextCreate(const faContextOptions *options,
                         faContext *context) noexcept {
  if (!context)
    return fail(
        FA_ERROR_INVALID_ARGUMENT,
        "faContextCreate: expected a place for the context, found null");
  *context = nullptr;
  auto given = readContextOptions(options);
  if (!given)
    return fail(FA_ERROR_INVALID_ARGUMENT, given.takeFailure());
  auto target = parseTargetName(given->target ? given->target : "cpu");
  if (!target)
    return fail(FA_ERROR_INVALID_ARGUMENT, target.takeFailure());
  auto result = std::make_unique<faContextImpl>();
  if (target->isCuda) {
    if (Error error = openCard(*target, *given, *result))
      return fail(FA_ERROR_DEVICE, std::move(error));
  } else {
    result->host = createHostDevice(*given);
  }
  *context = result.release();
  return FA_SUCCESS;
}

void faContextDestroy(faContext context) noexcept { delete context; }

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

static json::Object describeKernel(const KernelInfo &kernel) {
  json::Object object{{"name", kernel.symbol},
                      {"entry", kernel.entry},
                      {"tile", formatSizes(kernel.tile)},
                      {"scratch_bytes", kernel.scratchBytes}};
  if (kernel.threads) {
    object["block"] = kernel.threads;
    object["shared_bytes"] = kernel.sharedBytes;
    object["registers"] = kernel.registers;
  }
  return object;
}

static std::string describe(const Artifact &artifact) {
  json::Array kernels;
  for (const KernelInfo &kernel : artifact.kernels)
    kernels.push_back(describeKernel(kernel));
  return formatv("{0}", json::Value(json::Object{
                            {"target", artifact.target},
                            {"arch", artifact.arch},
                            {"kernels", std::move(kernels)},
                            {"object_bytes", int64_t(artifact.object.size())},
                            {"compile_ms", artifact.compileMs.total},
                            {"llvm", llvmVersion()}}))
      .str();
}

static Error load(faContext context, Artifact artifact, faPlanImpl &plan) {
  if (context->card) {
    auto loaded = CudaPlan::load(std::move(artifact), context->card);
    if (!loaded)
      return loaded.takeError();
    plan.card = std::move(*loaded);
    return Error::success();
  }
  auto loaded = HostPlan::load(std::move(artifact), context->host);
  if (!loaded)
    return loaded.takeError();
  plan.host = std::move(*loaded);
  return Error::success();
}

static faStatus createPlan(faContext context, mlir::ModuleOp module,
                           StringRef entry, faPlan *plan) {
  auto artifact = compile(module, entry, context->compile);
  if (!artifact)
    return fail(FA_ERROR_COMPILE, artifact.takeError());
  auto result = std::make_unique<faPlanImpl>();
  if (Error error = load(context, std::move(*artifact), *result))
    return fail(FA_ERROR_DEVICE, std::move(error));
  result->description = describe(result->card ? result->card->artifact()
                                              : result->host->artifact());
  *plan = result.release();
  return FA_SUCCESS;
}

/// Compilations share nothing, so that they can run at the same time.
static std::unique_ptr<mlir::MLIRContext> createMLIRContext() {
  mlir::DialectRegistry registry;
  registerDialects(registry);
  auto context = std::make_unique<mlir::MLIRContext>(
      registry, mlir::MLIRContext::Threading::DISABLED);
  context->loadAllAvailableDialects();
  return context;
}

template <typename Desc>
static faStatus checkCreate(StringRef function, faContext context,
                            const Desc *desc, faPlan *plan) {
  if (plan)
    *plan = nullptr;
  if (!context || !desc || !plan)
    return fail(FA_ERROR_INVALID_ARGUMENT,
                function + ": expected a context, a description and a place "
                           "for the plan, found null");
  if (desc->size != sizeof(Desc))
    return fail(FA_ERROR_INVALID_ARGUMENT,
                function + ": expected a description of size " +
                    Twine(sizeof(Desc)) + ", found " + Twine(desc->size));
  return FA_SUCCESS;
}

faStatus faPlanCreateFromAttention(faContext context,
                                   const faAttentionDesc *desc,
                                   faPlan *plan) noexcept {
  if (faStatus status =
          checkCreate("faPlanCreateFromAttention", context, desc, plan))
    return status;
  auto type = elementTypeOf(desc->type);
  if (!type || byteSize(*type) > 4 || *type == ElementType::I32)
    return fail(FA_ERROR_INVALID_ARGUMENT,
                "faAttentionDesc: expected type FA_F32, FA_F16 or FA_BF16, "
                "found " +
                    Twine(static_cast<int>(desc->type)));
  if (desc->causal < FA_CAUSAL_NONE || desc->causal > FA_CAUSAL_TOP_LEFT)
    return fail(FA_ERROR_INVALID_ARGUMENT,
                "faAttentionDesc: expected causal between 0 and 2, found " +
                    Twine(static_cast<int>(desc->causal)));
  AttentionProblem problem;
  problem.type = *type;
  problem.headDim = desc->headDim;
  problem.headDimV = desc->headDimV ? desc->headDimV : desc->headDim;
  problem.causal = static_cast<CausalKind>(desc->causal);
  if (desc->hasWindow) {
    problem.windowLeft = desc->windowLeft;
    problem.windowRight = desc->windowRight;
  }
  problem.softcap = desc->softcap;
  problem.alibi = desc->hasAlibi;
  problem.lengths = desc->hasLengths;
  problem.lse = desc->hasLse;
  problem.bias = desc->bias ? desc->bias : "";
  auto mlirContext = createMLIRContext();
  auto module = buildAttention(*mlirContext, problem);
  if (!module)
    return fail(FA_ERROR_INVALID_ARGUMENT, module.takeError());
  return createPlan(context, **module, "attention", plan);
}

faStatus faPlanCreateFromModule(faContext context, const faModuleDesc *desc,
                                faPlan *plan) noexcept {
  if (faStatus status =
          checkCreate("faPlanCreateFromModule", context, desc, plan))
    return status;
  if (!desc->text && desc->length)
    return fail(FA_ERROR_INVALID_ARGUMENT,
                "faModuleDesc: expected text, found null");
  auto mlirContext = createMLIRContext();
  std::string problems;
  raw_string_ostream out(problems);
  mlir::ScopedDiagnosticHandler handler(
      mlirContext.get(), [&](mlir::Diagnostic &diagnostic) {
        out << diagnostic.getLocation() << ": " << diagnostic << "\n";
        return mlir::success();
      });
  auto module = mlir::parseSourceString<mlir::ModuleOp>(
      StringRef(desc->text, desc->length), mlirContext.get(), "module");
  if (!module)
    return fail(FA_ERROR_COMPILE, StringRef(problems).rtrim());
  return createPlan(context, *module, desc->entry ? desc->entry : "", plan);
}

void faPlanDestroy(faPlan plan) noexcept { delete plan; }

const char *faPlanDescribe(faPlan plan) noexcept {
  return plan ? plan->description.c_str() : "";
}

//===----------------------------------------------------------------------===//
// Launch
//===----------------------------------------------------------------------===//

/// Converts and checks the arguments and calls `launch` with them.
static faStatus
launchWith(faPlan plan, const faArgument *arguments, size_t count,
           function_ref<Error(ArrayRef<LaunchArgument>)> launch) {
  ConvertedArguments converted;
  if (Failure failure = converted.convert(arguments, count))
    return fail(FA_ERROR_INVALID_ARGUMENT, failure);
  auto kernel = plan->card ? plan->card->select(converted.get())
                           : plan->host->select(converted.get());
  if (!kernel)
    return fail(FA_ERROR_INVALID_ARGUMENT, kernel.takeError());
  if (Error error = launch(converted.get()))
    return fail(FA_ERROR_DEVICE, std::move(error));
  return FA_SUCCESS;
}

faStatus faPlanLaunch(faPlan plan, const faArgument *arguments,
                      size_t count) noexcept {
  if (!plan || (!arguments && count))
    return fail(FA_ERROR_INVALID_ARGUMENT,
                "faPlanLaunch: expected a plan and arguments, found null");
  return launchWith(plan, arguments, count,
                    [&](ArrayRef<LaunchArgument> converted) -> Error {
                      if (plan->host)
                        return plan->host->launch(converted);
                      if (Error error = plan->card->launch(converted))
                        return error;
                      return plan->card->synchronize(nullptr);
                    });
}

faStatus faPlanEnqueue(faPlan plan, void *stream, const faArgument *arguments,
                       size_t count) noexcept {
  if (!plan || (!arguments && count))
    return fail(FA_ERROR_INVALID_ARGUMENT,
                "faPlanEnqueue: expected a plan and arguments, found null");
  if (!plan->card)
    return fail(FA_ERROR_INVALID_ARGUMENT,
                "faPlanEnqueue: expected a plan of a card, found one of the "
                "CPU, which faPlanLaunch runs");
  return launchWith(plan, arguments, count,
                    [&](ArrayRef<LaunchArgument> converted) {
                      return plan->card->launch(converted, stream);
                    });
}
