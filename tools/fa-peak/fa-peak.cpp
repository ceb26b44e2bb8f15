//===- fa-peak.cpp - what this machine can do, beside which to measure ----===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// usage: fa-peak [threads] [rounds]
//
// Prints, as JSON, the median rate of all threads together:
//  - fma_f32: multiply-adds in registers, GFLOP/s;
//  - dot_bf16: AVX512_BF16's products of pairs, GFLOP/s, where there are any;
//  - read: bytes read in order from memory that no cache holds, GB/s.
//
//===----------------------------------------------------------------------===//

#include "Loops.h"

#include "fa/Launch/HostDevice.h"

#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/TargetSelect.h"

#include <chrono>
#include <thread>

using namespace llvm;
using namespace fa;

static ExitOnError check("fa-peak: error: ");

/// Runs `work` on each of `threads` at once and gives the seconds that the last
/// of them took.
static double timeTogether(unsigned threads,
                           const std::function<void(unsigned)> &work) {
  using Clock = std::chrono::steady_clock;
  Clock::time_point start = Clock::now();
  std::vector<std::thread> running;
  for (unsigned n = 0; n < threads; ++n)
    running.emplace_back(work, n);
  for (std::thread &thread : running)
    thread.join();
  return std::chrono::duration<double>(Clock::now() - start).count();
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
  double measure(const LoopWork &work, unsigned threads, unsigned rounds) {
    auto loop = check(jit->lookup(work.name)).toPtr<PeakLoop>();
    // Arithmetic needs few bytes; reads, more than the caches hold.
    bool reads = work.unit == "GB/s";
    size_t bytes = reads ? size_t(96) << 20 : 4096;
    int64_t trips = reads ? bytes / int64_t(work.perTrip) : 8000000;
    std::vector<std::vector<char>> data(threads, std::vector<char>(bytes, 1));
    std::vector<std::vector<char>> results(threads, std::vector<char>(4096));
    std::vector<double> rates;
    for (unsigned round = 0; round < rounds; ++round) {
      double seconds = timeTogether(threads, [&](unsigned n) {
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
  InitializeNativeTarget();
  InitializeNativeTargetAsmPrinter();
  HostInfo host = check(getHostInfo("host"));
  Machine machine(host);
  json::Object report{{"threads", threads}, {"cpu", host.cpu}};
  for (const LoopWork &work : machine.works)
    report[work.name] = machine.measure(work, threads, rounds);
  outs() << json::Value(std::move(report)) << "\n";
  return 0;
}
