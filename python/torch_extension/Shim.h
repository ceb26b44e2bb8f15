//===- Shim.h - PyTorch's C interface, with owners --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Of PyTorch nothing but the functions of its C shim is used, those that are
// there since 2.10 (TORCH_TARGET_VERSION): one library serves all versions from
// then on. torch/csrc/stable's C++ headers stand on the same functions; they
// throw, which is not done here.
//
//===----------------------------------------------------------------------===//

#ifndef FLASHTILE_TORCH_SHIM_H
#define FLASHTILE_TORCH_SHIM_H

#include <torch/csrc/stable/c/shim.h>

#include <cstring>
#include <string>
#include <string_view>
#include <utility>

extern "C" {
// Of 2.13: null where PyTorch is older.
__attribute__((weak)) AOTITorchError
torch_delete_stable_ivalue(StableIValue *value);
__attribute__((weak)) const char *torch_exception_get_what_without_backtrace();
}

namespace flashtile {

/// A value of the dispatcher's stack as what it is, by its bytes.
template <typename T> T unbox(StableIValue value) {
  static_assert(sizeof(T) == sizeof(value));
  T result;
  std::memcpy(&result, &value, sizeof(result));
  return result;
}

/// The value of an optional one, whose place is given back; false: none.
inline bool unboxOptional(StableIValue value, StableIValue &inner) {
  auto *place = unbox<StableIValue *>(value);
  if (!place)
    return false;
  inner = *place;
  if (torch_delete_stable_ivalue)
    torch_delete_stable_ivalue(place);
  else
    delete place;
  return true;
}

/// A tensor, owned; null: none.
class Tensor {
public:
  Tensor() = default;
  explicit Tensor(AtenTensorHandle handle) : handle(handle) {}
  Tensor(Tensor &&other) noexcept : handle(other.release()) {}
  Tensor &operator=(Tensor &&other) noexcept {
    std::swap(handle, other.handle);
    return *this;
  }
  ~Tensor() {
    if (handle)
      aoti_torch_delete_tensor_object(handle);
  }

  AtenTensorHandle get() const { return handle; }
  AtenTensorHandle *out() { return &handle; }
  AtenTensorHandle release() {
    AtenTensorHandle released = handle;
    handle = nullptr;
    return released;
  }
  explicit operator bool() const { return handle; }

private:
  AtenTensorHandle handle = nullptr;
};

/// A string of the dispatcher's, owned; null: none.
class String {
public:
  String() = default;
  explicit String(StringHandle handle) : handle(handle) {
    if (!handle)
      return;
    size_t length = 0;
    torch_string_c_str(handle, &data);
    torch_string_length(handle, &length);
    text = std::string_view(data, length);
  }
  String(const String &) = delete;
  String &operator=(const String &) = delete;
  ~String() {
    if (handle)
      torch_delete_string(handle);
  }

  /// It ends with 0; null: there is none.
  const char *c_str() const { return data; }
  std::string_view view() const { return text; }

private:
  StringHandle handle = nullptr;
  const char *data = nullptr;
  std::string_view text;
};

/// What PyTorch says of its last call of this thread that failed, behind what
/// it was to do. Before 2.13 it writes that to the standard error alone.
inline std::string describeFailure(std::string_view what) {
  std::string message = "PyTorch could not " + std::string(what);
  const char *why = torch_exception_get_what_without_backtrace
                        ? torch_exception_get_what_without_backtrace()
                        : nullptr;
  return why ? message + ": " + why : message;
}

} // namespace flashtile

#endif // FLASHTILE_TORCH_SHIM_H
