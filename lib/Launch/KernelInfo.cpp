//===- KernelInfo.cpp - what a launch must know of a kernel ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Launch/KernelInfo.h"

#include "fa/Launch/TensorMap.h"
#include "fa/Support/FewKeysPrice.h"

#include <array>

using namespace fa;

//===----------------------------------------------------------------------===//
// Evaluation
//===----------------------------------------------------------------------===//

/// x / y rounded down, and what remains then, which has the sign of y.
static int64_t floorDiv(int64_t x, int64_t y) {
  return x / y - (x % y != 0 && (x < 0) != (y < 0));
}
static int64_t floorMod(int64_t x, int64_t y) {
  int64_t rest = x % y;
  return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
}
static int64_t ceilDiv(int64_t x, int64_t y) {
  return x / y + (x % y != 0 && (x < 0) == (y < 0));
}

static std::optional<int64_t> apply(SizeExpr::Opcode opcode, int64_t x,
                                    int64_t y) {
  int64_t result = 0;
  if (opcode == SizeExpr::Add)
    return __builtin_add_overflow(x, y, &result) ? std::nullopt
                                                 : std::optional(result);
  if (opcode == SizeExpr::Mul)
    return __builtin_mul_overflow(x, y, &result) ? std::nullopt
                                                 : std::optional(result);
  if (y == 0)
    return 0;
  if (y == -1) // the one division that overflows
    return opcode == SizeExpr::Mod ? std::optional<int64_t>(0)
                                   : apply(SizeExpr::Mul, x, -1);
  if (opcode == SizeExpr::FloorDiv)
    return floorDiv(x, y);
  return opcode == SizeExpr::CeilDiv ? ceilDiv(x, y) : floorMod(x, y);
}

std::optional<int64_t> SizeExpr::evaluate(
    const std::function<int64_t(int64_t, int64_t)> &sizeOf) const {
  std::array<int64_t, maxDepth> stack;
  size_t depth = 0;
  for (const Step &step : steps) {
    if (step.opcode == Const) {
      stack[depth++] = step.a;
    } else if (step.opcode == Size) {
      stack[depth++] = sizeOf(step.a, step.b);
    } else {
      --depth;
      auto value = apply(step.opcode, stack[depth - 1], stack[depth]);
      if (!value)
        return std::nullopt;
      stack[depth - 1] = *value;
    }
  }
  return stack[0];
}

//===----------------------------------------------------------------------===//
// Soundness
//===----------------------------------------------------------------------===//

static bool hasSize(const KernelInfo &kernel, int64_t argument, int64_t dim) {
  return argument >= 0 && dim >= 0 && argument < std::ssize(kernel.args) &&
         dim < std::ssize(kernel.args[argument].sizes);
}

/// The same of what the caller gives, by which a variant is chosen.
static bool hasGivenSize(const KernelInfo &kernel, int64_t argument,
                         int64_t dim) {
  return hasSize(kernel, argument, dim) &&
         argument < static_cast<int64_t>(kernel.numGiven());
}

static Failure failOf(const KernelInfo &kernel, const auto &...parts) {
  return makeFailure("@", kernel.symbol, ": ", parts...);
}

static Failure checkExpr(const KernelInfo &kernel, const SizeExpr &expr) {
  size_t depth = 0;
  for (const SizeExpr::Step &step : expr.steps) {
    if (step.opcode == SizeExpr::Size && !hasSize(kernel, step.a, step.b))
      return failOf(kernel, "its grid speaks of dimension ", step.b,
                    " of argument ", step.a, ", which there is not");
    bool isOperand =
        step.opcode == SizeExpr::Const || step.opcode == SizeExpr::Size;
    if (!isOperand && depth < 2)
      return failOf(kernel, "expected two operands for '", name(step.opcode),
                    "' in its grid, found ", depth);
    depth = isOperand ? depth + 1 : depth - 1;
    if (depth > SizeExpr::maxDepth)
      return failOf(kernel, "expected at most ", SizeExpr::maxDepth,
                    " operands at a time in its grid, found more");
  }
  if (depth != 1)
    return failOf(kernel,
                  "expected one value for an extent of its grid, "
                  "found ",
                  depth);
  return {};
}

/// An expression over the sizes of what the caller gives.
static Failure checkGiven(const KernelInfo &kernel, const SizeExpr &expr) {
  for (const SizeExpr::Step &step : expr.steps)
    if (step.opcode == SizeExpr::Size &&
        step.a >= static_cast<int64_t>(kernel.numGiven()))
      return failOf(kernel, "expected the size of one of ", kernel.numGiven(),
                    " given arguments, found argument ", step.a);
  return checkExpr(kernel, expr);
}

static Failure checkRule(const KernelInfo &kernel, const SizeRule &rule) {
  bool usesOther = rule.kind != SizeRule::Divisible &&
                   rule.kind != SizeRule::AtMost &&
                   rule.kind != SizeRule::AtLeast;
  if (!hasGivenSize(kernel, rule.argument, rule.dim) ||
      (usesOther && !hasGivenSize(kernel, rule.other, rule.otherDim)))
    return failOf(kernel, "its size rule '", name(rule.kind),
                  "' speaks of a dimension that there is not");
  if ((rule.kind == SizeRule::Divisible || rule.kind == SizeRule::Covers) &&
      rule.factor < 1)
    return failOf(kernel, "expected a ",
                  rule.kind == SizeRule::Covers ? "factor" : "divisor",
                  " of at least 1, found ", rule.factor);
  return {};
}

/// Workspace is made of what the caller gives.
static Failure checkWorkspace(const KernelInfo &kernel) {
  for (size_t n = 0; n < kernel.workspace.size(); ++n) {
    const ArgumentInfo &info = kernel.args[kernel.numGiven() + n];
    const std::vector<SizeExpr> &sizes = kernel.workspace[n].sizes;
    if (!info.isMemRef || info.sizes.size() != sizes.size() + 1)
      return failOf(kernel, "expected ", info.sizes.size(),
                    " sizes of workspace, found ", sizes.size() + 1);
    for (const SizeExpr &expr : sizes)
      if (Failure failure = checkGiven(kernel, expr))
        return failure;
  }
  for (const SizeExpr *expr : {&kernel.splitKeys, &kernel.leastKeys,
                               &kernel.packedHeads, &kernel.pricedKeys})
    if (!expr->steps.empty())
      if (Failure failure = checkGiven(kernel, *expr))
        return failure;
  if (!kernel.splitKeys.steps.empty())
    return {};
  if (!kernel.leastKeys.steps.empty() && kernel.pricedKeys.steps.empty())
    return failOf(kernel,
                  "expected how many keys there are (split_keys or "
                  "priced_keys), where a row sees least_keys of them, found "
                  "none");
  if (kernel.keysOfSplit)
    return failOf(kernel,
                  "expected how many keys there are (split_keys), "
                  "where each split has ",
                  kernel.keysOfSplit, " of them, found none");
  return {};
}

/// The limits of cuTensorMapEncodeTiled (CUDA Driver API).
static Failure checkTensorMap(const KernelInfo &kernel,
                              const TensorMapInfo &map) {
  if (!hasSize(kernel, map.argument, map.rowDim))
    return failOf(kernel, "its tensor map speaks of dimension ", map.rowDim,
                  " of argument ", map.argument, ", which there is not");
  const ArgumentInfo &info = kernel.args[map.argument];
  if (info.sizes.size() < 2 || info.sizes.size() > 5 ||
      !tensorMapType(info.type))
    return failOf(kernel,
                  "expected a tensor map of rank 2 to 5 of f16, bf16, f32 or "
                  "bytes, found rank ",
                  info.sizes.size(), " of ", name(info.type));
  if (map.joined &&
      (map.rowDim < 1 || map.rowDim + 1 >= int64_t(info.sizes.size())))
    return failOf(kernel, "its tensor map joins dimension ", map.rowDim,
                  " of argument ", map.argument,
                  " with the one before it: expected one between the first and "
                  "the last");
  SizeRule packed = {SizeRule::Packed, map.argument, map.rowDim - 1,
                     map.argument,     map.rowDim,   1};
  if (map.joined &&
      std::ranges::find(kernel.rules, packed) == kernel.rules.end())
    return failOf(kernel, "its tensor map joins dimensions ", map.rowDim - 1,
                  " and ", map.rowDim, " of argument ", map.argument,
                  ", expected a rule that they are packed, found none");
  bool isMultiple = std::ranges::any_of(kernel.rules, [&](const SizeRule &r) {
    return r.kind == SizeRule::Multiple && r.argument == map.argument &&
           r.dim == map.headDim;
  });
  if (map.headDim != -1 &&
      (map.joined || map.paged || map.headDim == map.rowDim ||
       map.headDim + 1 >= int64_t(info.sizes.size()) || !isMultiple))
    return failOf(kernel, "its tensor map has heads along dimension ",
                  map.headDim, " of argument ", map.argument,
                  ", expected a rule that these are a multiple, and neither "
                  "rows nor columns nor pages there");
  if (map.paged && (map.joined || info.sizes.size() != 4 || map.rowDim != 2))
    return failOf(kernel,
                  "its tensor map is of pages, expected rank 4 and "
                  "rows in dimension 2 alone, found rank ",
                  info.sizes.size(), " and dimension ", map.rowDim);
  if (map.rows < 1 || map.rows > 256 || map.columns < 1 || map.columns > 256)
    return failOf(kernel,
                  "expected a tensor map with boxes of 1 to 256 rows "
                  "and columns, found ",
                  map.rows, "x", map.columns);
  return {};
}

static Failure checkArgument(const KernelInfo &kernel, size_t number,
                             const ArgumentInfo &info) {
  if (info.sizes.size() != info.strides.size() || info.sizes.size() > kMaxRank)
    return failOf(kernel, "argument ", number, ": expected a rank of at most ",
                  kMaxRank, ", found ", info.sizes.size(), " sizes and ",
                  info.strides.size(), " strides");
  if (info.alignment < 1)
    return failOf(kernel, "argument ", number,
                  ": expected an alignment of at least 1, found ",
                  info.alignment);
  return {};
}

static Failure checkRange(const KernelInfo &kernel, std::string_view fact,
                          int64_t value, FactRange range) {
  if (value >= range.least && value <= range.most)
    return {};
  if (range.most == INT64_MAX)
    return failOf(kernel, "expected ", fact, " of at least ", range.least,
                  ", found ", value);
  return failOf(kernel, "expected ", fact, " of ", range.least, " to ",
                range.most, ", found ", value);
}

/// What is no number has no range.
template <typename T>
static Failure checkRange(const KernelInfo &, std::string_view, const T &,
                          FactRange) {
  return {};
}

static Failure checkPrice(const KernelInfo &kernel) {
  size_t count = kernel.price.size();
  if (count == 0)
    return {};
  if (count != FewKeysPrice::kNumbers)
    return failOf(kernel, "expected a price of ", FewKeysPrice::kNumbers,
                  " numbers, found ", count);
  for (size_t n = 0; n < count; ++n) {
    const FewKeysPrice::Range &range = FewKeysPrice::kRanges[n];
    int64_t number = kernel.price[n];
    if (number < range.least || number > range.most)
      return failOf(kernel, "expected a price whose ", range.name, " is ",
                    range.least, " to ", range.most, ", found ", number);
  }
  if (kernel.tile.size() != 2 || kernel.tile[1] < 1)
    return failOf(kernel, "expected queries and keys of a tile beside a price, "
                          "found none");
  return {};
}

static Failure checkRanges(const KernelInfo &kernel) {
#define KERNEL_FACT(TYPE, MEMBER, DEFAULT, RANGE, SINCE, KEY, DOC)             \
  if (Failure failure = checkRange(kernel, KEY, kernel.MEMBER, RANGE))         \
    return failure;
#include "fa/Launch/KernelFacts.def"
  return {};
}

Failure fa::checkKernel(const KernelInfo &kernel) {
  if (kernel.args.size() > kMaxArguments)
    return failOf(kernel, "expected at most ", kMaxArguments,
                  " arguments, found ", kernel.args.size());
  if (kernel.workspace.size() > kernel.args.size())
    return failOf(kernel, "expected at most ", kernel.args.size(),
                  " arguments in workspace, found ", kernel.workspace.size());
  for (size_t n = 0; n < kernel.args.size(); ++n)
    if (Failure failure = checkArgument(kernel, n, kernel.args[n]))
      return failure;
  for (const SizeRule &rule : kernel.rules)
    if (Failure failure = checkRule(kernel, rule))
      return failure;
  if (Failure failure = checkRanges(kernel))
    return failure;
  if (Failure failure = checkPrice(kernel))
    return failure;
  if (kernel.persistent && kernel.programs > 1)
    return failOf(kernel, "expected 1 program of a persistent block, found ",
                  kernel.programs);
  bool hasCounter = !kernel.args.empty() &&
                    kernel.args.back().type == ElementType::I32 &&
                    kernel.args.back().sizes.size() == 1 &&
                    kernel.args.back().access == Access::InOut;
  if (kernel.dynamic &&
      (!kernel.persistent || kernel.cluster > 1 || !hasCounter))
    return failOf(kernel, "expected programs to be taken in turn by a "
                          "persistent kernel without clusters, from a counter "
                          "that is its last argument, found another kernel");
  bool canCluster = kernel.persistent && !kernel.grid.empty();
  if (kernel.cluster > 1 && !canCluster)
    return failOf(kernel,
                  "expected a cluster of a persistent kernel with a grid, or "
                  "of one block, found ",
                  kernel.cluster);
  if (kernel.tensorMaps.size() > kMaxTensorMaps)
    return failOf(kernel, "expected at most ", kMaxTensorMaps,
                  " tensor maps, found ", kernel.tensorMaps.size());
  for (const TensorMapInfo &map : kernel.tensorMaps)
    if (Failure failure = checkTensorMap(kernel, map))
      return failure;
  if (kernel.grid.size() > 3)
    return failOf(kernel, "expected a grid of at most 3 extents, found ",
                  kernel.grid.size());
  for (const SizeExpr &expr : kernel.grid)
    if (Failure failure = checkExpr(kernel, expr))
      return failure;
  return checkWorkspace(kernel);
}

/// Arguments are checked against the last kernel, and all are asked whether
/// these fit.
static Failure checkSameGiven(const KernelInfo &kernel,
                              const KernelInfo &last) {
  if (kernel.numGiven() != last.numGiven())
    return failOf(kernel, "expected ", last.numGiven(),
                  " given arguments as of @", last.symbol, ", found ",
                  kernel.numGiven());
  for (size_t n = 0; n < kernel.numGiven(); ++n) {
    const ArgumentInfo &found = kernel.args[n], &expected = last.args[n];
    if (found.isMemRef != expected.isMemRef || found.type != expected.type ||
        found.sizes.size() != expected.sizes.size())
      return failOf(kernel, "argument ", n, ": expected ", name(expected.type),
                    " of rank ", expected.sizes.size(), " as of @", last.symbol,
                    ", found ", name(found.type), " of rank ",
                    found.sizes.size());
  }
  return {};
}

/// Whether every kernel has workspace for a number of splits that is known, as
/// those of gradients have: no launch does without.
static bool alwaysHasWorkspace(std::span<const KernelInfo> kernels) {
  return std::ranges::all_of(kernels, [](const KernelInfo &kernel) {
    return !kernel.workspace.empty() && (kernel.follows || kernel.splits);
  });
}

Failure fa::checkPlan(std::span<const KernelInfo> kernels) {
  for (size_t n = 0; n < kernels.size(); ++n) {
    if (Failure failure = checkKernel(kernels[n]))
      return failure;
    bool hasSplits = !kernels[n].splitKeys.steps.empty() || kernels[n].splits;
    if (kernels[n].dynamic && kernels[n].workspace.empty())
      return failOf(kernels[n], "expected a counter of programs in workspace, "
                                "found none");
    if (!kernels[n].follows) {
      if (hasSplits == kernels[n].workspace.empty())
        return failOf(kernels[n], "expected workspace where there are splits, "
                                  "and only there");
      continue;
    }
    if (n == 0 || kernels[n].workspace != kernels[n - 1].workspace ||
        kernels[n].args.size() != kernels[n - 1].args.size())
      return failOf(kernels[n], "expected to follow a kernel with the same "
                                "arguments and workspace");
  }
  if (kernels.empty() ||
      (!kernels.back().workspace.empty() && !alwaysHasWorkspace(kernels)))
    return makeFailure("expected a plan whose last kernel takes every launch, "
                       "without workspace, or whose kernels all have one");
  for (const KernelInfo &kernel : kernels)
    if (Failure failure = checkSameGiven(kernel, kernels.back()))
      return failure;
  return {};
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

// Each in the order of its enum.
static constexpr std::string_view kAccesses[] = {"in", "out", "inout"};
static constexpr std::string_view kRules[] = {
    "equal",   "multiple", "divisible", "packed",
    "at_most", "one_more", "at_least",  "covers"};
static constexpr std::string_view kOpcodes[] = {
    "const", "size", "add", "mul", "floordiv", "ceildiv", "mod"};

template <typename Enum>
static std::optional<Enum> find(std::span<const std::string_view> names,
                                std::string_view name) {
  for (size_t n = 0; n < names.size(); ++n)
    if (names[n] == name)
      return static_cast<Enum>(n);
  return std::nullopt;
}

std::string_view fa::name(Access access) {
  return kAccesses[static_cast<size_t>(access)];
}
std::string_view fa::name(SizeRule::Kind kind) { return kRules[kind]; }
std::string_view fa::name(SizeExpr::Opcode opcode) { return kOpcodes[opcode]; }

std::optional<Access> fa::parseAccess(std::string_view name) {
  return find<Access>(kAccesses, name);
}
std::optional<SizeRule::Kind> fa::parseRuleKind(std::string_view name) {
  return find<SizeRule::Kind>(kRules, name);
}
std::optional<SizeExpr::Opcode> fa::parseOpcode(std::string_view name) {
  auto opcode = find<SizeExpr::Opcode>(kOpcodes, name);
  return opcode && *opcode >= SizeExpr::Add ? opcode : std::nullopt;
}
