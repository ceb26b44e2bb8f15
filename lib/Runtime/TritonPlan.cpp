//===- TritonPlan.cpp - a kernel as attention or as written ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Runtime/TritonPlan.h"

#include "fa/Launch/Text.h"
#include "fa/Runtime/TritonProgram.h"

using namespace llvm;
using namespace fa;

static Error refuseLaunch(const Twine &why) {
  return make_error<RefusedLaunchError>(makeFailure(why.str()));
}

Error TritonPlan::prove(std::optional<RaisedAttention> &raised) {
  tile::KernelOp found = findTritonKernel(*program.module, program.entry);
  if (!found) // which the compilation says, with the names that there are
    return Error::success();
  name = ("@" + found.getSymName()).str();
  raised = raiseTritonKernel(found, why);
  if (!raised)
    return raise == Raise::Only ? createStringError(why) : Error::success();
  auto created = RaisedLaunch::create(found, *raised);
  if (!created) { // no launch of the kernel has such arguments either
    raised.reset();
    return created.takeError();
  }
  launch = std::move(*created);
  lines = {placeOf(found.getLoc()) + ": raised: " + name +
           ": softmax(Q K^T) V is one attention"};
  append_range(lines, raised->report);
  return Error::success();
}

Error TritonPlan::prepare(RaisedAttention raised,
                          std::optional<std::vector<LaunchArgument>> &planned) {
  std::optional<std::vector<LaunchArgument>> bound;
  if (planned) {
    auto found = launch->bindPlanned(*planned);
    if (!found) {
      why = name + ": not raised: " + toString(found.takeError());
      return raise == Raise::Only ? refuseLaunch(why) : Error::success();
    }
    bound = std::move(*found);
  }
  std::string entry = raised.function.getSymName().str();
  auto made = store.prepare(*raised.module, entry, std::move(bound));
  if (!made) {
    Error error = made.takeError();
    return giveUp(error) ? Error::success() : std::move(error);
  }
  attention = std::move(*made);
  return Error::success();
}

Expected<std::unique_ptr<TritonPlan>>
TritonPlan::create(Program program, Raise raise, PlanStore &store,
                   std::optional<std::vector<LaunchArgument>> launch,
                   Warn warn) {
  std::unique_ptr<TritonPlan> plan(
      new TritonPlan(std::move(program), raise, store, std::move(warn)));
  std::optional<RaisedAttention> raised;
  if (Error error = plan->prove(raised))
    return error;
  if (raised)
    if (Error error = plan->prepare(std::move(*raised), launch))
      return error;
  if (!plan->attention)
    if (auto kernel = plan->asWritten(std::move(launch)); !kernel)
      return kernel.takeError();
  return plan;
}

std::shared_ptr<const LoadedPlan> TritonPlan::plan() const {
  if (attention)
    return attention;
  std::lock_guard lock(compiling);
  return kernel;
}

std::string TritonPlan::notRaised() const {
  std::lock_guard lock(mutex);
  return why;
}

bool TritonPlan::giveUp(Error &error) {
  if (raise == Raise::Only || error.isA<CancelledError>())
    return false;
  std::lock_guard lock(mutex);
  std::string cause = toString(std::move(error));
  if (!why.empty()) // another thread's launch was first
    return true;
  why = name + ": not raised: its attention cannot be compiled: " + cause;
  if (warn)
    warn(name +
         " runs as it is written, as its attention cannot be compiled: " +
         cause);
  return true;
}

Expected<std::shared_ptr<const LoadedPlan>>
TritonPlan::asWritten(std::optional<std::vector<LaunchArgument>> planned) {
  std::lock_guard lock(compiling);
  if (kernel)
    return kernel;
  // A copy: what fails may be asked for again.
  mlir::OwningOpRef<mlir::ModuleOp> copy = program.module->clone();
  auto made = store.prepare(*copy, program.entry, std::move(planned));
  if (made)
    kernel = *made;
  return made;
}

Expected<BoundLaunch> TritonPlan::bind(ArrayRef<LaunchArgument> given,
                                       bool isPlanned) {
  BoundLaunch result;
  result.given = given;
  result.notRaised = notRaised();
  if (result.notRaised.empty() && attention) {
    auto bound = isPlanned ? launch->bindPlanned(given) : launch->bind(given);
    if (bound) {
      result.plan = attention.get();
      result.ofAttention = std::move(*bound);
      return result;
    }
    result.notRaised = name + ": not raised: " + toString(bound.takeError());
    if (raise == Raise::Only)
      return refuseLaunch(result.notRaised);
  }
  auto kernel = asWritten();
  if (!kernel) {
    Error error = kernel.takeError();
    if (error.isA<CancelledError>() || error.isA<LoadError>())
      return error;
    return make_error<LateCompileError>(std::move(error));
  }
  result.plan = kernel->get();
  return result;
}
