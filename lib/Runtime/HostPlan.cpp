//===- HostPlan.cpp - an artifact, loaded and ready to launch -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Runtime/HostPlan.h"

#include "CheckArguments.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ExecutionEngine/Orc/ExecutionUtils.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/TargetSelect.h"

#include <bit>

using namespace llvm;
using namespace fa;

LaunchArgument LaunchArgument::tensor(void *data, ElementType type,
                                      ArrayRef<int64_t> sizes,
                                      ArrayRef<int64_t> strides) {
  LaunchArgument result;
  result.isTensor = true;
  result.type = type;
  result.data = data;
  result.sizes.assign(sizes.begin(), sizes.end());
  result.strides.assign(strides.begin(), strides.end());
  return result;
}

LaunchArgument LaunchArgument::f32(float value) {
  LaunchArgument result;
  result.type = ElementType::F32;
  result.bits = std::bit_cast<uint32_t>(value);
  return result;
}

LaunchArgument LaunchArgument::index(int64_t value) {
  LaunchArgument result;
  result.type = ElementType::I64;
  result.bits = static_cast<uint64_t>(value);
  return result;
}

/// See include/fa/Conversion/TileToHost.h.
using KernelFunction = void (*)(int64_t, int64_t, int64_t, const int64_t *,
                                void *);

class HostPlan::Impl {
public:
  Artifact artifact;
  std::shared_ptr<HostDevice> device;
  std::unique_ptr<orc::LLJIT> jit;
  StringMap<KernelFunction> functions;
};

HostPlan::HostPlan(std::unique_ptr<Impl> impl) : impl(std::move(impl)) {}
HostPlan::~HostPlan() = default;

const Artifact &HostPlan::artifact() const { return impl->artifact; }

Expected<std::unique_ptr<HostPlan>>
HostPlan::load(Artifact artifact, std::shared_ptr<HostDevice> device) {
  InitializeNativeTarget();
  InitializeNativeTargetAsmPrinter();
  auto impl = std::make_unique<Impl>();
  impl->artifact = std::move(artifact);
  impl->device = std::move(device);
  auto jit = orc::LLJITBuilder().create();
  if (!jit)
    return jit.takeError();
  impl->jit = std::move(*jit);
  // A kernel calls functions of the C library: memcpy, and of libm the scalar
  // ones that a program asks for.
  auto process = orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(
      impl->jit->getDataLayout().getGlobalPrefix());
  if (!process)
    return process.takeError();
  impl->jit->getMainJITDylib().addGenerator(std::move(*process));
  auto object = MemoryBuffer::getMemBufferCopy(impl->artifact.object,
                                               "flashtile-kernels");
  if (Error error = impl->jit->addObjectFile(std::move(object)))
    return error;
  for (const KernelInfo &kernel : impl->artifact.kernels) {
    auto address = impl->jit->lookup(kernel.symbol);
    if (!address)
      return address.takeError();
    impl->functions[kernel.symbol] = address->toPtr<KernelFunction>();
  }
  return std::unique_ptr<HostPlan>(new HostPlan(std::move(impl)));
}

Expected<const KernelInfo *>
HostPlan::select(ArrayRef<LaunchArgument> arguments) const {
  if (Error error = checkArguments(impl->artifact.kernels.back(), arguments))
    return error;
  for (const KernelInfo &kernel : impl->artifact.kernels) {
    Error mismatch = checkVariant(kernel, arguments);
    if (!mismatch)
      return &kernel;
    // The last variant is the most general: its reason is the one to give.
    if (&kernel == &impl->artifact.kernels.back())
      return mismatch;
    consumeError(std::move(mismatch));
  }
  llvm_unreachable("a plan has kernels");
}

/// The extents of the grid, 1 where it has fewer than three, and the number of
/// programs.
static Expected<int64_t> evaluateGrid(const KernelInfo &kernel,
                                      ArrayRef<LaunchArgument> arguments,
                                      int64_t (&extents)[3]) {
  int64_t count = 1;
  for (size_t d = 0; d < 3; ++d) {
    extents[d] = 1;
    if (d >= kernel.grid.size())
      continue;
    auto extent = kernel.grid[d].evaluate([&](int64_t argument, int64_t dim) {
      return arguments[argument].sizes[dim];
    });
    if (!extent || MulOverflow(count, *extent, count))
      return createStringError("the grid of @" + kernel.symbol +
                               " has more programs than 64 bits can count");
    extents[d] = *extent;
  }
  return count;
}

/// The words of the kernel ABI.
static SmallVector<int64_t, 64> packWords(ArrayRef<LaunchArgument> arguments,
                                          ArrayRef<int64_t> extents) {
  SmallVector<int64_t, 64> words(extents);
  for (const LaunchArgument &argument : arguments) {
    if (!argument.isTensor) {
      words.push_back(static_cast<int64_t>(argument.bits));
      continue;
    }
    words.push_back(reinterpret_cast<intptr_t>(argument.data));
    append_range(words, argument.sizes);
    append_range(words, argument.strides);
  }
  return words;
}

Error HostPlan::launch(ArrayRef<LaunchArgument> arguments) const {
  Expected<const KernelInfo *> kernel = select(arguments);
  if (!kernel)
    return kernel.takeError();
  int64_t extents[3];
  Expected<int64_t> count = evaluateGrid(**kernel, arguments, extents);
  if (!count)
    return count.takeError();
  auto words = packWords(arguments, extents);
  KernelFunction function = impl->functions.lookup((*kernel)->symbol);
  bool ran = impl->device->run(
      *count, (*kernel)->scratchBytes, [&](int64_t index, void *scratch) {
        int64_t id0 = index % extents[0], rest = index / extents[0];
        function(id0, rest % extents[1], rest / extents[1], words.data(),
                 scratch);
      });
  if (!ran)
    return createStringError("cannot allocate " +
                             Twine((*kernel)->scratchBytes) +
                             " bytes of scratch for each of " +
                             Twine(impl->device->numThreads()) + " threads");
  return Error::success();
}
