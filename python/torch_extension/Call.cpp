//===- Call.cpp - one call of the operator --------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Call.h"

using namespace flashtile;

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

faArgument TensorFacts::argument() const {
  faArgument argument = {};
  argument.isTensor = 1;
  argument.type = faType(toType(dtype));
  argument.data = data;
  argument.rank = int32_t(rank);
  argument.sizes = sizes;
  argument.strides = strides;
  return argument;
}

bool flashtile::describe(const Tensor &tensor, TensorFacts &facts) {
  AtenTensorHandle handle = tensor.get();
  const void *data = nullptr;
  bool failed = torch_get_const_data_ptr(handle, &data);
  facts.data = const_cast<void *>(data);
  return !failed && !aoti_torch_get_dtype(handle, &facts.dtype) &&
         !aoti_torch_get_device_type(handle, &facts.deviceType) &&
         !aoti_torch_get_device_index(handle, &facts.deviceIndex) &&
         !aoti_torch_get_dim(handle, &facts.rank) &&
         !aoti_torch_get_sizes(handle, &facts.sizes) &&
         !aoti_torch_get_strides(handle, &facts.strides);
}

int32_t flashtile::toType(int32_t dtype) {
  // PyTorch's numbers are no part of its interface, and do not change while it
  // runs.
  static const int32_t f32 = aoti_torch_dtype_float32();
  static const int32_t f16 = aoti_torch_dtype_float16();
  static const int32_t bf16 = aoti_torch_dtype_bfloat16();
  static const int32_t i32 = aoti_torch_dtype_int32();
  static const int32_t i64 = aoti_torch_dtype_int64();
  static const int32_t f8e4m3 = aoti_torch_dtype_float8_e4m3fn();
  static const int32_t f8e5m2 = aoti_torch_dtype_float8_e5m2();
  if (dtype == f32)
    return FA_F32;
  if (dtype == f16)
    return FA_F16;
  if (dtype == bf16)
    return FA_BF16;
  if (dtype == i32)
    return FA_I32;
  if (dtype == i64)
    return FA_I64;
  if (dtype == f8e4m3)
    return FA_F8E4M3;
  return dtype == f8e5m2 ? int32_t(FA_F8E5M2) : -1;
}

std::string flashtile::nameOfType(int32_t dtype) {
  static constexpr struct {
    int32_t (*dtype)();
    const char *name;
  } kNames[] = {
      {aoti_torch_dtype_float32, "float32"},
      {aoti_torch_dtype_float16, "float16"},
      {aoti_torch_dtype_bfloat16, "bfloat16"},
      {aoti_torch_dtype_float64, "float64"},
      {aoti_torch_dtype_float8_e4m3fn, "float8_e4m3fn"},
      {aoti_torch_dtype_float8_e5m2, "float8_e5m2"},
      {aoti_torch_dtype_float8_e4m3fnuz, "float8_e4m3fnuz"},
      {aoti_torch_dtype_float8_e5m2fnuz, "float8_e5m2fnuz"},
      {aoti_torch_dtype_bool, "bool"},
      {aoti_torch_dtype_int8, "int8"},
      {aoti_torch_dtype_int16, "int16"},
      {aoti_torch_dtype_int32, "int32"},
      {aoti_torch_dtype_int64, "int64"},
      {aoti_torch_dtype_uint8, "uint8"},
      {aoti_torch_dtype_complex64, "complex64"},
      {aoti_torch_dtype_complex128, "complex128"},
  };
  for (const auto &known : kNames)
    if (known.dtype() == dtype)
      return std::string("torch.") + known.name;
  return "PyTorch's type " + std::to_string(dtype);
}

std::string flashtile::nameOfPlace(int32_t deviceType, int32_t deviceIndex) {
  if (deviceType == aoti_torch_device_type_cpu())
    return "cpu";
  if (deviceType == aoti_torch_device_type_cuda())
    return "cuda:" + std::to_string(deviceIndex);
  return "PyTorch's device type " + std::to_string(deviceType);
}

//===----------------------------------------------------------------------===//
// The stack
//===----------------------------------------------------------------------===//

/// An optional string; null: none.
static StringHandle unboxText(StableIValue value) {
  StableIValue inner;
  return unboxOptional(value, inner) ? unbox<StringHandle>(inner) : nullptr;
}

Call::Call(StableIValue *stack, bool hasLse)
    : causal(unbox<StringHandle>(stack[4])), scoreMod(unboxText(stack[9])),
      maskMod(unboxText(stack[10])), windowLeft(unbox<int64_t>(stack[5])),
      windowRight(unbox<int64_t>(stack[6])), softcap(unbox<double>(stack[7])),
      hasLse(hasLse) {
  for (int n = 0; n < 3; ++n)
    tensors[n] = Tensor(unbox<AtenTensorHandle>(stack[n]));
  StableIValue inner;
  if (unboxOptional(stack[3], inner))
    scale = unbox<double>(inner);
  if (unboxOptional(stack[8], inner))
    tensors[numTensors++] = Tensor(unbox<AtenTensorHandle>(inner));
}
