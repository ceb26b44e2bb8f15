//===- HostTensor.h - a strided tensor in host memory -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_NUMERICS_HOSTTENSOR_H
#define FA_NUMERICS_HOSTTENSOR_H

#include "fa/Launch/LaunchArgument.h"
#include "fa/Numerics/ElementType.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"

#include <memory>
#include <string>
#include <vector>

namespace fa {

/// A tensor of any strides; copies share the memory.
class HostTensor {
public:
  HostTensor() = default;

  /// A contiguous tensor of zeros, its first element aligned to 64 bytes.
  /// Fails if a size is negative or the bytes overflow or cannot be had.
  static llvm::Expected<HostTensor> create(ElementType type,
                                           llvm::ArrayRef<int64_t> sizes);

  ElementType type() const { return elementType; }
  llvm::ArrayRef<int64_t> sizes() const { return shape; }
  llvm::ArrayRef<int64_t> strides() const { return steps; } ///< in elements
  int64_t rank() const { return shape.size(); }
  int64_t numElements() const;
  /// Element 0.
  void *data() const { return first; }

  /// Dimension d of the result is dimension permutation[d] of this.
  HostTensor permuted(llvm::ArrayRef<int64_t> permutation) const;
  /// The same memory seen with other sizes and strides; the caller answers for
  /// their lying inside, `offset` elements behind this one's first.
  HostTensor view(llvm::ArrayRef<int64_t> sizes,
                  llvm::ArrayRef<int64_t> strides, int64_t offset = 0) const;

  double at(llvm::ArrayRef<int64_t> indices) const;
  void set(llvm::ArrayRef<int64_t> indices, double value);
  /// All elements in row-major order.
  std::vector<double> toDoubles() const;
  /// Calls `f` with a reference to each element's memory in row-major order.
  void forEach(llvm::function_ref<void(char *)> f) const;
  void fill(double value);

private:
  int64_t offsetOf(llvm::ArrayRef<int64_t> indices) const;

  ElementType elementType = ElementType::F32;
  llvm::SmallVector<int64_t, 4> shape, steps;
  std::shared_ptr<char> storage;
  char *first = nullptr;
};

/// Row-major strides of `sizes`; the largest number where they overflow.
llvm::SmallVector<int64_t, 4> contiguousStrides(llvm::ArrayRef<int64_t> sizes);

} // namespace fa

#endif // FA_NUMERICS_HOSTTENSOR_H
