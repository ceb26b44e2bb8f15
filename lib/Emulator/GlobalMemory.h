//===- GlobalMemory.h - the tensors of a launch -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Global memory is the tensors of a launch, in the host's memory, element for
// element: what lies between the rows of a tensor with gaps is out of bounds.
// The shadow of an output says who wrote each element, and of one that is read,
// too, who read it and who added to it.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_EMULATOR_GLOBALMEMORY_H
#define FA_LIB_EMULATOR_GLOBALMEMORY_H

#include "Faults.h"

#include "fa/Launch/KernelInfo.h"
#include "fa/Launch/LaunchArgument.h"

#include <atomic>

namespace fa::emu {

struct Thread;

/// Memory of zeros that costs nothing where it is not touched.
class SparseWords {
public:
  SparseWords() = default;
  SparseWords(SparseWords &&other) noexcept;
  SparseWords &operator=(SparseWords &&) = delete;
  ~SparseWords();
  /// False if there is no room in the address space.
  bool allocate(size_t count);
  std::atomic<uint64_t> &operator[](size_t n) { return words[n]; }

private:
  std::atomic<uint64_t> *words = nullptr;
  size_t bytes = 0;
};

class GlobalMemory {
public:
  /// The tensors among `arguments`, which `kernel` says how it uses.
  static llvm::Expected<GlobalMemory>
  create(const KernelInfo &kernel, llvm::ArrayRef<LaunchArgument> arguments);

  /// An access by one thread. What cannot be done is reported; then the bytes
  /// read are NaN.
  void read(Thread &thread, int32_t site, uint64_t address, uint32_t bytes,
            uint32_t alignment, void *to);
  void write(Thread &thread, int32_t site, uint64_t address, uint32_t bytes,
             uint32_t alignment, const void *from);
  /// Where an element of `bytes` is that a thread adds to, in one step with
  /// others that do; null where there is none, which is reported.
  void *openSum(Thread &thread, int32_t site, uint64_t address, uint32_t bytes);
  /// Checks a read that an asynchronous copy will do.
  bool checkRead(Thread &thread, int32_t site, uint64_t address, uint32_t bytes,
                 uint32_t alignment);

private:
  /// One tensor. Dimensions are those with more than one element, from large
  /// strides to small, those without a gap between them as one.
  struct Region {
    size_t argument;
    uint64_t begin, end; ///< addresses
    int64_t elementBytes;
    Access access;
    llvm::SmallVector<std::pair<int64_t, int64_t>, 4> dims; ///< size, stride
    /// Strides are nested, so that an offset has one place in the tensor.
    bool isExact = true;
    SparseWords writers;
    /// Of what is read and written, who read and who added.
    SparseWords readers, adders;

    bool contains(uint64_t address, uint32_t bytes) const;
    bool containsElement(int64_t offset, int64_t count) const;
  };

  Region *find(uint64_t address, uint32_t bytes);
  Region *locate(Thread &thread, int32_t site, uint64_t address, uint32_t bytes,
                 uint32_t alignment);
  void reportOutside(Thread &thread, int32_t site, uint64_t address,
                     uint32_t bytes);
  void checkWritten(Thread &thread, int32_t site, Region &region,
                    int64_t element);
  void checkAgainst(Thread &thread, int32_t site, const Region &region,
                    SparseWords &others, int64_t element, llvm::StringRef did);
  void noteWrite(Thread &thread, int32_t site, Region &region, int64_t element);

  std::vector<Region> regions;
};

} // namespace fa::emu

#endif // FA_LIB_EMULATOR_GLOBALMEMORY_H
