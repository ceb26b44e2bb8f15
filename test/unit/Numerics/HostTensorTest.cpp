//===- HostTensorTest.cpp -------------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Numerics/HostTensor.h"

#include "gtest/gtest.h"

using namespace llvm;
using namespace fa;

/// A tensor of i32 whose elements are numbered as they lie in memory.
static HostTensor makeNumbered(ArrayRef<int64_t> sizes) {
  HostTensor tensor = cantFail(HostTensor::create(ElementType::I32, sizes));
  for (int64_t n = 0; n < tensor.numElements(); ++n)
    static_cast<int32_t *>(tensor.data())[n] = static_cast<int32_t>(n);
  return tensor;
}

/// Elements are met in row-major order of the indices, whatever the strides.
TEST(HostTensor, ForEachIsRowMajor) {
  HostTensor whole = makeNumbered({3, 4, 5});
  HostTensor tensors[] = {whole, whole.permuted({2, 0, 1}),
                          whole.permuted({0, 2, 1}),
                          whole.view({2, 3, 2}, {20, 5, 2}, 6),
                          whole.view({3, 1, 4}, {-20, 7, 0}, 40)};
  for (const HostTensor &tensor : tensors) {
    std::vector<double> expected;
    for (int64_t i = 0; i < tensor.sizes()[0]; ++i)
      for (int64_t j = 0; j < tensor.sizes()[1]; ++j)
        for (int64_t k = 0; k < tensor.sizes()[2]; ++k)
          expected.push_back(tensor.at({i, j, k}));
    EXPECT_EQ(tensor.toDoubles(), expected);
  }
}

TEST(HostTensor, ForEachOfFewDimensions) {
  EXPECT_EQ(makeNumbered({}).toDoubles(), std::vector<double>({0}));
  EXPECT_EQ(makeNumbered({3}).toDoubles(), std::vector<double>({0, 1, 2}));
  EXPECT_EQ(makeNumbered({3, 1}).toDoubles(), std::vector<double>({0, 1, 2}));
  EXPECT_TRUE(makeNumbered({0}).toDoubles().empty());
  EXPECT_TRUE(makeNumbered({0, 3}).toDoubles().empty());
  EXPECT_TRUE(makeNumbered({3, 0}).toDoubles().empty());
}
