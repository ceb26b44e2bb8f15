//===- fa-bundle-bench.cpp - bundles of attention, timed in turns ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// usage: fa-bundle-bench B HQ HKV SQ SK D DV BUNDLE...
//
// Launches the attention of each bundle (16-bit q, k, v, a scale, an output) on
// the same inputs on card 0, in turns, and prints the median of single launches
// between two events, TFLOP/s as of a full mask, and how far the output is from
// that of the first bundle. Needs the driver, no compiler and no LLVM: what was
// built elsewhere can be compared where the card is.
//
//===----------------------------------------------------------------------===//

#include "fa/Launch/GpuDevice.h"
#include "fa/bundle.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <optional>
#include <random>
#include <string>
#include <vector>

using namespace fa;

namespace {

[[noreturn]] void die(const std::string &message) {
  std::fprintf(stderr, "fa-bundle-bench: error: %s\n", message.c_str());
  std::exit(2);
}

/// bf16 of a normal distribution: the bits of f32, cut. A million values, again
/// and again: more would take the host longer than the card takes for all else.
std::vector<uint16_t> randomTensor(size_t count, unsigned seed) {
  constexpr size_t period = 1000003; // a prime: rows and heads differ
  std::mt19937 engine(seed);
  std::normal_distribution<float> normal;
  std::vector<uint16_t> values(count);
  for (size_t n = 0; n < count; ++n)
    values[n] = n < period ? static_cast<uint16_t>(
                                 std::bit_cast<uint32_t>(normal(engine)) >> 16)
                           : values[n - period];
  return values;
}

/// What of the driver captures launches into a graph (CUDA Driver API, "Stream
/// Management" and "Graph Management"); a launch needs none of it.
class Capture {
public:
  explicit Capture(const GpuDriver &cuda) : cuda(cuda) {
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    auto find = [&](auto &function, const char *name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(
          library ? dlsym(library, name) : nullptr);
      if (!function)
        die(std::string("the driver has no ") + name);
    };
    find(streamCreate, "cuStreamCreate");
    find(begin, "cuStreamBeginCapture_v2");
    find(end, "cuStreamEndCapture");
    find(instantiate, "cuGraphInstantiateWithFlags");
    find(launch, "cuGraphLaunch");
    check(streamCreate(&stream, /*CU_STREAM_NON_BLOCKING=*/1),
          "cuStreamCreate");
  }

  /// Captures what `enqueue` puts on the stream, and runs it twice.
  template <typename Enqueue> void replay(Enqueue enqueue) {
    check(begin(stream, /*CU_STREAM_CAPTURE_MODE_GLOBAL=*/0),
          "cuStreamBeginCapture");
    enqueue(stream);
    void *graph = nullptr, *executable = nullptr;
    check(end(stream, &graph), "cuStreamEndCapture");
    check(instantiate(&executable, graph, 0), "cuGraphInstantiate");
    check(launch(executable, stream), "cuGraphLaunch");
    check(launch(executable, stream), "cuGraphLaunch");
    check(cuda.StreamSynchronize(stream), "cuStreamSynchronize");
  }

private:
  void check(int status, const char *what) {
    if (Failure failure = cuda.check(status, what))
      die(failure.message());
  }

  const GpuDriver &cuda;
  int (*streamCreate)(void **, unsigned);
  int (*begin)(void *, int);
  int (*end)(void *, void **);
  int (*instantiate)(void **, void *, unsigned long long);
  int (*launch)(void *, void *);
  void *stream = nullptr;
};

class Bench {
public:
  explicit Bench(const std::array<int64_t, 7> &sizes) {
    auto [b, hq, hkv, sq, sk, d, dv] = sizes;
    shapes = {
        {{b, hq, sq, d}, {b, hkv, sk, d}, {b, hkv, sk, dv}, {b, hq, sq, dv}}};
    flops = 2.0 * double(b * hq) * double(sq) * double(sk) * double(d + dv);
    scale = float(1 / std::sqrt(double(d)));
    auto opened = GpuDevice::open(DriverKind::Cuda, 0);
    if (!opened)
      die(opened.takeFailure().message());
    device = std::move(*opened);
    // For good: this program has nothing else to do.
    current.emplace(*device);
    for (size_t n = 0; n < 4; ++n) {
      auto values = randomTensor(count(n), unsigned(n));
      check(cuda().MemAlloc(&memory[n], 2 * values.size()), "cuMemAlloc");
      check(cuda().MemcpyHtoD(memory[n], values.data(), 2 * values.size()),
            "cuMemcpyHtoD");
    }
    for (void *&event : events)
      check(cuda().EventCreate(&event, 0), "cuEventCreate");
  }

  void add(const char *path) {
    faBundle bundle = nullptr;
    faBundlePlan plan = nullptr;
    faBundleOptions options = {};
    options.size = sizeof(options);
    if (faBundleOpen(path, &bundle) || faBundlePrepare(bundle, &options, &plan))
      die(path + std::string(": ") + faBundleGetLastErrorMessage());
    Entry &entry = plans.emplace_back();
    entry.path = path;
    entry.plan = plan;
    entry.info.size = sizeof entry.info;
    Arguments arguments(*this);
    if (faBundlePlanGetLaunchInfo(plan, arguments.data, 5, &entry.info))
      die(path + std::string(": ") + faBundleGetLastErrorMessage());
    if (entry.info.workspaceSize)
      check(cuda().MemAlloc(&entry.workspace, entry.info.workspaceSize),
            "cuMemAlloc");
  }

  void run(int rounds, int launches) {
    for (int round = 0; round < rounds; ++round)
      for (Entry &entry : plans)
        for (int n = 0; n < launches; ++n)
          entry.times.push_back(launch(entry));
    for (Entry &entry : plans) {
      launch(entry);
      entry.output.resize(count(3));
      check(cuda().MemcpyDtoH(entry.output.data(), memory[3],
                              2 * entry.output.size()),
            "cuMemcpyDtoH");
    }
  }

  /// Each plan once more, captured into a graph: its output must be the same,
  /// bit by bit.
  void checkCapture() {
    Capture capture(cuda());
    for (Entry &entry : plans) {
      std::vector<uint16_t> output(count(3));
      check(cuda().MemcpyHtoD(memory[3], output.data(), 2 * output.size()),
            "cuMemcpyHtoD");
      check(cuda().CtxSynchronize(), "cuCtxSynchronize");
      capture.replay([&](void *stream) { enqueue(entry, stream); });
      check(cuda().MemcpyDtoH(output.data(), memory[3], 2 * output.size()),
            "cuMemcpyDtoH");
      bool same = output == entry.output;
      std::printf("%-32s in a graph: %s\n", entry.path,
                  same ? "the same bits" : "OTHER BITS");
      allSame &= same;
    }
  }

  bool hasSameBits() const { return allSame; }

  void print() {
    for (Entry &entry : plans) {
      std::sort(entry.times.begin(), entry.times.end());
      double median = entry.times[entry.times.size() / 2];
      std::printf("%-32s %9.3f us %8.1f TFLOP/s %7.1f GB/s  %lld splits  "
                  "ratio %.3f  differs by %g\n",
                  entry.path, median * 1e3, flops / median / 1e9,
                  2e-6 * double(count(1) + count(2)) / median,
                  static_cast<long long>(entry.info.splits),
                  plans[0].times[plans[0].times.size() / 2] / median,
                  distance(entry));
    }
  }

private:
  struct Entry {
    const char *path;
    faBundlePlan plan;
    faLaunchInfo info = {};
    GpuDriver::Pointer workspace = 0;
    std::vector<float> times; ///< milliseconds
    std::vector<uint16_t> output;
  };

  const GpuDriver &cuda() const { return device->driver(); }

  void check(int status, const char *what) {
    if (Failure failure = cuda().check(status, what))
      die(failure.message());
  }

  size_t count(size_t n) const {
    size_t product = 1;
    for (int64_t size : shapes[n])
      product *= size_t(size);
    return product;
  }

  /// q, k, v, the scale, the output.
  struct Arguments {
    explicit Arguments(const Bench &bench) {
      for (size_t n = 0; n < 5; ++n) {
        if (n == 3) {
          data[n].f32 = bench.scale;
          continue;
        }
        size_t tensor = n == 4 ? 3 : n;
        data[n].isTensor = 1;
        data[n].type = FA_BF16;
        // The driver names memory by numbers.
        // NOLINTNEXTLINE(performance-no-int-to-ptr)
        data[n].data = reinterpret_cast<void *>(bench.memory[tensor]);
        data[n].rank = 4;
        data[n].sizes = bench.shapes[tensor].data();
      }
    }
    faArgument data[5] = {};
  };

  void enqueue(const Entry &entry, void *stream) {
    Arguments arguments(*this);
    faLaunchOptions options = {};
    options.size = sizeof options;
    options.stream = stream;
    // As above.
    // NOLINTNEXTLINE(performance-no-int-to-ptr)
    options.workspace = reinterpret_cast<void *>(entry.workspace);
    options.workspaceSize = entry.info.workspaceSize;
    if (faBundlePlanLaunchWith(entry.plan, &options, arguments.data, 5))
      die(faBundleGetLastErrorMessage());
  }

  float launch(const Entry &entry) {
    check(cuda().EventRecord(events[0], nullptr), "cuEventRecord");
    enqueue(entry, nullptr);
    check(cuda().EventRecord(events[1], nullptr), "cuEventRecord");
    check(cuda().EventSynchronize(events[1]), "cuEventSynchronize");
    float time = 0;
    check(cuda().EventElapsedTime(&time, events[0], events[1]),
          "cuEventElapsedTime");
    return time;
  }

  double distance(const Entry &entry) const {
    auto value = [](uint16_t bits) {
      return std::bit_cast<float>(uint32_t(bits) << 16);
    };
    double most = 0;
    for (size_t n = 0; n < entry.output.size(); ++n) {
      double found =
          std::abs(value(entry.output[n]) - value(plans[0].output[n]));
      if (std::isnan(found)) // which std::max would pass over
        return found;
      most = std::max(most, found);
    }
    return most;
  }

  std::array<std::array<int64_t, 4>, 4> shapes;
  double flops;
  float scale;
  std::shared_ptr<GpuDevice> device;
  std::optional<GpuDevice::Current> current;
  GpuDriver::Pointer memory[4] = {};
  void *events[2] = {};
  std::vector<Entry> plans;
  bool allSame = true;
};

} // namespace

int main(int argc, char **argv) {
  if (argc < 9)
    die("expected B HQ HKV SQ SK D DV BUNDLE...");
  std::array<int64_t, 7> sizes;
  for (size_t n = 0; n < sizes.size(); ++n) {
    char *end = nullptr;
    sizes[n] = std::strtoll(argv[1 + n], &end, 10);
    if (*end || sizes[n] < 1)
      die(std::string("expected a size, found '") + argv[1 + n] + "'");
  }
  Bench bench(sizes);
  for (int n = 8; n < argc; ++n)
    bench.add(argv[n]);
  bench.run(/*rounds=*/8, /*launches=*/12);
  bench.print();
  bench.checkCapture();
  return bench.hasSameBits() ? 0 : 1;
}
