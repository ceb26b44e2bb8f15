//===- Launch.cpp - FlashTile's plans, launched by XLA --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Handlers of XLA's calls to foreign functions, for the CPU and for CUDA. A
// call has a plan's text and tensors in the order of a launch, results last;
// what it means is python/flashtile/jax.py's.
//
//===----------------------------------------------------------------------===//

#include "Plans.h"

#include "xla/ffi/api/c_api.h"

#include <atomic>
#include <optional>

using namespace flashtile;

/// How many calls were launched.
static std::atomic<uint64_t> numCalls;

static XLA_FFI_Error *fail(const XLA_FFI_Api *api, XLA_FFI_Error_Code code,
                           const std::string &message) {
  XLA_FFI_Error_Create_Args args = {};
  args.struct_size = XLA_FFI_Error_Create_Args_STRUCT_SIZE;
  args.message = message.c_str();
  args.errc = code;
  return api->XLA_FFI_Error_Create(&args);
}

/// XLA's code of what a launch failed with.
static XLA_FFI_Error_Code codeOf(faStatus status) {
  return status == FA_ERROR_INVALID_ARGUMENT
             ? XLA_FFI_Error_Code_INVALID_ARGUMENT
         : status == FA_ERROR_COMPILE ? XLA_FFI_Error_Code_UNIMPLEMENTED
                                      : XLA_FFI_Error_Code_INTERNAL;
}

//===----------------------------------------------------------------------===//
// What a call has
//===----------------------------------------------------------------------===//

namespace {
/// What a call has beside its tensors.
struct Attributes {
  std::string_view key; ///< the plan's text
  float scale = 0;      ///< its scalar, the argument number `scaleAt`
  int64_t scaleAt = -1;
  /// Bit n: of tensor n, results among them, the dimensions 1 and 2 change
  /// places.
  int64_t swapped = 0;

  /// False: one of them is missing.
  bool read(const XLA_FFI_Attrs &attrs);
};

/// The arguments of a launch.
struct Launch {
  static constexpr size_t kMost = 32;
  static constexpr int64_t kMostDims = 4;
  faArgument arguments[kMost];
  int64_t sizes[kMost][kMostDims], strides[kMost][kMostDims];
  size_t count = 0, numTensors = 0;

  /// False: `message` says why.
  bool fill(const XLA_FFI_CallFrame &frame, const Attributes &attributes,
            std::string &message);

private:
  void addScale(const Attributes &attributes);
  bool add(const XLA_FFI_Buffer &buffer, const Attributes &attributes,
           std::string &message);
};
} // namespace

template <typename T>
static bool readScalar(const void *attribute, XLA_FFI_DataType type,
                       T &result) {
  const auto &scalar = *static_cast<const XLA_FFI_Scalar *>(attribute);
  if (scalar.dtype != type)
    return false;
  result = *static_cast<const T *>(scalar.value);
  return true;
}

bool Attributes::read(const XLA_FFI_Attrs &attrs) {
  int numFound = 0;
  for (int64_t n = 0; n < attrs.size; ++n) {
    std::string_view name(attrs.names[n]->ptr, attrs.names[n]->len);
    const void *value = attrs.attrs[n];
    if (attrs.types[n] == XLA_FFI_AttrType_STRING) {
      const auto &text = *static_cast<const XLA_FFI_ByteSpan *>(value);
      key = std::string_view(text.ptr, text.len);
      numFound += name == "key";
    } else if (attrs.types[n] == XLA_FFI_AttrType_SCALAR) {
      if (name == "scale")
        numFound += readScalar(value, XLA_FFI_DataType_F32, scale);
      else if (name == "scale_at")
        numFound += readScalar(value, XLA_FFI_DataType_S64, scaleAt);
      else if (name == "swapped")
        numFound += readScalar(value, XLA_FFI_DataType_S64, swapped);
    }
  }
  return numFound == 4;
}

/// FlashTile's type; none: it has none.
static std::optional<faType> toType(XLA_FFI_DataType type) {
  switch (type) {
  case XLA_FFI_DataType_F32:
    return FA_F32;
  case XLA_FFI_DataType_F16:
    return FA_F16;
  case XLA_FFI_DataType_BF16:
    return FA_BF16;
  case XLA_FFI_DataType_S32:
    return FA_I32;
  case XLA_FFI_DataType_S64:
    return FA_I64;
  default:
    return std::nullopt;
  }
}

void Launch::addScale(const Attributes &attributes) {
  faArgument &scale = arguments[count++] = {};
  scale.type = FA_F32;
  scale.f32 = attributes.scale;
}

bool Launch::add(const XLA_FFI_Buffer &buffer, const Attributes &attributes,
                 std::string &message) {
  if (int64_t(count) == attributes.scaleAt)
    addScale(attributes);
  // Without 64-bit integers, which JAX has off, a seed and an offset come as
  // halves.
  bool isHalves = buffer.dtype == XLA_FFI_DataType_U32 && buffer.rank == 1;
  std::optional<faType> type =
      isHalves ? std::optional(FA_I64) : toType(buffer.dtype);
  if (!type || buffer.rank > kMostDims || count == kMost) {
    message = "expected at most " + std::to_string(kMost) +
              " tensors of float32, float16, bfloat16 or int32 with at most " +
              std::to_string(kMostDims) + " dimensions, found number " +
              std::to_string(numTensors) + " of XLA's type " +
              std::to_string(buffer.dtype) + " with " +
              std::to_string(buffer.rank);
    return false;
  }
  int64_t *size = sizes[count], *stride = strides[count];
  for (int64_t d = buffer.rank - 1, next = 1; d >= 0; --d) {
    size[d] = isHalves ? buffer.dims[d] / 2 : buffer.dims[d];
    stride[d] = next;
    next *= size[d];
  }
  if (attributes.swapped >> numTensors++ & 1) {
    std::swap(size[1], size[2]);
    std::swap(stride[1], stride[2]);
  }
  faArgument &argument = arguments[count++] = {};
  argument.isTensor = 1;
  argument.type = *type;
  argument.data = buffer.data;
  argument.rank = int32_t(buffer.rank);
  argument.sizes = size;
  argument.strides = stride;
  return true;
}

bool Launch::fill(const XLA_FFI_CallFrame &frame, const Attributes &attributes,
                  std::string &message) {
  for (int64_t n = 0; n < frame.args.size; ++n)
    if (!add(*static_cast<XLA_FFI_Buffer *>(frame.args.args[n]), attributes,
             message))
      return false;
  for (int64_t n = 0; n < frame.rets.size; ++n)
    if (!add(*static_cast<XLA_FFI_Buffer *>(frame.rets.rets[n]), attributes,
             message))
      return false;
  return true;
}

//===----------------------------------------------------------------------===//
// On a card
//===----------------------------------------------------------------------===//

/// Null: `card` is the number of the card that a call runs on.
static XLA_FFI_Error *getCard(const XLA_FFI_CallFrame &frame, int32_t &card) {
  XLA_FFI_DeviceOrdinal_Get_Args args = {};
  args.struct_size = XLA_FFI_DeviceOrdinal_Get_Args_STRUCT_SIZE;
  args.ctx = frame.ctx;
  XLA_FFI_Error *error = frame.api->XLA_FFI_DeviceOrdinal_Get(&args);
  card = args.device_ordinal;
  return error;
}

namespace {
/// Memory of XLA's for what is enqueued on a call's stream, given back at the
/// end of the call: what has it next is enqueued behind.
class Workspace {
public:
  explicit Workspace(const XLA_FFI_CallFrame &frame) : frame(frame) {}
  Workspace(const Workspace &) = delete;
  Workspace &operator=(const Workspace &) = delete;
  ~Workspace() {
    if (!data)
      return;
    XLA_FFI_DeviceMemory_Free_Args args = {};
    args.struct_size = XLA_FFI_DeviceMemory_Free_Args_STRUCT_SIZE;
    args.ctx = frame.ctx;
    args.size = size;
    args.data = data;
    if (XLA_FFI_Error *error = frame.api->XLA_FFI_DeviceMemory_Free(&args)) {
      XLA_FFI_Error_Destroy_Args destroy = {};
      destroy.struct_size = XLA_FFI_Error_Destroy_Args_STRUCT_SIZE;
      destroy.error = error;
      frame.api->XLA_FFI_Error_Destroy(&destroy);
    }
  }

  XLA_FFI_Error *allocate(size_t bytes) {
    XLA_FFI_DeviceMemory_Allocate_Args args = {};
    args.struct_size = XLA_FFI_DeviceMemory_Allocate_Args_STRUCT_SIZE;
    args.ctx = frame.ctx;
    args.size = size = bytes;
    args.alignment = 16; // what faLaunchOptions asks for
    XLA_FFI_Error *error = frame.api->XLA_FFI_DeviceMemory_Allocate(&args);
    data = error ? nullptr : args.data;
    return error;
  }

  void *data = nullptr;

private:
  const XLA_FFI_CallFrame &frame;
  size_t size = 0;
};
} // namespace

/// On the stream that XLA gives the call.
static XLA_FFI_Error *enqueue(const XLA_FFI_CallFrame &frame, faPlan plan,
                              const Launch &launch) {
  XLA_FFI_Stream_Get_Args stream = {};
  stream.struct_size = XLA_FFI_Stream_Get_Args_STRUCT_SIZE;
  stream.ctx = frame.ctx;
  if (XLA_FFI_Error *error = frame.api->XLA_FFI_Stream_Get(&stream))
    return error;
  faLaunchInfo info = {};
  info.size = sizeof(info);
  if (faStatus status =
          host().getLaunchInfo(plan, launch.arguments, launch.count, &info))
    return fail(frame.api, codeOf(status), host().lastError());
  Workspace workspace(frame);
  if (info.workspaceSize)
    if (XLA_FFI_Error *error = workspace.allocate(info.workspaceSize))
      return error;
  faLaunchOptions options = {};
  options.size = sizeof(options);
  options.stream = stream.stream;
  options.workspace = workspace.data;
  options.workspaceSize = info.workspaceSize;
  if (faStatus status =
          host().enqueueWith(plan, &options, launch.arguments, launch.count))
    return fail(frame.api, codeOf(status), host().lastError());
  return nullptr;
}

//===----------------------------------------------------------------------===//
// The handlers
//===----------------------------------------------------------------------===//

/// What XLA asks a handler as it is registered: the version of the interface.
static bool answerMetadata(const XLA_FFI_CallFrame &frame) {
  auto *extension = frame.extension_start;
  if (!extension || extension->type != XLA_FFI_Extension_Metadata)
    return false;
  auto &metadata =
      *reinterpret_cast<XLA_FFI_Metadata_Extension *>(extension)->metadata;
  metadata.api_version.major_version = XLA_FFI_API_MAJOR;
  metadata.api_version.minor_version = XLA_FFI_API_MINOR;
  return true;
}

static XLA_FFI_Error *launch(const XLA_FFI_CallFrame &frame, bool onCpu) {
  if (answerMetadata(frame))
    return nullptr;
  Attributes attributes;
  if (frame.stage != XLA_FFI_ExecutionStage_EXECUTE ||
      !attributes.read(frame.attrs))
    return fail(frame.api, XLA_FFI_Error_Code_INVALID_ARGUMENT,
                "expected a call of flashtile.jax, to be executed, with key, "
                "scale, scale_at and swapped; found another");
  int32_t card = -1;
  if (!onCpu)
    if (XLA_FFI_Error *error = getCard(frame, card))
      return error;
  std::string message;
  faPlan plan = findPlan(attributes.key, card, message);
  if (!plan)
    return fail(frame.api, XLA_FFI_Error_Code_UNIMPLEMENTED, message);
  Launch launch;
  if (!launch.fill(frame, attributes, message))
    return fail(frame.api, XLA_FFI_Error_Code_INVALID_ARGUMENT, message);
  numCalls.fetch_add(1, std::memory_order_relaxed);
  if (!onCpu)
    return enqueue(frame, plan, launch);
  if (faStatus status = host().launch(plan, launch.arguments, launch.count))
    return fail(frame.api, codeOf(status), host().lastError());
  return nullptr;
}

extern "C" {

FA_API XLA_FFI_Error *flashtileJaxLaunchCpu(XLA_FFI_CallFrame *frame) {
  return launch(*frame, /*onCpu=*/true);
}

FA_API XLA_FFI_Error *flashtileJaxLaunchCuda(XLA_FFI_CallFrame *frame) {
  return launch(*frame, /*onCpu=*/false);
}

FA_API uint64_t flashtileJaxCountCalls() { return numCalls.load(); }

} // extern "C"
