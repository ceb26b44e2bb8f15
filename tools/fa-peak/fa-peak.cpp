//===- fa-peak.cpp - what this machine can do, beside which to measure ----===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// usage: fa-peak [threads] [rounds] [cpu-time]
//
// Prints, as JSON, the median rate of all threads together, of the seconds that
// passed or, with cpu-time, of those that the threads computed:
//  - fma_f32: multiply-adds in registers, GFLOP/s;
//  - dot_bf16: AVX512_BF16's products of pairs, GFLOP/s, where there are any;
//  - tile_bf16: AMX's products of tiles of bf16, GFLOP/s, where there are any;
//  - read: bytes read in order from memory that no cache holds, GB/s.
//
//===----------------------------------------------------------------------===//

#include "Loops.h"

#include "fa/Launch/HostDevice.h"

#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/TargetSelect.h"

#include <ctime>
#include <sched.h>
#include <thread>

using namespace llvm;
using namespace fa;

static ExitOnError check("fa-peak: error: ");

/// Seconds on a clock that runs or, with `cpuTime`, of the process.
static double now(bool cpuTime) {
  timespec time;
  clock_gettime(cpuTime ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &time);
  return double(time.tv_sec) + 1e-9 * double(time.tv_nsec);
}

/// Keeps this thread on the `n`-th core that the process may use: a kernel may
/// leave new threads on one core for longer than a round takes.
static void stayOnCore(unsigned n) {
  cpu_set_t usable, one;
  if (sched_getaffinity(0, sizeof usable, &usable))
    return;
  n %= CPU_COUNT(&usable);
  unsigned core = 0;
  while (!CPU_ISSET(core, &usable) || n--)
    ++core;
  CPU_ZERO(&one);
  CPU_SET(core, &one);
  sched_setaffinity(0, sizeof one, &one);
}

/// Runs `work` on each of `threads` at once and gives the seconds until the
/// last of them ended, or those of one of them on average.
static double timeTogether(unsigned threads, bool cpuTime,
                           const std::function<void(unsigned)> &work) {
  double start = now(cpuTime);
  std::vector<std::thread> running;
  running.reserve(threads);
  for (unsigned n = 0; n < threads; ++n)
    running.emplace_back([&work, n] {
      stayOnCore(n);
      work(n);
    });
  for (std::thread &thread : running)
    thread.join();
  return (now(cpuTime) - start) / (cpuTime ? threads : 1);
}

static double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

namespace {

/// The loops, compiled for this machine.
class Machine {
public:
  explicit Machine(const HostInfo &host) {
    auto context = std::make_unique<LLVMContext>();
    auto module = std::make_unique<Module>("peaks", *context);
    works.push_back(buildMultiplyAdds(*module, host));
    if (host.pairDots)
      works.push_back(buildPairDots(*module, host));
    if (host.tileDots)
      works.push_back(buildTileProducts(*module));
    works.push_back(buildReads(*module, host));
    for (Function &function : *module)
      function.addFnAttr("prefer-vector-width",
                         std::to_string(host.vectorBits));
    auto target = check(orc::JITTargetMachineBuilder::detectHost());
    jit = check(orc::LLJITBuilder()
                    .setJITTargetMachineBuilder(std::move(target))
                    .create());
    check(jit->addIRModule({std::move(module), std::move(context)}));
  }

  /// Rates in units of 1e9 a second.
  double measure(const LoopWork &work, unsigned threads, unsigned rounds,
                 bool cpuTime) {
    auto loop = check(jit->lookup(work.name)).toPtr<PeakLoop>();
    // Arithmetic needs few bytes; reads, more than the caches hold.
    bool reads = work.unit == "GB/s";
    size_t bytes = reads ? size_t(96) << 20 : 4096;
    int64_t trips = reads ? bytes / int64_t(work.perTrip) : 8000000;
    std::vector<std::vector<char>> data(threads, std::vector<char>(bytes, 1));
    std::vector<std::vector<char>> results(threads, std::vector<char>(4096));
    std::vector<double> rates;
    for (unsigned round = 0; round < rounds; ++round) {
      double seconds = timeTogether(threads, cpuTime, [&](unsigned n) {
        loop(data[n].data(), results[n].data(), trips);
      });
      rates.push_back(work.perTrip * double(trips) * threads / seconds / 1e9);
    }
    return median(rates);
  }

  std::vector<LoopWork> works;

private:
  std::unique_ptr<orc::LLJIT> jit;
};

} // namespace

/// Argument `n`, a number of at least 1, or `otherwise` if it is not given.
static unsigned number(ArrayRef<char *> arguments, size_t n,
                       unsigned otherwise) {
  unsigned value = 0;
  if (n >= arguments.size())
    return otherwise;
  if (StringRef(arguments[n]).getAsInteger(10, value) || value == 0)
    check(createStringError("expected a number of threads and one of rounds, "
                            "found '" +
                            Twine(arguments[n]) + "'"));
  return value;
}

int main(int argc, char **argv) {
  ArrayRef arguments(argv, argc);
  unsigned threads = number(arguments, 1, HostDevice(0).numThreads());
  unsigned rounds = number(arguments, 2, 5);
  bool cpuTime = argc > 3;
  if (cpuTime && StringRef(argv[3]) != "cpu-time")
    check(createStringError("expected 'cpu-time' after threads and rounds, "
                            "found '" +
                            Twine(argv[3]) + "'"));
  InitializeNativeTarget();
  InitializeNativeTargetAsmPrinter();
  HostInfo host = check(getHostInfo("host"));
  Machine machine(host);
  json::Object report{{"threads", threads}, {"cpu", host.cpu}};
  for (const LoopWork &work : machine.works)
    report[work.name] = machine.measure(work, threads, rounds, cpuTime);
  outs() << json::Value(std::move(report)) << "\n";
  return 0;
}
