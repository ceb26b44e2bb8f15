//===- TileGPULayout.cpp - #tgpu.layout as text ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TileGPU/TileGPU.h"

#include "fa/Layout/NamedLayouts.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace fa;
using namespace fa::tgpu;

static constexpr std::pair<StringLiteral, Axis> axisNames[] = {
    {"register", Axis::Register},
    {"lane", Axis::Lane},
    {"warp", Axis::Warp},
    {"offset", Axis::Offset}};

llvm::hash_code fa::hash_value(const TileLayout &layout) {
  llvm::hash_code hash = llvm::hash_combine(layout.repeat, layout.joined);
  for (unsigned dim = 0; dim < layout.rank(); ++dim)
    hash = llvm::hash_combine(hash, layout.size(dim));
  for (auto [name, axis] : axisNames)
    for (unsigned bit = 0; bit < layout.base.bits(axis); ++bit) {
      Coord basis = layout.base.basis(axis, bit);
      hash = llvm::hash_combine(
          hash, static_cast<int>(axis),
          llvm::hash_combine_range(basis.begin(), basis.end()));
    }
  return hash;
}

LogicalResult
LayoutAttr::verifyEncoding(ArrayRef<int64_t> shape, Type elementType,
                           function_ref<InFlightDiagnostic()> emitError) const {
  const TileLayout &layout = getLayout();
  bool fits = shape.size() == layout.rank();
  for (unsigned dim = 0; fits && dim < shape.size(); ++dim)
    fits = shape[dim] == layout.size(dim);
  if (!fits)
    return emitError() << "expected a tile of the sizes of " << *this
                       << ", found sizes " << shape;
  if (!layout.base.isSurjective())
    return emitError() << "expected a layout that holds every element, found "
                       << *this;
  return success();
}

//===----------------------------------------------------------------------===//
// By name
//===----------------------------------------------------------------------===//

namespace {

/// A constructor's arguments.
struct Named {
  StringRef name;
  bool transposed = false, joined = false;
  int64_t bytes = 0, banks = 0, across = 0, side = 0, vector = 0, height = 0,
          warps = 0, lanes = 0;

  TileLayout make(int64_t rows, int64_t columns) const {
    if (name == "accumulator")
      return mmaAccumulator(rows, columns, warps);
    if (name == "operand_b")
      return mmaOperandB(rows, columns, transposed, warps);
    if (name == "quads")
      return mmaQuads(rows, columns, warps);
    if (name == "operand_b8")
      return mmaOperandB8(rows, columns, transposed, warps);
    if (name == "operand_a32")
      return mmaOperandA32(rows, columns, warps);
    if (name == "operand_b32")
      return mmaOperandB32(rows, columns, warps);
    if (name == "fma_operand_a")
      return fmaOperandA(rows, columns, warps);
    if (name == "fma_operand_b")
      return fmaOperandB(rows, columns, transposed, warps);
    if (name == "mfma")
      return mfmaRows(rows, columns, side, vector, warps);
    if (name == "mfma_operand_b")
      return mfmaOperandB(rows, columns, transposed, side, vector, warps);
    if (name == "swizzled" && across)
      return turnedShared(rows, columns, bytes, across);
    if (name == "swizzled" && banks)
      return cyclicShared(rows, columns, bytes);
    if (name == "swizzled") {
      TileLayout layout = swizzledShared(rows, columns, bytes);
      layout.joined = joined ? bytes : 0;
      return layout;
    }
    return blocked(rows, columns, vector, warps, lanes ? lanes : 32,
                   height ? height : 1);
  }

  /// Whether `make` can be called.
  bool isLegal(int64_t rows, int64_t columns) const {
    auto isPower = [](int64_t x) { return x > 0 && llvm::isPowerOf2_64(x); };
    int64_t width = powerOfTwoPart(columns);
    if (!isPower(rows) || columns < 1)
      return false;
    if (joined)
      return name == "swizzled" && !across && !banks && width < columns &&
             (bytes == 1 || bytes == 2);
    if (name == "swizzled" && across)
      return (across == 16 || across == 32) && bytes == 2 && width >= across &&
             banks == 0;
    if (name == "swizzled")
      return isPower(bytes) && bytes <= 8 && (banks == 0 || banks == 64);
    if (!isPower(warps) || warps > 32)
      return false;
    if (name == "accumulator" || name == "operand_a32" ||
        name == "fma_operand_a")
      return rows >= 16 * warps && width >= 8;
    if (name == "quads")
      return rows >= 16 * warps && width >= 16;
    if (name == "operand_b8")
      return rows >= (transposed ? 8 : 16) && width >= 16;
    if (name == "operand_b32")
      return rows >= 8 && width >= 8;
    if (name == "fma_operand_b")
      return transposed ? rows >= 8 : width >= 8;
    if (name == "operand_b")
      return transposed ? rows >= 8 && width >= 16 : rows >= 16 && width >= 8;
    if (name == "mfma" || name == "mfma_operand_b") {
      bool inColumns = name == "mfma" || transposed;
      return (side == 16 || side == 32) && isPower(vector) &&
             (inColumns ? width : rows) >= vector * 64 / side &&
             (inColumns ? rows : width) >= side &&
             (name != "mfma" || rows >= side * warps);
    }
    return isPower(vector) && (lanes == 0 || lanes == 32 || lanes == 64) &&
           (height == 0 || isPower(height));
  }
};

} // namespace

/// In the order of the text.
static constexpr std::pair<StringLiteral, int64_t Named::*> kNumbers[] = {
    {"bytes", &Named::bytes},   {"banks", &Named::banks},
    {"across", &Named::across}, {"side", &Named::side},
    {"vector", &Named::vector}, {"height", &Named::height},
    {"warps", &Named::warps},   {"lanes", &Named::lanes}};

/// The constructor that makes `layout`, if there is one.
static std::optional<Named> findName(const TileLayout &layout) {
  if (layout.rank() != 2)
    return std::nullopt;
  SmallVector<Named, 32> candidates;
  int64_t warps = layout.base.count(Axis::Warp);
  candidates.push_back({.name = "accumulator", .warps = warps});
  candidates.push_back({.name = "operand_b", .warps = warps});
  candidates.push_back(
      {.name = "operand_b", .transposed = true, .warps = warps});
  candidates.push_back({.name = "quads", .warps = warps});
  for (bool transposed : {false, true})
    candidates.push_back(
        {.name = "operand_b8", .transposed = transposed, .warps = warps});
  candidates.push_back({.name = "operand_a32", .warps = warps});
  candidates.push_back({.name = "operand_b32", .warps = warps});
  candidates.push_back({.name = "fma_operand_a", .warps = warps});
  candidates.push_back({.name = "fma_operand_b", .warps = warps});
  candidates.push_back(
      {.name = "fma_operand_b", .transposed = true, .warps = warps});
  // Before that of elements half as large, which is the same.
  candidates.push_back({.name = "swizzled", .bytes = 2, .banks = 64});
  for (int64_t n : {1, 2, 4, 8}) {
    candidates.push_back(
        {.name = "swizzled", .joined = layout.joined == n, .bytes = n});
    for (int64_t height : {0, 2, 4})
      for (int64_t lanes : {0, 64})
        candidates.push_back({.name = "blocked",
                              .vector = n,
                              .height = height,
                              .warps = warps,
                              .lanes = lanes});
  }
  for (int64_t across : {16, 32})
    candidates.push_back({.name = "swizzled", .bytes = 2, .across = across});
  for (int64_t side : {16, 32})
    for (int64_t n : {4, 8}) {
      Named rows{.name = "mfma", .side = side, .vector = n, .warps = warps};
      candidates.push_back(rows);
      rows.name = "mfma_operand_b";
      candidates.push_back(rows);
      rows.transposed = true;
      candidates.push_back(rows);
    }
  int64_t rows = layout.size(0), columns = layout.size(1);
  for (const Named &named : candidates)
    if (named.isLegal(rows, columns) && named.make(rows, columns) == layout)
      return named;
  return std::nullopt;
}

static void printSizes(AsmPrinter &printer, const TileLayout &layout) {
  for (unsigned dim = 0; dim < layout.rank(); ++dim)
    printer << (dim ? "x" : "") << layout.size(dim);
}

void LayoutAttr::print(AsmPrinter &printer) const {
  const TileLayout &layout = getLayout();
  printer << '<';
  if (auto named = findName(layout)) {
    printer << named->name << ' ';
    printSizes(printer, layout);
    if (named->transposed)
      printer << " transposed";
    if (named->joined)
      printer << " joined";
    for (auto [keyword, number] : kNumbers)
      if (named.value().*number)
        printer << ' ' << keyword << ' ' << named.value().*number;
  } else {
    printSizes(printer, layout);
    printer << ' ';
    layout.base.print(printer.getStream());
    if (layout.repeat != 1)
      printer << " repeat " << layout.repeat;
  }
  printer << '>';
}

//===----------------------------------------------------------------------===//
// Parsing
//===----------------------------------------------------------------------===//

/// `64x64`.
static ParseResult parseSizes(AsmParser &parser, SmallVector<int64_t> &sizes) {
  SMLoc start = parser.getCurrentLocation();
  if (parser.parseDimensionList(sizes, /*allowDynamic=*/false,
                                /*withTrailingX=*/false))
    return failure();
  if (sizes.empty() || sizes.size() > 2 ||
      llvm::any_of(sizes, [](int64_t n) { return n < 1 || n > (1 << 14); }))
    return parser.emitError(start, "expected one or two sizes from 1 to 16384");
  return success();
}

/// `[[0, 1], [8, 0]]`: bases of `axis`.
static ParseResult parseBases(AsmParser &parser, LinearLayout &layout,
                              Axis axis) {
  return parser.parseCommaSeparatedList(
      AsmParser::Delimiter::Square, [&]() -> ParseResult {
        SMLoc start = parser.getCurrentLocation();
        Coord basis;
        if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
              return parser.parseInteger(basis.emplace_back());
            }))
          return failure();
        if (basis.size() != layout.rank())
          return parser.emitError(start, "expected a basis of ")
                 << layout.rank() << " numbers, found " << basis.size();
        for (unsigned dim = 0; dim < basis.size(); ++dim)
          if (basis[dim] < 0 || basis[dim] >= layout.size(dim))
            return parser.emitError(start, "expected a basis inside the tile");
        if (layout.bits(axis) == 20)
          return parser.emitError(start, "expected at most 20 bases");
        layout.add(axis, {basis});
        return success();
      });
}

/// The layout of the first of `parts` equal parts along the last dimension, if
/// no basis leaves it.
static std::optional<LinearLayout> firstPart(const LinearLayout &layout,
                                             int64_t parts) {
  SmallVector<int64_t> sizes;
  for (unsigned dim = 0; dim < layout.rank(); ++dim)
    sizes.push_back(layout.size(dim));
  if (parts < 1 || sizes.back() % parts)
    return std::nullopt;
  sizes.back() /= parts;
  LinearLayout part(sizes);
  for (Axis axis : {Axis::Register, Axis::Lane, Axis::Warp, Axis::Offset})
    for (unsigned bit = 0; bit < layout.bits(axis); ++bit) {
      Coord basis = layout.basis(axis, bit);
      if (basis.back() >= sizes.back())
        return std::nullopt;
      part.add(axis, {basis});
    }
  return part;
}

static Attribute parseBySizes(AsmParser &parser) {
  SmallVector<int64_t> sizes;
  SMLoc start = parser.getCurrentLocation();
  if (parseSizes(parser, sizes))
    return {};
  int64_t width = powerOfTwoPart(sizes.back()), least = sizes.back() / width;
  sizes.back() = width;
  if (!llvm::all_of(sizes, [](int64_t n) { return llvm::isPowerOf2_64(n); })) {
    parser.emitError(start, "expected powers of two before the last size");
    return {};
  }
  LinearLayout layout(sizes);
  do {
    StringRef keyword;
    SMLoc at = parser.getCurrentLocation();
    if (parser.parseKeyword(&keyword) || parser.parseEqual())
      return {};
    const auto *axis = llvm::find_if(
        axisNames, [&](const auto &entry) { return entry.first == keyword; });
    if (axis == std::end(axisNames)) {
      parser.emitError(at, "expected register, lane, warp or offset, found '")
          << keyword << "'";
      return {};
    }
    if (parseBases(parser, layout, axis->second))
      return {};
  } while (succeeded(parser.parseOptionalComma()));
  int64_t repeat = least;
  SMLoc at = parser.getCurrentLocation();
  if (succeeded(parser.parseOptionalKeyword("repeat")) &&
      parser.parseInteger(repeat))
    return {};
  auto part = repeat % least ? std::nullopt : firstPart(layout, repeat / least);
  if (!part) {
    parser.emitError(at, "expected repeat ")
        << least << " or a multiple that no basis is too large for, found "
        << repeat;
    return {};
  }
  return LayoutAttr::get(parser.getContext(), TileLayout{*part, repeat});
}

static Attribute parseByName(AsmParser &parser, StringRef name, SMLoc start) {
  Named named{.name = name};
  SmallVector<int64_t> sizes;
  if (parseSizes(parser, sizes))
    return {};
  named.transposed = succeeded(parser.parseOptionalKeyword("transposed"));
  named.joined = succeeded(parser.parseOptionalKeyword("joined"));
  for (auto [keyword, number] : kNumbers)
    if (succeeded(parser.parseOptionalKeyword(keyword)) &&
        parser.parseInteger(named.*number))
      return {};
  if (sizes.size() != 2 || !named.isLegal(sizes[0], sizes[1])) {
    parser.emitError(start, "there is no such layout '") << name << "'";
    return {};
  }
  return LayoutAttr::get(parser.getContext(), named.make(sizes[0], sizes[1]));
}

Attribute LayoutAttr::parse(AsmParser &parser, Type) {
  if (parser.parseLess())
    return {};
  SMLoc start = parser.getCurrentLocation();
  StringRef name;
  Attribute result;
  if (succeeded(parser.parseOptionalKeyword(
          &name, {"accumulator", "operand_b", "operand_a32", "operand_b32",
                  "quads", "operand_b8", "fma_operand_a", "fma_operand_b",
                  "mfma", "mfma_operand_b", "swizzled", "blocked"})))
    result = parseByName(parser, name, start);
  else
    result = parseBySizes(parser);
  if (!result || parser.parseGreater())
    return {};
  return result;
}
