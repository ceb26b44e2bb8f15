//===- Attention.cpp - flashtile::attention, called from C++ --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The kernels of flashtile::attention and flashtile::attention_lse for tensors
// on the CPU and on a CUDA card. Their schemas, what a graph is traced with and
// what refuses a derivative are python/flashtile/torch.py's.
//
//===----------------------------------------------------------------------===//

#include "Plans.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <dlfcn.h>

using namespace flashtile;

static Host given;
/// How many calls were launched from here.
static std::atomic<uint64_t> numCalls;
/// PyTorch's, in its library for CUDA; null: it has none.
static AOTITorchError (*getCurrentStream)(int32_t device, void **stream);

const Host &flashtile::host() { return given; }

//===----------------------------------------------------------------------===//
// Launch
//===----------------------------------------------------------------------===//

/// A new row-major tensor where q is; null: `message` says why.
static Tensor makeEmpty(const TensorFacts &q, int32_t dtype,
                        const int64_t *sizes, int64_t rank,
                        std::string &message) {
  int64_t strides[4] = {1, 1, 1, 1};
  for (int64_t d = rank - 2; d >= 0; --d)
    strides[d] = strides[d + 1] * std::max<int64_t>(sizes[d + 1], 1);
  Tensor tensor;
  if (aoti_torch_empty_strided(rank, sizes, strides, dtype, q.deviceType,
                               q.deviceIndex, tensor.out()))
    message = describeFailure("allocate a tensor");
  return tensor;
}

namespace {
/// The arguments of a launch, and who owns what they point to.
struct Launch {
  static constexpr size_t kMost = 7; ///< q, k, v, bias, scale, out, lse
  faArgument arguments[kMost];
  size_t count = 0;
  Tensor out, lse;
  TensorFacts outFacts, lseFacts;

  void add(const TensorFacts &tensor) {
    arguments[count++] = tensor.argument();
  }
  void add(float scalar) {
    faArgument &argument = arguments[count++] = {};
    argument.type = FA_F32;
    argument.f32 = scalar;
  }
  /// False: `message` says why.
  bool fill(const Call &call, std::string &message);
};
} // namespace

bool Launch::fill(const Call &call, std::string &message) {
  for (int n = 0; n < call.numTensors; ++n)
    add(call.facts[n]);
  const TensorFacts &q = call.facts[0];
  add(float(call.scale.value_or(
      1 / std::sqrt(double(std::max<int64_t>(q.sizes[3], 1))))));
  const int64_t sizes[] = {q.sizes[0], q.sizes[1], q.sizes[2],
                           call.facts[2].sizes[3]};
  out = makeEmpty(q, q.dtype, sizes, 4, message);
  if (!out || !describe(out, outFacts))
    return false;
  add(outFacts);
  if (!call.hasLse)
    return true;
  lse = makeEmpty(q, aoti_torch_dtype_float32(), sizes, 3, message);
  if (!lse || !describe(lse, lseFacts))
    return false;
  add(lseFacts);
  return true;
}

/// On PyTorch's current stream, with workspace of PyTorch's: what comes later
/// on this stream may have it as soon as it is dropped.
static faStatus enqueue(Plan &plan, const TensorFacts &q, const Launch &launch,
                        std::string &message) {
  faLaunchOptions options = {};
  options.size = sizeof(options);
  if (getCurrentStream(q.deviceIndex, &options.stream)) {
    message = describeFailure("tell its current stream");
    return FA_ERROR_DEVICE;
  }
  size_t bytes = 0;
  if (faStatus status =
          plan.getWorkspaceSize(launch.arguments, launch.count, bytes))
    return status;
  Tensor workspace;
  if (bytes) {
    const int64_t size = int64_t(bytes);
    workspace = makeEmpty(q, aoti_torch_dtype_uint8(), &size, 1, message);
    if (!workspace ||
        torch_get_mutable_data_ptr(workspace.get(), &options.workspace))
      return FA_ERROR_DEVICE;
    options.workspaceSize = bytes;
  }
  return given.enqueueWith(plan.get(), &options, launch.arguments,
                           launch.count);
}

/// False: `message` says why.
static bool run(Plan &plan, const Call &call, const Launch &launch,
                std::string &message) {
  const TensorFacts &q = call.facts[0];
  bool onCpu = q.deviceType == aoti_torch_device_type_cpu();
  faStatus status =
      onCpu ? given.launch(plan.get(), launch.arguments, launch.count)
            : enqueue(plan, q, launch, message);
  numCalls.fetch_add(1, std::memory_order_relaxed);
  if (!status)
    return true;
  if (message.empty()) {
    message = given.lastError();
    given.failed(status);
  }
  return false;
}

//===----------------------------------------------------------------------===//
// Derivatives
//===----------------------------------------------------------------------===//

/// Whether a derivative is to go through `tensor`. PyTorch's C interface does
/// not say it, but a view of such a tensor is no leaf of the graph. True also
/// if that cannot be found out: who is then called, in Python, knows it.
static bool wantsDerivative(const Tensor &tensor, const TensorFacts &facts) {
  Tensor view;
  if (aoti_torch_as_strided(tensor.get(), facts.sizes, facts.strides,
                            view.out()))
    return true;
  StableIValue stack[] = {StableIValue(view.release())};
  if (torch_call_dispatcher("aten::is_leaf", "", stack, TORCH_ABI_VERSION))
    return true;
  bool isLeaf;
  std::memcpy(&isLeaf, stack, sizeof(isLeaf));
  return !isLeaf;
}

static StableIValue share(const Tensor &tensor) {
  AtenTensorHandle handle = nullptr;
  aoti_torch_new_tensor_handle(tensor.get(), &handle);
  return StableIValue(handle);
}

/// `output` as the result of what has no derivative: whoever asks for one is
/// refused. False: `message` says why that could not be done.
static bool refuseDerivative(Tensor &output, const Call &call,
                             std::string &message) {
  StableIValue stack[1 + Call::kMostTensors] = {StableIValue(output.release())};
  for (int n = 0; n < Call::kMostTensors; ++n)
    stack[1 + n] = share(call.tensors[n] ? call.tensors[n] : call.tensors[0]);
  if (torch_call_dispatcher("flashtile::without_derivative", "", stack,
                            TORCH_ABI_VERSION)) {
    message = describeFailure("keep the graph of the derivative");
    return false;
  }
  output = Tensor(unbox<AtenTensorHandle>(stack[0]));
  return true;
}

static bool keepGraph(const Call &call, Launch &launch, std::string &message) {
  if (!aoti_torch_grad_mode_is_enabled())
    return true;
  bool wanted = false;
  for (int n = 0; n < call.numTensors && !wanted; ++n)
    wanted = wantsDerivative(call.tensors[n], call.facts[n]);
  return !wanted ||
         (refuseDerivative(launch.out, call, message) &&
          (!launch.lse || refuseDerivative(launch.lse, call, message)));
}

//===----------------------------------------------------------------------===//
// The operator
//===----------------------------------------------------------------------===//

/// False: `message` says why.
static bool attention(StableIValue *stack, bool hasLse, std::string &message) {
  Call call(stack, hasLse);
  for (int n = 0; n < call.numTensors; ++n)
    if (!describe(call.tensors[n], call.facts[n])) {
      message = describeFailure("describe an argument of flashtile::attention");
      return false;
    }
  std::shared_ptr<Plan> plan = findPlan(call, message);
  if (!plan)
    return false;
  Launch launch;
  if (!launch.fill(call, message) || !run(*plan, call, launch, message) ||
      !keepGraph(call, launch, message))
    return false;
  stack[0] = StableIValue(launch.out.release());
  if (hasLse)
    stack[1] = StableIValue(launch.lse.release());
  return true;
}

/// A kernel tells PyTorch that it failed by an exception, which PyTorch's own
/// function throws. It goes through this frame and no other of this library,
/// and here is nothing that would have to be destroyed.
template <bool hasLse>
static void boxedAttention(StableIValue *stack, uint64_t, uint64_t) {
  static thread_local std::string message;
  message.clear();
  if (!attention(stack, hasLse, message))
    aoti_torch_check(false, "flashtile::attention", "Attention.cpp", __LINE__,
                     message.c_str());
}

/// Not 0: PyTorch refused it.
static int32_t registerFor(const char *dispatchKey) {
  // Kept: a library that goes takes its kernels with it.
  TorchLibraryHandle library = nullptr;
  if (aoti_torch_library_init_impl("flashtile", dispatchKey, "Attention.cpp",
                                   __LINE__, &library))
    return 1;
  return torch_library_impl(library, "attention", boxedAttention<false>,
                            TORCH_ABI_VERSION) ||
         torch_library_impl(library, "attention_lse", boxedAttention<true>,
                            TORCH_ABI_VERSION);
}

extern "C" {
/// Registers the kernels, which call `host` from then on. Once a process. Not
/// 0: they are not registered.
FA_API int32_t flashtileTorchRegister(const Host *host) {
  if (host->size != sizeof(Host) || host->requestSize != sizeof(Request))
    return 1;
  given = *host;
  // Where PyTorch has it, it is loaded.
  if (void *cuda = dlopen("libtorch_cuda.so", RTLD_NOLOAD | RTLD_LAZY))
    getCurrentStream = reinterpret_cast<decltype(getCurrentStream)>(
        dlsym(cuda, "aoti_torch_get_current_cuda_stream"));
  if (registerFor("CPU"))
    return 1;
  return getCurrentStream ? registerFor("CUDA") : 0;
}

FA_API uint64_t flashtileTorchCountCalls() { return numCalls; }
}
