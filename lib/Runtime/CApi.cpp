//===- CApi.cpp - FlashTile's C interface ---------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/fa.h"

#include "fa/Frontend/BuildAttention.h"
#include "fa/Launch/ConvertArgument.h"
#include "fa/Numerics/HostTensor.h"
#include "fa/Runtime/HostPlan.h"
#include "fa/Target/Compile.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/JSON.h"

using namespace llvm;
using namespace fa;

struct faContextImpl {
  std::shared_ptr<HostDevice> device;
};

struct faPlanImpl {
  std::unique_ptr<HostPlan> plan;
  std::string description;
};

static thread_local std::string lastError;

const char *faGetLastErrorMessage(void) noexcept { return lastError.c_str(); }

static faStatus fail(faStatus status, const Twine &message) {
  lastError = message.str();
  return status;
}

static faStatus fail(faStatus status, Error error) {
  return fail(status, toString(std::move(error)));
}

//===----------------------------------------------------------------------===//
// Contexts
//===----------------------------------------------------------------------===//

/// The caller's pool as the device wants it.
static HostDevice::Parallel wrapPool(const faContextOptions &options) {
  if (!options.parallel)
    return nullptr;
  auto *parallel = options.parallel;
  void *pool = options.pool;
  return [=](unsigned n, const std::function<void(unsigned)> &body) {
    parallel(
        pool, n,
        [](void *argument, uint32_t worker) {
          (*static_cast<const std::function<void(unsigned)> *>(argument))(
              worker);
        },
        const_cast<std::function<void(unsigned)> *>(&body));
  };
}

faStatus faContextCreate(const faContextOptions *options,
                         faContext *context) noexcept {
  if (!context)
    return fail(
        FA_ERROR_INVALID_ARGUMENT,
        "faContextCreate: expected a place for the context, found null");
  *context = nullptr;
  faContextOptions defaults{};
  defaults.size = sizeof defaults;
  if (!options)
    options = &defaults;
  if (options->size != sizeof(faContextOptions))
    return fail(FA_ERROR_INVALID_ARGUMENT, "faContextOptions: expected size " +
                                               Twine(sizeof(faContextOptions)) +
                                               ", found " +
                                               Twine(options->size));
  if (options->threads > 4096)
    return fail(FA_ERROR_INVALID_ARGUMENT,
                "faContextOptions: expected at most 4096 threads, found " +
                    Twine(options->threads));
  *context = new faContextImpl{
      std::make_shared<HostDevice>(options->threads, wrapPool(*options))};
  return FA_SUCCESS;
}

void faContextDestroy(faContext context) noexcept { delete context; }

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

static std::string describe(const Artifact &artifact) {
  json::Array kernels;
  for (const KernelInfo &kernel : artifact.kernels)
    kernels.push_back(json::Object{{"name", kernel.symbol},
                                   {"entry", kernel.entry},
                                   {"tile", formatSizes(kernel.tile)},
                                   {"scratch_bytes", kernel.scratchBytes}});
  return formatv("{0}", json::Value(json::Object{
                            {"target", artifact.target},
                            {"arch", artifact.arch},
                            {"kernels", std::move(kernels)},
                            {"object_bytes", int64_t(artifact.object.size())},
                            {"compile_ms", artifact.compileMs.total},
                            {"llvm", llvmVersion()}}))
      .str();
}

static faStatus createPlan(faContext context, mlir::ModuleOp module,
                           StringRef entry, faPlan *plan) {
  auto artifact = compileForHost(module, entry, CompileOptions());
  if (!artifact)
    return fail(FA_ERROR_COMPILE, artifact.takeError());
  std::string description = describe(*artifact);
  auto loaded = HostPlan::load(std::move(*artifact), context->device);
  if (!loaded)
    return fail(FA_ERROR_DEVICE, loaded.takeError());
  *plan = new faPlanImpl{std::move(*loaded), std::move(description)};
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

faStatus faPlanLaunch(faPlan plan, const faArgument *arguments,
                      size_t count) noexcept {
  if (!plan || (!arguments && count))
    return fail(FA_ERROR_INVALID_ARGUMENT,
                "faPlanLaunch: expected a plan and arguments, found null");
  ConvertedArguments converted;
  if (Failure failure = converted.convert(arguments, count))
    return fail(FA_ERROR_INVALID_ARGUMENT, failure.message());
  if (auto kernel = plan->plan->select(converted.get()); !kernel)
    return fail(FA_ERROR_INVALID_ARGUMENT, kernel.takeError());
  if (Error error = plan->plan->launch(converted.get()))
    return fail(FA_ERROR_DEVICE, std::move(error));
  return FA_SUCCESS;
}
