//===- ConvertArgument.cpp - arguments of the C interfaces ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Launch/ConvertArgument.h"

#include <bit>

using namespace fa;

std::optional<ElementType> fa::elementTypeOf(faType type) {
  switch (type) {
  case FA_F32:
    return ElementType::F32;
  case FA_F16:
    return ElementType::F16;
  case FA_BF16:
    return ElementType::BF16;
  case FA_I32:
    return ElementType::I32;
  case FA_I64:
    return ElementType::I64;
  case FA_F8E4M3:
    return ElementType::F8E4M3;
  case FA_F8E5M2:
    return ElementType::F8E5M2;
  case FA_TYPE_FORCE_INT:
    break;
  }
  return std::nullopt;
}

Result<LaunchArgument> fa::convertArgument(size_t number,
                                           const faArgument &from) {
  auto type = elementTypeOf(from.type);
  if (!type)
    return makeFailure("argument ", number,
                       ": expected a type of faType, found ",
                       static_cast<int>(from.type));
  LaunchArgument result;
  result.type = *type;
  if (!from.isTensor) {
    result.bits = from.type == FA_F32 ? std::bit_cast<uint32_t>(from.f32)
                                      : static_cast<uint64_t>(from.i64);
    return result;
  }
  constexpr auto maxRank = static_cast<int32_t>(kMaxRank);
  if (from.rank < 0 || from.rank > maxRank || (from.rank && !from.sizes))
    return makeFailure("argument ", number, ": expected a rank of 0 to ",
                       maxRank, " with its sizes, found rank ", from.rank);
  std::span sizes(from.sizes, from.rank);
  int64_t strides[kMaxRank];
  if (from.strides)
    std::copy_n(from.strides, from.rank, strides);
  else
    fillContiguousStrides(sizes, strides);
  return LaunchArgument::tensor(from.data, *type, sizes,
                                std::span(strides, from.rank));
}

Failure ConvertedArguments::convert(const faArgument *arguments,
                                    size_t number) {
  if (number > kMaxArguments)
    return makeFailure("expected at most ", kMaxArguments, " arguments, found ",
                       number);
  for (count = 0; count < number; ++count) {
    auto argument = convertArgument(count, arguments[count]);
    if (!argument)
      return argument.takeFailure();
    storage[count] = *argument;
  }
  return {};
}
