//===- fa.hpp - FlashTile's C++ interface -----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A thin layer over fa.h, which documents what everything means:
//
//   fa::Context context;
//   faAttentionDesc desc = fa::attention(FA_F32, /*headDim=*/64);
//   desc.causal = FA_CAUSAL_BOTTOM_RIGHT;
//   fa::Plan plan(context, desc);
//   if (!plan)
//     return report(fa::lastError());
//   plan.launch({fa::tensor(q, {b, h, s, 64}), fa::tensor(k, {b, h, s, 64}),
//                fa::tensor(v, {b, h, s, 64}), fa::scalar(0.125f),
//                fa::tensor(out, {b, h, s, 64})});
//
// Nothing is thrown: objects convert to false where their creation failed.
//
//===----------------------------------------------------------------------===//

#ifndef FA_FA_HPP
#define FA_FA_HPP

#include "fa/fa.h"

#include <array>
#include <initializer_list>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace fa {

/// What went wrong in this thread's last call that failed.
inline const char *lastError() { return faGetLastErrorMessage(); }

/// A description with everything off but the type and the head dim.
inline faAttentionDesc attention(faType type, int64_t headDim) {
  faAttentionDesc desc{};
  desc.size = sizeof desc;
  desc.type = type;
  desc.headDim = headDim;
  desc.windowLeft = desc.windowRight = -1;
  return desc;
}

/// Gradients of q, k and v.
inline faBackwardDesc backward() {
  faBackwardDesc desc{};
  desc.size = sizeof desc;
  desc.wantQ = desc.wantK = desc.wantV = 1;
  return desc;
}

/// A merge of `parts` parts of an attention, without a log-sum-exp of all.
inline faMergeDesc merge(faType type, int64_t headDim, int32_t parts) {
  faMergeDesc desc{};
  desc.size = sizeof desc;
  desc.type = type;
  desc.headDim = headDim;
  desc.parts = parts;
  return desc;
}

/// Keys and values written into a cache, without RoPE.
inline faAppendDesc append(faType type, int64_t headDim) {
  faAppendDesc desc{};
  desc.size = sizeof desc;
  desc.type = type;
  desc.headDim = headDim;
  return desc;
}

/// Options with everything off but the place to run: "cpu", "cuda:N", "hip".
inline faContextOptions contextOptions(const char *target) {
  faContextOptions options{};
  options.size = sizeof options;
  options.target = target;
  return options;
}

/// Whether `arch` ("host", "sm_90a") could run the problem; if not, lastError()
/// says why.
inline bool isSupported(const char *arch, const faAttentionDesc &desc) {
  return faAttentionIsSupported(arch, &desc) == FA_SUCCESS;
}

inline bool isSupported(const char *arch, const faAttentionDesc &desc,
                        const faBackwardDesc &backward) {
  return faAttentionBackwardIsSupported(arch, &desc, &backward) == FA_SUCCESS;
}

/// Owns a faContext.
class Context {
public:
  /// `threads` workers; 0: all cores.
  explicit Context(uint32_t threads = 0) {
    faContextOptions options = contextOptions(nullptr);
    options.threads = threads;
    faContextCreate(&options, &handle);
  }
  explicit Context(const faContextOptions &options) {
    faContextCreate(&options, &handle);
  }
  Context(Context &&other) noexcept
      : handle(std::exchange(other.handle, nullptr)) {}
  Context &operator=(Context &&other) noexcept {
    std::swap(handle, other.handle);
    return *this;
  }
  ~Context() { faContextDestroy(handle); }

  explicit operator bool() const { return handle != nullptr; }
  faContext get() const { return handle; }

private:
  faContext handle = nullptr;
};

/// One argument of a launch, with its own sizes and strides.
struct Argument {
  faArgument value{};
  std::vector<int64_t> sizes, strides;

  faArgument get() const {
    faArgument result = value;
    result.rank = static_cast<int32_t>(sizes.size());
    result.sizes = sizes.data();
    result.strides = strides.empty() ? nullptr : strides.data();
    return result;
  }
};

/// A tensor of any element type; row-major unless strides are given.
inline Argument tensor(void *data, faType type, std::vector<int64_t> sizes,
                       std::vector<int64_t> strides = {}) {
  Argument result;
  result.value.isTensor = 1;
  result.value.type = type;
  result.value.data = data;
  result.sizes = std::move(sizes);
  result.strides = std::move(strides);
  return result;
}
inline Argument tensor(const float *data, std::vector<int64_t> sizes,
                       std::vector<int64_t> strides = {}) {
  return tensor(const_cast<float *>(data), FA_F32, std::move(sizes),
                std::move(strides));
}
inline Argument tensor(const int32_t *data, std::vector<int64_t> sizes) {
  return tensor(const_cast<int32_t *>(data), FA_I32, std::move(sizes));
}
inline Argument scalar(float value) {
  Argument result;
  result.value.type = FA_F32;
  result.value.f32 = value;
  return result;
}
inline Argument scalar(int64_t value) {
  Argument result;
  result.value.type = FA_I64;
  result.value.i64 = value;
  return result;
}

/// Owns a faPlan.
class Plan {
public:
  Plan(const Context &context, const faAttentionDesc &desc) {
    faPlanCreateFromAttention(context.get(), &desc, &handle);
  }
  /// A plan for launches with such arguments alone.
  Plan(const Context &context, faAttentionDesc desc,
       std::span<const Argument> launch) {
    Values values(launch);
    desc.launch = values.data();
    desc.launchCount = launch.size();
    faPlanCreateFromAttention(context.get(), &desc, &handle);
  }
  /// Gradients of an attention.
  Plan(const Context &context, const faAttentionDesc &desc,
       const faBackwardDesc &backward) {
    faPlanCreateFromAttentionBackward(context.get(), &desc, &backward, &handle);
  }
  /// A merge of parts of an attention.
  Plan(const Context &context, const faMergeDesc &desc) {
    faPlanCreateFromMerge(context.get(), &desc, &handle);
  }
  /// Keys and values written into a cache.
  Plan(const Context &context, const faAppendDesc &desc) {
    faPlanCreateFromAppend(context.get(), &desc, &handle);
  }
  /// A module in MLIR's textual form, or in Triton's, whose kernel runs as
  /// `raise` says.
  Plan(const Context &context, std::string_view text,
       const char *entry = nullptr, faRaise raise = FA_RAISE_OFF) {
    faModuleDesc desc{};
    desc.size = sizeof desc;
    desc.text = text.data();
    desc.length = text.size();
    desc.entry = entry;
    desc.raiseAttention = raise;
    faPlanCreateFromModule(context.get(), &desc, &handle);
  }
  Plan(Plan &&other) noexcept : handle(std::exchange(other.handle, nullptr)) {}
  Plan &operator=(Plan &&other) noexcept {
    std::swap(handle, other.handle);
    return *this;
  }
  ~Plan() { faPlanDestroy(handle); }

  explicit operator bool() const { return handle != nullptr; }
  faPlan get() const { return handle; }
  const char *describe() const { return faPlanDescribe(handle); }
  /// What was compiled; all 0 of an object that is false.
  faPlanInfo info() const {
    faPlanInfo result{};
    result.size = sizeof result;
    faPlanGetInfo(handle, &result);
    return result;
  }
  /// Of kernel `index` below info().numKernels.
  faKernelInfo kernel(uint32_t index) const {
    faKernelInfo result{};
    result.size = sizeof result;
    faPlanGetKernelInfo(handle, index, &result);
    return result;
  }

  faStatus launch(std::span<const Argument> arguments) const {
    Values values(arguments);
    return faPlanLaunch(handle, values.data(), arguments.size());
  }
  faStatus launch(std::initializer_list<Argument> arguments) const {
    return launch(std::span(arguments.begin(), arguments.size()));
  }

  /// On a card: enqueues on `stream` (a CUstream or hipStream_t) and returns.
  faStatus enqueue(void *stream, std::span<const Argument> arguments) const {
    Values values(arguments);
    return faPlanEnqueue(handle, stream, values.data(), arguments.size());
  }

  /// With workspace: as much as `launchInfo` says.
  faStatus enqueue(void *stream, void *workspace, size_t workspaceSize,
                   std::span<const Argument> arguments) const {
    Values values(arguments);
    faLaunchOptions options{};
    options.size = sizeof options;
    options.stream = stream;
    options.workspace = workspace;
    options.workspaceSize = workspaceSize;
    return faPlanEnqueueWith(handle, &options, values.data(), arguments.size());
  }

  /// Compiles and loads what launches with these arguments run.
  faStatus prepare(std::span<const Argument> arguments) const {
    Values values(arguments);
    return faPlanPrepare(handle, values.data(), arguments.size());
  }

  /// What a launch with these arguments runs; its size is 0 where it fails.
  faLaunchInfo launchInfo(std::span<const Argument> arguments) const {
    Values values(arguments);
    faLaunchInfo info{};
    info.size = sizeof info;
    if (faPlanGetLaunchInfo(handle, values.data(), arguments.size(), &info))
      info.size = 0;
    return info;
  }

private:
  /// The arguments as the C interface takes them, in place where they are few.
  class Values {
  public:
    explicit Values(std::span<const Argument> arguments)
        : many(arguments.size() > few.size() ? arguments.size() : 0) {
      for (faArgument *to = data(); const Argument &argument : arguments)
        *to++ = argument.get();
    }
    faArgument *data() { return many.empty() ? few.data() : many.data(); }

  private:
    std::array<faArgument, 16> few{};
    std::vector<faArgument> many;
  };

  faPlan handle = nullptr;
};

} // namespace fa

#endif // FA_FA_HPP
