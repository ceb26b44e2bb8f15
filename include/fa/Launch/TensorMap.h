//===- TensorMap.h - arguments as the tensor memory accelerator reads them ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LAUNCH_TENSORMAP_H
#define FA_LAUNCH_TENSORMAP_H

#include "fa/Launch/GpuDriver.h"
#include "fa/Launch/LaunchArgument.h"

#include <mutex>
#include <optional>
#include <span>
#include <vector>

namespace fa {

/// CUtensorMap.
struct alignas(64) TensorMap {
  uint64_t words[16];
};

/// CUtensorMapDataType of f16, bf16, f32 and types of one byte, which are
/// bytes; nothing: there is none for the type.
std::optional<int> tensorMapType(ElementType type);

/// Whether a tensor map can describe the argument: sizes below 2^32, steps
/// above 0 and below 2^40 bytes (CUDA Driver API, cuTensorMapEncodeTiled). That
/// they are multiples of 16 bytes is asked by the argument's alignment.
bool fitsTensorMap(const TensorMapInfo &info, const LaunchArgument &argument);

/// What the map of an argument that fits says, innermost dimension first.
struct TensorMapShape {
  static constexpr size_t maxRank = 5;
  size_t rank;
  uint64_t sizes[maxRank], strides[maxRank]; ///< strides in bytes
  uint32_t box[maxRank];

  bool operator==(const TensorMapShape &) const = default;
};
TensorMapShape shapeOf(const TensorMapInfo &info,
                       const LaunchArgument &argument, int64_t group);

/// The heads that share K and V in a launch of a kernel with map `info`; 1
/// where the map has no heads.
int64_t groupOf(const KernelInfo &kernel, const TensorMapInfo &info,
                std::span<const LaunchArgument> arguments);

/// Whether rows of the boxes are swizzled in 128 bytes (PTX ISA, "Swizzling
/// Modes"): those that are not longer. The compiler asks for shorter ones of
/// tiles alone.
bool isSwizzled(const TensorMapShape &shape, ElementType type);

/// Writes the map of an argument that fits. Calls nothing on the card.
Failure encodeTensorMap(const GpuDriver &cuda, const TensorMapInfo &info,
                        const LaunchArgument &argument, int64_t group,
                        TensorMap &map);

/// Maps of the launches before: a layer of a network asks for the same ones
/// with each token, and the driver checks and packs what it is given each time.
/// Several threads may ask at once; who finds another one at it encodes.
class TensorMapCache {
public:
  /// Makes room for 512 maps, four for each of a hundred layers; before, all
  /// are encoded.
  void reserve() { entries.resize(size_t(1) << entryBits); }

  /// `encodeTensorMap`, of a map that was not asked for lately. Nothing is
  /// allocated.
  Failure get(const GpuDriver &cuda, const TensorMapInfo &info,
              const LaunchArgument &argument, int64_t group, TensorMap &map);

private:
  /// Empty without an address.
  struct Entry {
    void *data = nullptr;
    ElementType type = ElementType::F16;
    TensorMapShape shape = {};
    TensorMap map;
  };

  static constexpr unsigned entryBits = 9;
  /// Whichever map comes there last is kept.
  static size_t placeOf(const void *data, const TensorMapShape &shape);

  std::mutex mutex;
  std::vector<Entry> entries;
};

} // namespace fa

#endif // FA_LAUNCH_TENSORMAP_H
