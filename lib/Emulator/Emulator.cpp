//===- Emulator.cpp - runs and checks a GPU program on the host -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Emulator/Emulator.h"

#include "Block.h"
#include "GlobalMemory.h"
#include "HostCode.h"

#include "fa/Machine/AmdInfo.h"

#include "llvm/ADT/STLExtras.h"

#include <limits>

using namespace llvm;
using namespace fa;
using namespace fa::emu;

/// Of a cluster: shadows have no numbers for more.
static constexpr unsigned kMaxThreads = 1024;

namespace {

/// Blocks that are not running: their stacks and shadows serve the next ones,
/// of this launch or another one. A few outlive a launch, because a process has
/// a limited number of mappings, two for a thread's stack.
class BlockStore {
public:
  /// One that had `threads` before, if there is one.
  std::unique_ptr<Block> take(unsigned threads) {
    std::lock_guard lock(mutex);
    auto found = llvm::find_if(llvm::reverse(idle), [&](const auto &block) {
      return block->numCreated() == threads;
    });
    if (found == idle.rend())
      return std::make_unique<Block>();
    auto block = std::move(*found);
    idle.erase(std::prev(found.base()));
    return block;
  }

  void giveBack(std::unique_ptr<Block> block) {
    std::lock_guard lock(mutex);
    idle.push_back(std::move(block));
  }

  /// A launch has ended.
  void dropOldest() {
    std::lock_guard lock(mutex);
    if (idle.size() > kept)
      idle.erase(idle.begin(), idle.end() - kept);
  }

private:
  static constexpr size_t kept = 8;
  std::mutex mutex;
  std::vector<std::unique_ptr<Block>> idle;
};

/// What the blocks of one launch gave.
class Outcome {
public:
  /// Blocks behind one with a fault need not run; those before it must, so that
  /// the report is the same each time.
  bool matters(int64_t index) const { return index < firstWithFault; }

  void add(int64_t index, const Block &block) {
    std::lock_guard lock(mutex);
    counters += block.counts();
    if (block.faults().empty() || index >= firstWithFault)
      return;
    firstWithFault = index;
    faults = block.faults().all();
  }

  void addNoMemory() { noMemory = true; }

  Expected<EmulatorCounters> take() const {
    if (noMemory)
      return createStringError("cannot allocate the stacks of a block");
    if (faults.empty())
      return counters;
    std::string text;
    for (const Fault &fault : faults)
      text += (text.empty() ? "" : "\n") + fault.text;
    return createStringError(text);
  }

private:
  std::mutex mutex;
  EmulatorCounters counters;
  std::atomic<int64_t> firstWithFault = std::numeric_limits<int64_t>::max();
  std::atomic<bool> noMemory = false;
  std::vector<Fault> faults;
};

} // namespace

class EmulatedProgram::Impl {
public:
  std::unique_ptr<HostCode> code;
  std::vector<EmulatorSite> sites;
  unsigned banks = 32;
  bool hasWaves = false;
};

EmulatedProgram::EmulatedProgram(std::unique_ptr<Impl> impl)
    : impl(std::move(impl)) {}
EmulatedProgram::~EmulatedProgram() = default;

Expected<std::unique_ptr<EmulatedProgram>>
EmulatedProgram::load(EmulatedCode emulated) {
  auto impl = std::make_unique<Impl>();
  auto code = HostCode::load(std::move(emulated.bitcode), emulated.hostCpu,
                             emulated.features);
  if (!code)
    return code.takeError();
  impl->code = std::move(*code);
  impl->sites = std::move(emulated.sites);
  auto info = getAmdInfo(emulated.arch);
  if (info) {
    impl->banks = info->ldsBanks;
    impl->hasWaves = true;
  }
  consumeError(info.takeError());
  return std::unique_ptr<EmulatedProgram>(new EmulatedProgram(std::move(impl)));
}

/// What the driver would encode for a card.
static std::vector<BoxMap> openMaps(const KernelInfo &kernel,
                                    ArrayRef<LaunchArgument> arguments) {
  std::vector<BoxMap> maps;
  for (const TensorMapInfo &info : kernel.tensorMaps) {
    const LaunchArgument &argument = arguments[info.argument];
    TensorMapShape shape =
        shapeOf(info, argument, groupOf(kernel, info, arguments));
    maps.push_back({shape, static_cast<const char *>(argument.data),
                    uint32_t(byteSize(argument.type)),
                    isSwizzled(shape, argument.type)});
  }
  return maps;
}

Expected<EmulatorCounters> EmulatedProgram::run(
    const KernelInfo &kernel, ArrayRef<LaunchArgument> arguments,
    ArrayRef<int64_t> words, int64_t blocks, const Options &options,
    const ParallelFor &parallelFor) const {
  auto function = impl->code->lookup(kernel.symbol);
  if (!function)
    return function.takeError();
  auto global = GlobalMemory::create(kernel, arguments);
  if (!global)
    return global.takeError();
  Launch launch;
  launch.kernel = *function;
  launch.words = words.data();
  launch.sites = impl->sites;
  launch.global = &*global;
  launch.threads = kernel.threads;
  launch.blocks = blocks;
  launch.cluster = kernel.cluster;
  launch.sharedBytes = kernel.sharedBytes;
  auto maps = openMaps(kernel, arguments);
  launch.maps = maps;
  launch.seed = options.seed;
  launch.count = options.count;
  launch.banks = impl->banks;
  launch.hasWaves = impl->hasWaves;
  launch.beginsEarly = kernel.beginsEarly;
  if (launch.cluster * launch.threads > kMaxThreads)
    return createStringError("the emulator has clusters of up to " +
                             Twine(kMaxThreads) + " threads, @" +
                             kernel.symbol + " has " + Twine(launch.cluster) +
                             " blocks of " + Twine(launch.threads));
  Outcome outcome;
  static BlockStore store;
  unsigned threads = launch.cluster * launch.threads;
  parallelFor(blocks / kernel.cluster, [&](int64_t index) {
    if (!outcome.matters(index))
      return;
    auto block = store.take(threads);
    if (block->run(launch, index))
      outcome.add(index, *block);
    else
      outcome.addNoMemory();
    store.giveBack(std::move(block));
  });
  store.dropOldest();
  return outcome.take();
}
