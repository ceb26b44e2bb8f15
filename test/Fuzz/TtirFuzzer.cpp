//===- TtirFuzzer.cpp - Triton's programs as text -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "UpstreamReaders.h"

#include "fa/Runtime/TritonProgram.h"
#include "fa/Target/Compile.h"

#include "Triton/Triton.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Regex.h"

#include <random>

using namespace llvm;
using namespace mlir;

/// The reader of TTIR, printing what was read, the lowering to kernels of tiles
/// and the proof that one is attention: what no program may end. What ends the
/// process in MLIR's own readers is left out.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  DialectRegistry registry;
  fa::registerDialects(registry);
  fa::triton::registerDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  ScopedDiagnosticHandler quiet(&context,
                                [](Diagnostic &) { return success(); });
  std::string text(reinterpret_cast<const char *>(data), size);
  if (endsUpstreamReaders(text))
    return 0;
  auto module = parseSourceString<ModuleOp>(text, &context);
  if (!module)
    return 0;
  std::string printed;
  raw_string_ostream out(printed);
  module->print(out);
  if (!parseSourceString<ModuleOp>(printed, &context))
    report_fatal_error("what was printed does not parse");
  if (!fa::isTritonProgram(*module))
    return 0;
  if (Error error = fa::lowerTritonProgram(*module)) {
    consumeError(std::move(error));
    return 0;
  }
  if (failed(verify(*module)))
    report_fatal_error("what it was lowered to is not valid");
  if (fa::tile::KernelOp kernel = fa::findTritonKernel(*module, "")) {
    std::string why;
    (void)fa::raiseTritonKernel(kernel, why);
  }
  return 0;
}

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);

namespace {

/// A program that is nearly the given one: lines and words are left out,
/// doubled or exchanged, so that most of what is made can be read.
class Changed {
public:
  Changed(std::string text, unsigned seed)
      : text(std::move(text)), random(seed) {}

  std::string operator()() {
    for (unsigned n = 1 + random() % 2; n; --n)
      change();
    return std::move(text);
  }

private:
  template <typename T> const T &anyOf(ArrayRef<T> all) {
    return all[random() % all.size()];
  }

  /// Puts another of its kind, or one of `more`, in the place of a word.
  void exchange(const char *pattern, ArrayRef<StringRef> more) {
    SmallVector<std::pair<size_t, size_t>> words;
    Regex word(pattern);
    SmallVector<StringRef> found;
    for (StringRef rest = text; word.match(rest, &found);) {
      size_t begin = found[0].data() - text.data();
      words.push_back({begin, found[0].size()});
      rest = StringRef(text).drop_front(begin + found[0].size());
    }
    if (words.empty())
      return;
    auto [begin, size] = anyOf(ArrayRef(words));
    auto [other, otherSize] = anyOf(ArrayRef(words));
    std::string with = more.empty() || random() % 2
                           ? text.substr(other, otherSize)
                           : anyOf(more).str();
    text.replace(begin, size, with);
  }

  void changeLines() {
    SmallVector<StringRef> lines;
    StringRef(text).split(lines, '\n');
    size_t at = random() % lines.size(), other = random() % lines.size();
    switch (random() % 3) {
    case 0:
      lines.erase(lines.begin() + at);
      break;
    case 1:
      lines.insert(lines.begin() + other, lines[at]);
      break;
    default:
      std::swap(lines[at], lines[other]);
    }
    text = join(lines, "\n");
  }

  void change() {
    switch (random() % 6) {
    case 0:
      return changeLines();
    case 1:
      return exchange("-?[0-9]+", {"0", "1", "-1", "2", "63", "2147483647",
                                   "-9223372036854775808"});
    case 2:
      return exchange("[if](1|8|16|32|64)", {"i1", "i8", "f16", "bf16"});
    case 3:
      return exchange("tensor<[^>]*>", {});
    case 4:
      return exchange("(arith|math|tt|scf)\\.[a-z_]+", {});
    default:
      return exchange("%[a-z0-9_]+", {});
    }
  }

  std::string text;
  std::mt19937 random;
};

} // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size,
                                          size_t most, unsigned seed) {
  if (seed % 16 == 0)
    return LLVMFuzzerMutate(data, size, most);
  std::string text =
      Changed(std::string(reinterpret_cast<char *>(data), size), seed)();
  size = std::min(text.size(), most);
  std::copy_n(text.data(), size, data);
  return size;
}
