//===- fa-matrix.cpp - many attention problems against the reference ------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// fa-matrix [--mutate=FAULT] [--target=TARGET] [--without=WORD]
//           [--threads=N] [--part=K/N] FILE
// fa-matrix ... --line=LINE
// fa-matrix ... --random=COUNT [--seed=SEED]
//
// TARGET is cpu, cpu:NAME (code for a CPU that LLVM knows, of which this
// machine has all features), cuda, hip (the first card) or emulator:ARCH; lines
// with WORD are left out; of N parts the K-th runs. Each line of FILE is a SPEC
// of fa-run with alternatives, `sq={1|64|239}`, which are all combined, and
// with words of its own:
//   gaps      strides with gaps, NaN in between, which must stay
//   shifted   bases that are only aligned to an element
//   poison    NaN and infinities in K and V beyond the lengths
//   logits=X  queries multiplied by X
//   values=X  values multiplied by X
//   fill=X    the bias is X in every second element
//   far       heads that lie more than 2^31 elements apart
//   repeat=N  N more launches, which must give the same bits
//   splits=N  of the keys where queries are few
// --random draws problems of all features instead. Every output is full of NaN
// before the launch. Each problem prints a line as it ends, and a failure the
// call that gives it again; the last line counts them. With a
// fault planted in the kernel (those of Mutate.h and, of GPU programs, of
// tgpu-mutate), failures are expected: that is how the harness itself is
// tested.
//
//===----------------------------------------------------------------------===//

#include "Mutate.h"

#include "fa/Conversion/TileToHost.h"
#include "fa/Emulator/Passes.h"
#include "fa/Frontend/BuildAttention.h"
#include "fa/Numerics/ErrorRule.h"
#include "fa/Runtime/AttentionArguments.h"
#include "fa/Runtime/EmulatorPlan.h"
#include "fa/Runtime/GpuPlan.h"
#include "fa/Target/Compile.h"
#include "fa/Target/GpuInfo.h"
#include "fa/Target/NvidiaInfo.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Support/xxhash.h"

#include <cmath>
#include <limits>
#include <random>

using namespace llvm;
using namespace fa;

namespace {

struct Case {
  std::string line;
  AttentionProblem problem;
  bool gaps = false, shifted = false, poison = false, far = false;
  int64_t repeat = 0, splits = 0;
  double logits = 1, values = 1;
  std::optional<double> fill;
};

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

} // namespace

//===----------------------------------------------------------------------===//
// Lines
//===----------------------------------------------------------------------===//

/// Expands the first {a|b|c} of `line` and the rest of it recursively.
static void expand(StringRef line, std::vector<std::string> &lines) {
  size_t open = line.find('{'), close = line.find('}', open);
  if (open == StringRef::npos || close == StringRef::npos) {
    lines.push_back(line.str());
    return;
  }
  SmallVector<StringRef> choices;
  line.slice(open + 1, close).split(choices, '|');
  for (StringRef choice : choices)
    expand((line.take_front(open) + choice + line.drop_front(close + 1)).str(),
           lines);
}

static Expected<Case> parseCase(StringRef line) {
  Case result;
  result.line = line.str();
  std::string spec;
  SmallVector<StringRef> words;
  line.split(words, ' ', -1, /*KeepEmpty=*/false);
  for (StringRef word : words) {
    auto [key, value] = word.split('=');
    double number = 0;
    if (key == "gaps")
      result.gaps = true;
    else if (key == "shifted")
      result.shifted = true;
    else if (key == "poison")
      result.poison = true;
    else if (key == "far")
      result.far = true;
    else if (key == "repeat" && !value.getAsInteger(10, result.repeat))
      continue;
    else if (key == "splits" && !value.getAsInteger(10, result.splits))
      continue;
    else if (key == "logits" && !value.getAsDouble(number))
      result.logits = number;
    else if (key == "values" && !value.getAsDouble(number))
      result.values = number;
    else if (key == "fill" && value == "-inf")
      result.fill = -std::numeric_limits<double>::infinity();
    else if (key == "fill" && !value.getAsDouble(number))
      result.fill = number;
    else
      spec += (word + " ").str();
  }
  auto parsed = parseAttentionSpec(spec);
  if (!parsed)
    return parsed.takeError();
  result.problem = parsed->problem;
  return result;
}

/// A random problem as a line.
static std::string randomLine(std::mt19937 &random) {
  auto draw = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  auto oneOf = [&](std::initializer_list<const char *> words) {
    return std::string(words.begin()[draw(0, words.size() - 1)]);
  };
  auto chance = [&](int64_t in, const std::string &word) {
    return draw(1, in) == 1 ? " " + word : std::string();
  };
  int64_t hkv = draw(1, 3), group = draw(1, 4);
  int64_t dim =
      oneOf({"8", "16", "40", "59", "64", "96"}) == "64" ? 64 : draw(1, 80);
  std::string line =
      "b=" + std::to_string(draw(1, 3)) + " hq=" + std::to_string(hkv * group) +
      " hkv=" + std::to_string(hkv) +
      " sq=" + std::to_string(draw(0, 2) ? draw(1, 300) : 1) +
      " sk=" + std::to_string(draw(0, 400)) + " d=" + std::to_string(dim) +
      " dv=" + std::to_string(draw(0, 2) ? dim : draw(1, 80)) +
      " type=" + oneOf({"f32", "f16", "bf16"}) + " lse";
  line += chance(3, "causal=" + oneOf({"top-left", "bottom-right"}));
  line += chance(4, "window=" + std::to_string(draw(-1, 100)) + "," +
                        std::to_string(draw(-1, 100)));
  line += chance(5, "prefix=" + std::to_string(draw(0, 200)));
  line += chance(5, "documents") + chance(4, "lengths") + chance(5, "alibi");
  line += chance(5, "softcap=" + oneOf({"15", "50"})) + chance(6, "sink");
  line += chance(4, "bias=" + oneOf({"b", "1"}) + oneOf({"h", "1"}) +
                        oneOf({"q", "1"}) + oneOf({"k", "1"}));
  line += chance(5, "layout=bshd") + chance(3, "gaps") + chance(3, "shifted");
  return line + chance(2, "poison");
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

namespace {

/// A tensor inside a larger one whose other elements are NaN.
struct Guarded {
  HostTensor whole, inner;
  bool far = false;

  /// Whether everything outside `inner` is NaN still: `inner` is overwritten
  /// with NaN for the comparison.
  bool isIntact() {
    if (far) // too much to look at
      return true;
    inner.fill(kNaN);
    bool intact = true;
    whole.forEach(
        [&](char *p) { intact &= std::isnan(loadElement(p, whole.type())); });
    return intact;
  }
};

} // namespace

/// A tensor of `sizes`, [b, h, ...], full of NaN, its heads far apart. The
/// memory between them is never touched, so it costs nothing.
static Expected<Guarded> makeFar(ElementType type, ArrayRef<int64_t> sizes) {
  constexpr int64_t distance = (int64_t(1) << 31) + 64;
  SmallVector<int64_t, 4> strides = contiguousStrides(sizes);
  strides[1] = distance;
  strides[0] = distance * sizes[1];
  auto whole = HostTensor::create(type, {distance * sizes[0] * sizes[1]});
  if (!whole)
    return whole.takeError();
  HostTensor inner = whole->view(sizes, strides);
  inner.fill(kNaN);
  return Guarded{*whole, inner, /*far=*/true};
}

/// Memory for a tensor of `sizes`, with gaps after each dimension and one
/// element before if the case asks for that. Dimensions of size 1 get a stride
/// that would leave the memory.
static Expected<Guarded> makeGuarded(const Case &c, ElementType type,
                                     ArrayRef<int64_t> sizes) {
  if (c.far)
    return makeFar(type, sizes);
  SmallVector<int64_t, 4> outer(sizes);
  if (c.gaps)
    for (auto [d, size] : enumerate(outer))
      size += d + 1 == outer.size() ? 3 : 1;
  int64_t margin = c.shifted ? 1 : 0;
  int64_t elements = margin;
  HostTensor shape;
  SmallVector<int64_t, 4> strides = contiguousStrides(outer);
  int64_t count = 1;
  for (int64_t size : outer)
    count *= size;
  auto whole = HostTensor::create(type, {elements + count});
  if (!whole)
    return whole.takeError();
  whole->fill(kNaN);
  if (c.gaps)
    for (auto [size, stride] : zip(sizes, strides))
      if (size == 1)
        stride = 123456789;
  return Guarded{*whole, whole->view(sizes, strides, margin)};
}

/// A copy of `tensor` as the case wants it in memory.
static Expected<HostTensor> place(const Case &c, const HostTensor &tensor) {
  if (!c.gaps && !c.shifted && !c.far)
    return tensor;
  auto guarded = makeGuarded(c, tensor.type(), tensor.sizes());
  if (!guarded)
    return guarded.takeError();
  std::vector<double> values = tensor.toDoubles();
  size_t next = 0;
  guarded->inner.forEach(
      [&](char *p) { storeElement(p, tensor.type(), values[next++]); });
  return guarded->inner;
}

/// NaN and infinities in K and V at the keys beyond each length.
static void poisonBeyondLengths(const AttentionProblem &p,
                                const AttentionInputs &in) {
  for (HostTensor tensor : {in.k, in.v})
    for (int64_t b = 0; b < p.batch; ++b)
      for (int64_t h = 0; h < p.numKvHeads; ++h)
        for (int64_t j = in.lengths->at({b}); j < p.seqKv; ++j)
          for (int64_t d = 0; d < tensor.sizes()[3]; ++d)
            tensor.set({b, h, j, d},
                       d % 2 ? kNaN : std::numeric_limits<double>::infinity());
}

static std::string bytesOf(const HostTensor &tensor) {
  std::string bytes;
  tensor.forEach([&](char *p) { bytes.append(p, byteSize(tensor.type())); });
  return bytes;
}

static Expected<AttentionInputs> makeInputs(const Case &c) {
  const AttentionProblem &p = c.problem;
  auto in = makeRandomInputs(p, /*seed=*/1);
  if (!in)
    return in;
  for (auto [tensor, factor] :
       {std::pair(&in->q, c.logits), std::pair(&in->v, c.values)})
    if (factor != 1)
      tensor->forEach([&](char *e) {
        storeElement(e, p.type, factor * loadElement(e, p.type));
      });
  if (c.fill && in->bias) {
    int64_t n = 0;
    in->bias->forEach([&](char *e) {
      if (n++ % 2)
        storeElement(e, p.type, *c.fill);
    });
  }
  if (c.poison && in->lengths)
    poisonBeyondLengths(p, *in);
  for (HostTensor *tensor : {&in->q, &in->k, &in->v}) {
    auto placed = place(c, *tensor);
    if (!placed)
      return placed.takeError();
    *tensor = *placed;
  }
  return in;
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

namespace {

/// A loaded program.
using Launch = std::function<Error(ArrayRef<LaunchArgument>)>;

/// Where the problems run.
struct Target {
  std::shared_ptr<GpuDevice> card; ///< null: on this machine's CPU
  std::string arch = "host";
  bool isEmulator = false;
};

class Runner {
public:
  Runner(StringRef fault, Target target, unsigned threads)
      : fault(fault), device(std::make_shared<HostDevice>(threads)),
        target(std::move(target)) {
    mlir::DialectRegistry registry;
    registerDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }

  /// What is wrong with the case's result; empty: nothing.
  Expected<std::string> run(const Case &c) {
    auto inputs = makeInputs(c);
    if (!inputs)
      return inputs.takeError();
    const AttentionProblem &p = c.problem;
    auto out =
        makeGuarded(c, p.type, {p.batch, p.numHeads, p.seqQ, p.headDimV});
    if (!out)
      return out.takeError();
    auto lse = makeGuarded(c, ElementType::F32, {p.batch, p.numHeads, p.seqQ});
    if (!lse)
      return lse.takeError();
    auto arguments =
        makeArguments(p, *inputs, out->inner, p.lse ? &lse->inner : nullptr);
    if (!arguments)
      return arguments.takeError();
    auto plan = getPlan(c.problem, c.splits, *arguments);
    if (!plan)
      return plan.takeError();
    if (Error error = (*plan)(*arguments)) {
      // What the emulator finds is a failure of the program.
      if (target.isEmulator)
        return toString(std::move(error));
      return error;
    }
    std::string first = bytesOf(out->inner);
    for (int64_t n = 0; n < c.repeat; ++n) {
      if (Error error = (*plan)(*arguments))
        return error;
      if (bytesOf(out->inner) != first)
        return "launch " + std::to_string(n + 2) + " gave other bits";
    }
    return compare(p, *inputs, *out, *lse);
  }

private:
  Expected<std::string> compare(const AttentionProblem &p,
                                const AttentionInputs &inputs, Guarded &out,
                                Guarded &lse) {
    auto reference = referenceF64(p, inputs);
    if (!reference)
      return reference.takeError();
    auto e0 = unfused(p, inputs);
    if (!e0)
      return e0.takeError();
    std::vector<OutputCheck> checks = {checkForward(
        "out", out.inner, reference->out, e0->out, p.type, maxAbs(inputs.v))};
    if (p.lse)
      checks.push_back(checkLse("lse", lse.inner, reference->lse, e0->lse));
    for (const OutputCheck &check : checks)
      if (!check.pass)
        return check.name + " " + check.why;
    if (!out.isIntact() || !lse.isIntact())
      return std::string("memory between the rows of an output was written");
    return std::string();
  }

  /// A program's kernels, and plans by the kernels that they have.
  struct Program {
    std::vector<KernelInfo> kernels;
    StringMap<Launch> plans;
  };

  /// One compilation serves all lengths, batches and heads that the same
  /// kernels may run.
  Expected<Launch> getPlan(AttentionProblem p, int64_t splits,
                           ArrayRef<LaunchArgument> arguments) {
    p.batch = p.numHeads = p.numKvHeads = p.seqQ = p.seqKv = 1;
    p.scale = 1;
    p.layoutBshd = false;
    std::string name = p.str() + " splits=" + std::to_string(splits);
    Program &program = programs[name];
    if (program.kernels.empty()) {
      auto kernels = plan(p, splits);
      if (!kernels)
        return kernels.takeError();
      program.kernels = std::move(*kernels);
    }
    // A card gets copies, which are aligned as these are.
    PlannedLaunch planned{arguments, processors(),
                          target.card ? kMaxResidentBlocks : 1};
    auto wanted = toExpected(findCandidates(program.kernels, planned));
    if (!wanted)
      return wanted.takeError();
    Launch &launch = program.plans[join(*wanted, " ")];
    if (launch)
      return launch;
    auto artifact = compile(p, splits, *wanted);
    if (!artifact)
      return artifact.takeError();
    // What a GPU leaves open differs from program to program, not from run to
    // run.
    auto loaded = load(std::move(*artifact), xxh3_64bits(name));
    if (!loaded)
      return loaded.takeError();
    return launch = *loaded;
  }

  int64_t processors() const {
    if (target.card)
      return target.card->numProcessors();
    return target.isEmulator ? EmulatorPlan::numProcessors : kHost;
  }

  Expected<Launch> load(Artifact artifact, uint64_t seed) {
    using Arguments = ArrayRef<LaunchArgument>;
    if (target.card) {
      auto plan = GpuPlan::load(std::move(artifact), target.card);
      if (!plan)
        return plan.takeError();
      return [plan = std::shared_ptr(std::move(*plan))](Arguments arguments) {
        return plan->launchOnHostMemory(arguments);
      };
    }
    if (target.isEmulator) {
      auto plan =
          EmulatorPlan::load(std::move(artifact), device, {.seed = seed});
      if (!plan)
        return plan.takeError();
      return [plan = std::shared_ptr(std::move(*plan))](Arguments arguments) {
        return plan->launch(arguments).takeError();
      };
    }
    auto plan = HostPlan::load(std::move(artifact), device);
    if (!plan)
      return plan.takeError();
    return [plan = std::shared_ptr(std::move(*plan))](Arguments arguments) {
      return plan->launch(arguments);
    };
  }

  /// The program of `p` with the fault in it, and how to compile it.
  Expected<mlir::OwningOpRef<mlir::ModuleOp>>
  build(AttentionProblem p, int64_t splits, CompileOptions &options) {
    if (fault == "wrong-alignment" && p.causal != CausalKind::None)
      p.causal = p.causal == CausalKind::TopLeft ? CausalKind::BottomRight
                                                 : CausalKind::TopLeft;
    auto module = buildAttention(context, p);
    if (!module)
      return module;
    auto isGpuFault = isScheduleFault(fault);
    if (isGpuFault)
      options.mutate = fault;
    consumeError(isGpuFault.takeError());
    if (!fault.empty() && fault != "wrong-alignment" && options.mutate.empty())
      if (Error error = mutateKernels(**module, fault))
        return error;
    options.arch = target.arch;
    options.emulate = target.isEmulator;
    options.splits = splits;
    return module;
  }

  Expected<std::vector<KernelInfo>> plan(const AttentionProblem &p,
                                         int64_t splits) {
    CompileOptions options;
    auto module = build(p, splits, options);
    if (!module)
      return module.takeError();
    return fa::planKernels(**module, "attention", options);
  }

  Expected<Artifact> compile(const AttentionProblem &p, int64_t splits,
                             std::vector<std::string> kernels) {
    CompileOptions options;
    auto module = build(p, splits, options);
    if (!module)
      return module.takeError();
    options.kernels = std::move(kernels);
    return fa::compile(**module, "attention", options);
  }

  std::string fault;
  std::shared_ptr<HostDevice> device;
  mlir::MLIRContext context;
  Target target;
  StringMap<Program> programs;
};

} // namespace

static int fail(const Twine &what) {
  errs() << "fa-matrix: error: " << what << "\n";
  return 2;
}

static Expected<Target> openTarget(StringRef name) {
  Target target;
  if (name == "cuda" || name == "hip") {
    auto kind = name == "hip" ? DriverKind::Hip : DriverKind::Cuda;
    auto card = toExpected(GpuDevice::open(kind, 0));
    if (!card)
      return card.takeError();
    auto arch = archOf(**card);
    if (!arch)
      return arch.takeError();
    target.card = *card;
    target.arch = *arch;
  } else if (name.consume_front("emulator:")) {
    auto info = getGpuInfo(name);
    if (!info)
      return info.takeError();
    target.arch = info->name;
    target.isEmulator = true;
  } else if (name.consume_front("cpu:")) {
    target.arch = name.str();
  } else if (name != "cpu") {
    return createStringError(
        "--target: expected cpu, cpu:NAME, cuda, hip or emulator:ARCH, "
        "found '" +
        name + "'");
  }
  return target;
}

static Error readLines(StringRef file, std::vector<std::string> &lines) {
  auto buffer = MemoryBuffer::getFile(file);
  if (!buffer)
    return createStringError("expected a file of problems, '" + file +
                             "': " + buffer.getError().message());
  SmallVector<StringRef> rawLines;
  (*buffer)->getBuffer().split(rawLines, '\n', -1, /*KeepEmpty=*/false);
  for (StringRef line : rawLines)
    if (!line.trim().empty() && !line.trim().starts_with("#"))
      expand(line.trim(), lines);
  return Error::success();
}

int main(int argc, char **argv) {
  InitLLVM init(argc, argv);
  StringRef fault, file, single, target = "cpu", without;
  int64_t count = 0;
  unsigned seed = 0, threads = 0, part = 1, parts = 1;
  for (int n = 1; n < argc; ++n) {
    StringRef argument = argv[n];
    if (argument.consume_front("--mutate="))
      fault = argument;
    else if (argument.consume_front("--target="))
      target = argument;
    else if (argument.consume_front("--without="))
      without = argument;
    else if (argument.consume_front("--line="))
      single = argument;
    else if (argument.consume_front("--random=")) {
      if (argument.getAsInteger(10, count) || count < 1)
        return fail("--random: expected a count, found '" + argument + "'");
    } else if (argument.consume_front("--seed=")) {
      if (argument.getAsInteger(10, seed))
        return fail("--seed: expected a number, found '" + argument + "'");
    } else if (argument.consume_front("--part=")) {
      auto [number, of] = argument.split('/');
      if (number.getAsInteger(10, part) || of.getAsInteger(10, parts) ||
          part < 1 || part > parts)
        return fail("--part: expected K/N with 1 <= K <= N, found '" +
                    argument + "'");
    } else if (argument.consume_front("--threads=")) {
      if (argument.getAsInteger(10, threads))
        return fail("--threads: expected a number, found '" + argument + "'");
    } else {
      file = argument;
    }
  }
  std::vector<std::string> lines;
  if (count) {
    std::mt19937 random(seed);
    for (int64_t n = 0; n < count; ++n)
      lines.push_back(randomLine(random));
  } else if (!single.empty()) {
    expand(single, lines);
  } else if (Error error = readLines(file, lines)) {
    return fail(toString(std::move(error)));
  }
  auto opened = openTarget(target);
  if (!opened)
    return fail(toString(opened.takeError()));
  if (!without.empty())
    llvm::erase_if(lines, [&](StringRef line) {
      return is_contained(split(line, ' '), without);
    });
  // Neighbours share a compilation: parts are runs of lines.
  size_t first = lines.size() * (part - 1) / parts,
         last = lines.size() * part / parts;
  lines.erase(lines.begin() + last, lines.end());
  lines.erase(lines.begin(), lines.begin() + first);
  Runner runner(fault, *opened, threads);
  int64_t failed = 0;
  for (const std::string &line : lines) {
    auto c = parseCase(line);
    if (!c)
      return fail(line + ": " + toString(c.takeError()));
    auto wrong = runner.run(*c);
    if (!wrong)
      return fail(line + ": " + toString(wrong.takeError()));
    if (wrong->empty()) {
      outs() << "PASS " << line << "\n";
    } else {
      ++failed;
      outs() << "FAIL " << line << "\n     " << *wrong << "\n     fa-matrix "
             << (target == "cpu" ? "" : "--target=" + target.str() + " ")
             << "--line=\"" << line << "\"\n";
    }
    outs().flush(); // who waits sees how far it is
  }
  outs() << lines.size() - failed << " passed, " << failed << " failed\n";
  return failed || lines.empty() ? 1 : 0;
}
