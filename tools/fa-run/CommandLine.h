//===- CommandLine.h - the options of fa-run --------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_RUN_COMMANDLINE_H
#define FA_RUN_COMMANDLINE_H

#include "fa/Plan/Constraints.h"

#include "llvm/Support/CommandLine.h"

#include <memory>
#include <string>
#include <vector>

namespace fa::run {

namespace cl = llvm::cl;

/// The options. They are built after LLVM's own have left the registry: the
/// command line is fa-run's alone, and some of the names are the same.
struct CommandLine {
  cl::OptionCategory category{"fa-run options"};
  cl::opt<std::string> file{cl::Positional, cl::desc("[FILE.mlir|FILE.ttir]"),
                            cl::cat(category)};
  cl::opt<std::string> entry{"entry", cl::value_desc("name"),
                             cl::desc("program of the file to run"),
                             cl::cat(category)};
  cl::opt<std::string> attention{
      "attention", cl::value_desc("SPEC"),
      cl::desc("an attention problem: key[=value] separated by spaces"),
      cl::cat(category)};
  cl::opt<std::string> merge{
      "merge", cl::value_desc("SPEC"),
      cl::desc("parts of an attention that become one: key[=value] separated "
               "by spaces"),
      cl::cat(category)};
  cl::opt<std::string> append{
      "append", cl::value_desc("SPEC"),
      cl::desc("tokens that a cache is to keep: key[=value] separated by "
               "spaces"),
      cl::cat(category)};
  cl::opt<std::string> q{"q", cl::value_desc("F.npy"), cl::desc("queries"),
                         cl::cat(category)};
  cl::opt<std::string> k{"k", cl::value_desc("F.npy"), cl::desc("keys"),
                         cl::cat(category)};
  cl::opt<std::string> v{"v", cl::value_desc("F.npy"), cl::desc("values"),
                         cl::cat(category)};
  cl::opt<std::string> bias{"bias", cl::value_desc("F.npy"),
                            cl::desc("additive bias"), cl::cat(category)};
  cl::opt<std::string> slopes{"slopes", cl::value_desc("F.npy"),
                              cl::desc("ALiBi slopes, f32 [hq]"),
                              cl::cat(category)};
  cl::opt<std::string> lengths{"lengths", cl::value_desc("F.npy"),
                               cl::desc("valid keys, int32 [b]"),
                               cl::cat(category)};
  cl::opt<std::string> documents{
      "documents", cl::value_desc("F.npy"),
      cl::desc("ascending document boundaries, int32 [b, n+1]"),
      cl::cat(category)};
  cl::opt<std::string> sink{"sink", cl::value_desc("F.npy"),
                            cl::desc("one more score a head, f32 [hq]"),
                            cl::cat(category)};
  cl::opt<std::string> rng{"rng", cl::value_desc("F.npy"),
                           cl::desc("seed and offset of dropout, int64 [2]"),
                           cl::cat(category)};
  cl::opt<std::string> offsets{
      "offsets", cl::value_desc("F.npy"),
      cl::desc("where packed sequences of queries begin, int32 [b+1]"),
      cl::cat(category)};
  cl::opt<std::string> keyOffsets{
      "key-offsets", cl::value_desc("F.npy"),
      cl::desc("where packed sequences of keys begin, int32 [b+1]"),
      cl::cat(category)};
  cl::opt<std::string> table{
      "table", cl::value_desc("F.npy"),
      cl::desc("the pages of each sequence, int32 [b, m], with 'page'"),
      cl::cat(category)};
  cl::opt<std::string> qScale{
      "q-scale", cl::value_desc("F.npy"),
      cl::desc("what queries are multiplied with, f32 [b, hkv], with "
               "'type=f8e4m3'"),
      cl::cat(category)};
  cl::opt<std::string> kScale{
      "k-scale", cl::value_desc("F.npy"),
      cl::desc("what keys are multiplied with, f32 [b, hkv], with 'kv'; with "
               "'scale-keys=N' f32 [b, hkv, n], each for N keys"),
      cl::cat(category)};
  cl::opt<std::string> vScale{"v-scale", cl::value_desc("F.npy"),
                              cl::desc("the same of values"),
                              cl::cat(category)};
  cl::opt<std::string> draft{
      "draft", cl::value_desc("F.npy"),
      cl::desc("which of the last sq keys each query sees, in bits, uint32 or "
               "int32 [b, sq, words], packed [tq, words], with 'draft'"),
      cl::cat(category)};
  cl::opt<bool> assumeNoEmptyRows{
      "assume-no-empty-rows",
      cl::desc("every row keeps a key: finite sentinels are masks"),
      cl::cat(category)};
  cl::opt<bool> allowNoMax{
      "allow-no-max",
      cl::desc("exp(x) divided by its sum is a softmax as well"),
      cl::cat(category)};
  cl::list<std::string> in{"in", cl::value_desc("F.npy|SIZES|number"),
                           cl::desc("an input, in argument order"),
                           cl::cat(category)};
  cl::opt<std::string> grid{
      "grid", cl::value_desc("X[xYxZ]"),
      cl::desc("programs of a launch of a .ttir file's kernel"),
      cl::cat(category)};
  cl::opt<Raise> raise{
      "raise", cl::desc("a .ttir file's kernel that is attention runs as one:"),
      cl::values(clEnumValN(Raise::Auto, "auto", "where the launch allows it"),
                 clEnumValN(Raise::Off, "off", "never"),
                 clEnumValN(Raise::Only, "only", "else it is an error")),
      cl::init(Raise::Auto), cl::cat(category)};
  cl::list<std::string> out{"out", cl::value_desc("F.npy"),
                            cl::desc("an output, in result order"),
                            cl::cat(category)};
  cl::opt<std::string> lse{"lse", cl::value_desc("F.npy"),
                           cl::desc("write the log-sum-exp"),
                           cl::cat(category)};
  cl::opt<std::string> dout{"dout", cl::value_desc("F.npy"),
                            cl::desc("gradient of the output, an input of "
                                     "'backward'"),
                            cl::cat(category)};
  cl::opt<std::string> dlse{"dlse", cl::value_desc("F.npy"),
                            cl::desc("gradient of the log-sum-exp, an input "
                                     "of 'backward dlse'"),
                            cl::cat(category)};
  cl::opt<std::string> forwardOut{
      "forward-out", cl::value_desc("F.npy"),
      cl::desc("the forward's output, an input of 'backward'"),
      cl::cat(category)};
  cl::opt<std::string> forwardLse{
      "forward-lse", cl::value_desc("F.npy"),
      cl::desc("the forward's log-sum-exp, an input of 'backward'"),
      cl::cat(category)};
  cl::opt<std::string> dq{"dq", cl::value_desc("F.npy"),
                          cl::desc("write the gradient of q"),
                          cl::cat(category)};
  cl::opt<std::string> dk{"dk", cl::value_desc("F.npy"),
                          cl::desc("write the gradient of k"),
                          cl::cat(category)};
  cl::opt<std::string> dv{"dv", cl::value_desc("F.npy"),
                          cl::desc("write the gradient of v"),
                          cl::cat(category)};
  cl::opt<std::string> dbias{"dbias", cl::value_desc("F.npy"),
                             cl::desc("write the gradient of the bias"),
                             cl::cat(category)};
  cl::opt<std::string> dslopes{"dslopes", cl::value_desc("F.npy"),
                               cl::desc("write the gradient of the slopes"),
                               cl::cat(category)};
  cl::opt<std::string> dsink{"dsink", cl::value_desc("F.npy"),
                             cl::desc("write the gradient of the sink"),
                             cl::cat(category)};
  cl::opt<std::string> dscale{
      "dscale", cl::value_desc("F.npy"),
      cl::desc("write the gradient of the scale, f32 [1]"), cl::cat(category)};
  cl::opt<std::string> target{
      "target",
      cl::desc("where to run: cpu, cuda, cuda:N, hip, hip:N or emulator:ARCH "
               "(default: the best present)"),
      cl::cat(category)};
  cl::opt<std::string> arch{
      "arch", cl::init("host"),
      cl::desc("what --emit is for: host, a CPU that LLVM knows, sm_80, "
               "sm_86, sm_89, sm_90, sm_90a, gfx90a, gfx942 or gfx950; several "
               "with commas between for a bundle"),
      cl::cat(category)};
  cl::opt<std::string> hostCpu{
      "host-cpu", cl::init("host"), cl::value_desc("NAME"),
      cl::desc("the CPU that code which runs on this machine is for, the "
               "emulator's, too: a CPU that LLVM knows, such as x86-64-v3, "
               "whose features this machine has (default: this one)"),
      cl::cat(category)};
  cl::opt<unsigned> threads{"threads", cl::init(0),
                            cl::desc("worker threads (0: all cores)"),
                            cl::cat(category)};
  cl::opt<uint64_t> seed{"seed", cl::init(0), cl::desc("of random inputs"),
                         cl::cat(category)};
  cl::opt<std::string> emit{
      "emit", cl::value_desc("form"),
      cl::desc(
          "tile, kernel, plan, tgpu, llvm, asm, object, ptx, cubin, hsaco, "
          "report, cache-key or bundle instead of a run"),
      cl::cat(category)};
  cl::opt<bool> launch{
      "launch",
      cl::desc("with --emit of code: the kernels that a launch of the SPEC's "
               "sizes takes on the largest card of --arch, and no others"),
      cl::cat(category)};
  cl::list<std::string> kernels{
      "kernels", cl::CommaSeparated, cl::value_desc("NAME,..."),
      cl::desc("with --emit of code: these kernels and no others"),
      cl::cat(category)};
  cl::opt<std::string> output{
      "o", cl::value_desc("F"),
      cl::desc("where --emit writes (default: standard output; a "
               "bundle's folder)"),
      cl::cat(category)};
  cl::opt<bool> check{"check", cl::desc("compare with the float64 reference"),
                      cl::cat(category)};
  cl::opt<bool> bench{"bench", cl::desc("measure over several runs"),
                      cl::cat(category)};
  cl::opt<bool> counters{
      "counters",
      cl::desc("in the emulator: count memory requests and matrix products"),
      cl::cat(category)};
  cl::opt<bool> listTargets{"list-targets", cl::desc("say what can be run on"),
                            cl::cat(category)};
  cl::opt<std::string> json{"json", cl::ValueOptional, cl::value_desc("F"),
                            cl::desc("report as JSON"), cl::cat(category)};
  /// What is asked of plans, an option a word.
  std::vector<std::unique_ptr<cl::opt<std::string>>> asked = [this] {
    std::vector<std::unique_ptr<cl::opt<std::string>>> options;
    for (const ConstraintWord &word : constraintWords())
      options.push_back(std::make_unique<cl::opt<std::string>>(
          llvm::StringRef(word.key), cl::value_desc(word.value),
          cl::desc(word.meaning), cl::cat(category)));
    return options;
  }();
  cl::opt<int64_t> dies{
      "dies", cl::init(0),
      cl::desc("dies of an AMD card (0: the card's, or of the "
               "largest of the architecture)"),
      cl::cat(category)};
  cl::opt<std::string> plan{
      "plan", cl::value_desc("F"),
      cl::desc(
          "schedules of kernels of a GPU that are given, not chosen: lines "
          "as --emit=plan prints them"),
      cl::cat(category)};
  cl::opt<std::string> ptxas{
      "ptxas", cl::value_desc("path|none"),
      cl::desc("NVIDIA's assembler (default: the one on PATH; none: the "
               "driver's)"),
      cl::cat(category)};
  cl::opt<std::string> mutate{
      "fa-mutate", cl::value_desc("fault"),
      cl::desc("plant a fault in a GPU program, to see it found"),
      cl::cat(category)};
  cl::opt<bool> tune{
      "tune",
      cl::desc("measure which plans are the fastest "
               "for the problem, and write them into the table of --tuning"),
      cl::cat(category)};
  cl::opt<std::string> tuning{
      "tuning", cl::value_desc("F|off"),
      cl::desc("a tuning table, which --tune writes and runs read (default: "
               "tuning.json in the folder of --cache)"),
      cl::cat(category)};
  cl::opt<std::string> cache{
      "cache", cl::value_desc("DIR|off"),
      cl::desc("where compiled programs are kept (default: flashtile in "
               "$XDG_CACHE_HOME or ~/.cache)"),
      cl::cat(category)};
};

} // namespace fa::run

#endif // FA_RUN_COMMANDLINE_H
