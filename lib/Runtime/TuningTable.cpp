//===- TuningTable.cpp - plans that measurements chose --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Runtime/TuningTable.h"

#include "fa/Plan/Machine.h"
#include "fa/Target/HostInfo.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SHA256.h"
#include "llvm/Support/TargetSelect.h"

#include <numeric>

using namespace llvm;
using namespace fa;

//===----------------------------------------------------------------------===//
// Keys
//===----------------------------------------------------------------------===//

std::string TuningEntry::digest(const TuningKey &key) const {
  std::string text = join_items('\n', key.arch, key.assembler, key.problem,
                                printConstraints(asked), plans);
  return toHex(SHA256::hash(arrayRefFromStringRef(text)), /*LowerCase=*/true);
}

/// Lengths and other numbers of keys; those below 1 have a meaning of their
/// own.
static int64_t bucketOf(int64_t size) {
  return size < 1 ? size : static_cast<int64_t>(PowerOf2Ceil(size));
}

/// The problem that stands for all of its class.
static AttentionProblem classOf(AttentionProblem problem) {
  problem.numHeads = problem.groupSize();
  problem.batch = problem.numKvHeads = 1;
  for (int64_t *size : {&problem.seqQ, &problem.seqKv, &problem.windowLeft,
                        &problem.windowRight})
    *size = bucketOf(*size);
  if (problem.prefix)
    problem.prefix = bucketOf(*problem.prefix);
  problem.scale.reset();
  problem.layoutBshd = false; // strides, of which a launch may have any
  return problem;
}

/// Whether rows begin at such multiples of bytes as those of a dense tensor,
/// up to 16, which is all that a kernel asks for.
static bool hasDenseRows(const LaunchArgument &tensor) {
  auto bytes = static_cast<int64_t>(byteSize(tensor.type));
  int64_t unit = std::gcd(16, tensor.sizes[3] * bytes);
  ArrayRef<int64_t> strides(tensor.strides);
  return strides[3] == 1 &&
         reinterpret_cast<uintptr_t>(tensor.data) % unit == 0 &&
         all_of(strides.take_front(3),
                [&](int64_t stride) { return stride * bytes % unit == 0; });
}

std::optional<std::string> fa::tuningClass(AttentionProblem problem,
                                           ArrayRef<LaunchArgument> launch) {
  // No size of pages is that of keys. What was the fastest for a class of
  // launches may be another tile than of the next, with other bits.
  if (launch.size() < 3 || problem.page || problem.splitKeys ||
      problem.valuesInKeys || problem.draft)
    return std::nullopt;
  for (const LaunchArgument &tensor : launch.take_front(3))
    if (!tensor.isTensor || tensor.sizes.size() != 4 || !hasDenseRows(tensor))
      return std::nullopt;
  problem.batch = launch[0].sizes[0];
  problem.numHeads = launch[0].sizes[1];
  problem.seqQ = launch[0].sizes[2];
  problem.numKvHeads = launch[1].sizes[1];
  problem.seqKv = launch[1].sizes[2];
  if (Error error = problem.verify()) { // the launch will say what is wrong
    consumeError(std::move(error));
    return std::nullopt;
  }
  return classOf(problem).str();
}

static constexpr StringLiteral kHostPrefix = "cpu:";

Expected<std::string> fa::tuningArch(StringRef arch) {
  if (isNvidiaArch(arch) || isAmdArch(arch))
    return arch.str();
  InitializeNativeTarget();
  auto host = getHostInfo(arch);
  if (!host)
    return host.takeError();
  return kHostPrefix.str() + host->cpu;
}

//===----------------------------------------------------------------------===//
// The file
//===----------------------------------------------------------------------===//

namespace {

/// Takes from an entry what is expected of it; the first thing that is not as
/// expected is the error.
class EntryReader {
public:
  EntryReader(const json::Value &value, std::string path)
      : object(value.getAsObject()), path(std::move(path)) {
    if (!object)
      fail("", "an object", &value);
  }

  std::string string(StringRef key) {
    const json::Value *value = get(key);
    auto text = value ? value->getAsString() : std::nullopt;
    return text ? text->str() : (fail(key, "a string", value), "");
  }
  double number(StringRef key) {
    const json::Value *value = get(key);
    auto number = value ? value->getAsNumber() : std::nullopt;
    return number ? *number : (fail(key, "a number", value), 0);
  }
  int64_t integer(StringRef key, int64_t least, int64_t most) {
    const json::Value *value = get(key);
    auto number = value ? value->getAsInteger() : std::nullopt;
    if (number && *number >= least && *number <= most)
      return *number;
    fail(key, formatv("an integer from {0} to {1}", least, most).str(), value);
    return 0;
  }
  /// An array of strings, each of which `fits`, as the lines of a text.
  std::string lines(StringRef key, function_ref<bool(StringRef)> fits,
                    const Twine &form) {
    const json::Value *value = get(key);
    const json::Array *array = value ? value->getAsArray() : nullptr;
    std::string text;
    if (!array)
      fail(key, "an array of lines " + form, value);
    for (const json::Value &line : array ? *array : json::Array()) {
      auto each = line.getAsString();
      if (!each || !fits(*each))
        fail(key, "lines " + form, &line);
      else
        text += each->str() + "\n";
    }
    return text;
  }
  /// Of a value that was taken already.
  void expect(StringRef key, bool fits, const Twine &expected) {
    if (!fits)
      fail(key, expected, get(key));
  }
  Error takeError() {
    return problem.empty() ? Error::success() : createStringError(problem);
  }

private:
  const json::Value *get(StringRef key) const {
    return object ? object->get(key) : nullptr;
  }
  void fail(StringRef key, const Twine &expected, const json::Value *found) {
    if (problem.empty())
      problem =
          (path + (key.empty() ? "" : ".") + key + ": expected " + expected +
           ", found " + (found ? formatv("{0}", *found).str() : "nothing"))
              .str();
  }

  const json::Object *object;
  std::string path, problem;
};

} // namespace

/// Whether `line` is spelt as a plan of a kernel; what it says is looked at
/// where the kernel is.
static bool isPlanLine(StringRef line) {
  auto [name, plan] = line.split(' ');
  return name.starts_with("@") && plan.starts_with("plan<") &&
         plan.ends_with(">") && !line.contains('\n');
}

/// Whether a SPEC is what `tuningClass` gives.
static bool isClass(StringRef problem) {
  auto spec = parseAttentionSpec(problem);
  if (spec)
    return classOf(spec->problem).str() == problem;
  consumeError(spec.takeError());
  return false;
}

static bool isKnownArch(StringRef arch) {
  if (arch.starts_with(kHostPrefix)) // another machine's, perhaps
    return true;
  auto info = findGpuMachine(arch);
  if (info)
    return true;
  consumeError(info.takeError());
  return false;
}

static Error readEntry(const json::Value &value, std::string path,
                       TuningTable &table) {
  EntryReader entry(value, std::move(path));
  TuningKey key{entry.string("arch"), entry.string("assembler"),
                entry.string("problem")};
  entry.expect("arch", isKnownArch(key.arch),
               listGpuMachines() + " or cpu:NAME");
  entry.expect("problem", isClass(key.problem), "a class of launches");
  TuningEntry tuned;
  std::string asked = entry.string("asked");
  if (auto parsed = parseConstraints(asked)) {
    tuned.asked = std::move(*parsed);
    std::string why = whyInvalid(tuned.asked);
    entry.expect("asked", why.empty(), "what can be asked of plans: " + why);
  } else {
    entry.expect("asked", false, toString(parsed.takeError()));
  }
  tuned.plans = entry.lines("plans", isPlanLine, "@KERNEL plan<...>");
  tuned.ms = entry.number("ms");
  tuned.rulesMs = entry.number("rules_ms");
  tuned.device = entry.string("device");
  if (Error error = entry.takeError())
    return error;
  table.set(key, std::move(tuned));
  return Error::success();
}

/// LLVM's parser follows nested arrays as deep as they go.
static bool isNestedTooDeep(StringRef text) {
  int depth = 0;
  for (char c : text) {
    depth += c == '[' || c == '{';
    depth -= c == ']' || c == '}';
    if (depth > 8)
      return true;
  }
  return false;
}

Expected<TuningTable> TuningTable::parse(StringRef text, StringRef name) {
  if (isNestedTooDeep(text))
    return createStringError(name + ": expected a tuning table, found arrays "
                                    "or objects more than 8 deep");
  auto json = json::parse(text);
  if (!json)
    return createStringError(name +
                             ": expected a tuning table, found no JSON: " +
                             toString(json.takeError()));
  const json::Object *object = json->getAsObject();
  const json::Value *found = object ? object->get("flashtile_tuning") : nullptr;
  if (!found || found->getAsInteger() != version)
    return createStringError(
        name + ": expected a tuning table with \"flashtile_tuning\": " +
        Twine(version) + ", found " +
        (found ? formatv("{0}", *found).str() : "none"));
  const json::Array *entries = object->getArray("entries");
  if (!entries)
    return createStringError(name + ": expected an array \"entries\", found "
                                    "none");
  TuningTable table;
  for (auto [n, entry] : enumerate(*entries))
    if (Error error = readEntry(
            entry, formatv("{0}: entries[{1}]", name, n).str(), table))
      return error;
  return table;
}

Expected<TuningTable> TuningTable::read(StringRef path) {
  if (sys::fs::exists(path) && !sys::fs::is_regular_file(path))
    return createStringError(path + ": expected a file");
  auto file = MemoryBuffer::getFile(path, /*IsText=*/false,
                                    /*RequiresNullTerminator=*/false,
                                    /*IsVolatile=*/true);
  if (!file)
    return createStringError(file.getError(),
                             path + ": " + file.getError().message());
  return parse((*file)->getBuffer(), path);
}

Error TuningTable::write(StringRef path) const {
  return writeToOutput(path, [&](raw_ostream &stream) {
    json::OStream out(stream, /*IndentSize=*/1);
    out.object([&] {
      out.attribute("flashtile_tuning", version);
      out.attributeArray("entries", [&] {
        for (const auto &[key, entry] : entries)
          out.object([&, &key = key, &entry = entry] {
            out.attribute("arch", key.arch);
            out.attribute("assembler", key.assembler);
            out.attribute("problem", key.problem);
            out.attribute("asked", printConstraints(entry.asked));
            out.attributeArray("plans", [&] {
              for (StringRef line :
                   split(StringRef(entry.plans).rtrim('\n'), '\n'))
                out.value(line);
            });
            out.attribute("ms", entry.ms);
            out.attribute("rules_ms", entry.rulesMs);
            out.attribute("device", entry.device);
          });
      });
    });
    stream << "\n";
    return Error::success();
  });
}

//===----------------------------------------------------------------------===//
// Finding
//===----------------------------------------------------------------------===//

const TuningEntry *TuningTable::find(const TuningKey &key) const {
  auto it = entries.find(key);
  return it == entries.end() ? nullptr : &it->second;
}

std::vector<std::string> TuningTable::assemblersOf(StringRef arch) const {
  std::vector<std::string> found;
  for (const auto &[key, entry] : entries)
    if (key.arch == arch && !is_contained(found, key.assembler))
      found.push_back(key.assembler);
  return found;
}
