//===- ElementType.cpp - the element types of buffers ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Launch/ElementType.h"

using namespace fa;

namespace {
struct TypeFacts {
  ElementType type;
  std::string_view name;
  int64_t bytes;
};
} // namespace

static constexpr TypeFacts kTypes[] = {
    {ElementType::F32, "f32", 4},       {ElementType::F16, "f16", 2},
    {ElementType::BF16, "bf16", 2},     {ElementType::F64, "f64", 8},
    {ElementType::I32, "i32", 4},       {ElementType::I64, "i64", 8},
    {ElementType::I1, "i1", 1},         {ElementType::F8E4M3, "f8e4m3", 1},
    {ElementType::F8E5M2, "f8e5m2", 1},
};

static const TypeFacts &factsOf(ElementType type) {
  for (const TypeFacts &facts : kTypes)
    if (facts.type == type)
      return facts;
  __builtin_unreachable(); // every element type has its line
}

int64_t fa::byteSize(ElementType type) { return factsOf(type).bytes; }

std::string_view fa::name(ElementType type) { return factsOf(type).name; }

std::optional<ElementType> fa::parseElementType(std::string_view name) {
  for (const TypeFacts &facts : kTypes)
    if (facts.name == name)
      return facts.type;
  return std::nullopt;
}
