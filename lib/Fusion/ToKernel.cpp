//===- ToKernel.cpp - tile-to-kernel --------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelSignature.h"
#include "KeyDistances.h"
#include "UnfusedKernel.h"

#include "fa/Fusion/MaskAnalysis.h"
#include "fa/Fusion/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace fa;

namespace fa {
#define GEN_PASS_DEF_TILETOKERNEL
#include "fa/Fusion/Passes.h.inc"
} // namespace fa

namespace {

struct TileToKernel final : fa::impl::TileToKernelBase<TileToKernel> {
  using TileToKernelBase::TileToKernelBase;

  void runOnOperation() override {
    SmallVector<func::FuncOp> functions;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isDeclaration())
        functions.push_back(function);
    for (func::FuncOp function : functions)
      if (failed(convert(function)))
        return signalPassFailure();
  }

  static LogicalResult convertUnfused(func::FuncOp function, StringRef reason) {
    emitRemark(function.getLoc())
        << "runs unfused, on whole tensors: " << reason;
    std::string name = function.getSymName().str();
    function.setSymName(name + "_s2");
    if (failed(buildUnfusedKernel(function, name)))
      return failure();
    function.erase();
    return success();
  }

  /// `name`, with a number behind it if something else has that name.
  std::string unusedName(StringRef name) {
    ModuleOp module = getOperation();
    unsigned number = 0;
    auto isUsed = [&](StringRef each) { return module.lookupSymbol(each); };
    return isUsed(name)
               ? SymbolTable::generateSymbolName<32>(name, isUsed, number)
                     .str()
                     .str()
               : name.str();
  }

  /// As tiles have it.
  int64_t headDim(Value rows) const {
    return llvm::alignTo(cast<RankedTensorType>(rows.getType()).getDimSize(3),
                         dimMultiple);
  }

  /// The kernel on splits of the keys and the one that merges them, which
  /// stand before the kernel of the same shape that needs no workspace.
  tile::KernelOp buildSplit(OpBuilder &b, const AttentionFunction &match,
                            KernelShape shape, StringRef name,
                            StringRef suffix) {
    shape.part = KernelShape::Split;
    shape.splits = splits;
    shape.wideMerge = wideMerge;
    std::string prefix = (name + suffix).str();
    tile::KernelOp first =
        buildKernel(b, match, shape, unusedName(prefix + "_split"), name);
    buildMergeKernel(b, match, shape, unusedName(prefix + "_merge"), first);
    return first;
  }

  //===--- What shapes follow from ---===//

  struct Problem {
    explicit Problem(const TileToKernel &pass, const AttentionFunction &match)
        : match(match), attention(match.attention),
          mask(analyzeMask(attention.getMask())),
          element(cast<FloatType>(
              getElementTypeOrSelf(attention.getQ().getType()))),
          dim(pass.headDim(attention.getQ())),
          dimV(pass.headDim(attention.getV())), widest(std::max(dim, dimV)),
          bytes(element.getWidth() / 8),
          isIeee(bytes == 4 &&
                 attention.getPrecision() == tile::DotPrecision::Ieee),
          isPlain(attention.getScore().empty()) {
      func::FuncOp function = match.function;
      for (const ArgumentView *view : scoreTiles(match))
        scoreBytes += llvm::divideCeil(
            cast<RankedTensorType>(function.getArgument(view->number).getType())
                .getElementTypeBitWidth(),
            8);
    }

    bool isWide() const { return widest > 128; }

    const AttentionFunction &match;
    tile::OnlineAttentionOp attention;
    MaskRule mask;
    FloatType element;
    int64_t dim, dimV, widest; ///< head dimensions, as tiles have them
    int64_t bytes;             ///< of an element
    int64_t scoreBytes = 0;    ///< of what is fetched for a score
    bool isIeee;               ///< f32 is multiplied as it is
    bool isPlain;              ///< nothing changes scores
  };

  //===--- Bytes ---===//

  /// P of matrix units goes on in registers, that of multiply-adds through
  /// memory.
  int64_t bytesOf(const Problem &problem, const KernelShape &shape,
                  int64_t slots, int64_t dim, int64_t dimV) const {
    int64_t p = problem.isIeee ? shape.rows * shape.columns : 0;
    int64_t right = shape.columns * (dim + dimV);
    // Beside them a line of 128 bytes of each row's output and the barriers
    // have to have room, as tgpu-open-channels asks.
    int64_t ofScores =
        shape.alignedScores
            ? shape.rows * (shape.columns * problem.scoreBytes + 128) + 1024
            : 0;
    return ofScores +
           problem.bytes *
               (leftInRegisters ? right : shape.rows * dim + slots * right + p);
  }

  /// With two slots whose head dimensions are multiples of `columns`.
  bool isTooLarge(const Problem &problem, const KernelShape &shape,
                  int64_t columns) const {
    return tileBytes &&
           bytesOf(problem, shape, 2, llvm::alignTo(problem.dim, columns),
                   llvm::alignTo(problem.dimV, columns)) > tileBytes;
  }

  KernelShape fitted(const Problem &problem, KernelShape shape,
                     int64_t columns = 1) const {
    while (shape.columns > 16 && isTooLarge(problem, shape, columns))
      shape.columns /= 2;
    while (shape.rows > 16 && isTooLarge(problem, shape, columns))
      shape.rows /= 2;
    return shape;
  }

  /// Of 16 bits, keys and values in no more than `most` bytes (0: any).
  static KernelShape lessKeys(const Problem &problem, KernelShape shape,
                              int64_t most) {
    int64_t bytes = problem.bytes * (problem.dim + problem.dimV);
    while (most && problem.bytes <= 2 && shape.columns > 16 &&
           bytes * shape.columns > most)
      shape.columns /= 2;
    return shape;
  }

  /// In so few that two such tiles have room.
  KernelShape paired(const Problem &problem, const KernelShape &shape) const {
    return lessKeys(problem, shape,
                    problem.isWide() ? pairedTileBytes.getValue() : 0);
  }

  //===--- Shapes for one role ---===//

  /// What all variants begin with.
  FailureOr<KernelShape> chooseFirst(const Problem &problem) const {
    KernelShape shape;
    shape.rows = problem.bytes <= 2 ? qTile16bit : qTile;
    if (problem.isWide())
      shape.rows = std::min(shape.rows, wideQTile.getValue());
    shape.columns = kvTile;
    shape = fitted(problem, shape);
    // One slot of each tile is the least that later passes can do with.
    if (int64_t least = bytesOf(problem, shape, 1, problem.dim, problem.dimV);
        tileBytes && least > tileBytes) {
      func::FuncOp function = problem.match.function;
      return emitError(function.getLoc())
             << "expected head dimensions of which a tile of " << shape.rows
             << " queries and " << shape.columns << " keys fits into "
             << tileBytes.getValue() << " bytes of shared memory, found "
             << problem.dim << " and " << problem.dimV << ", which take "
             << least;
    }
    shape.alignment = alignment;
    shape.dimMultiple = dimMultiple;
    shape.foldScale = foldScale;
    shape.positiveScale =
        foldScale && hasFoldableScale(problem.attention) && problem.isPlain;
    return shape;
  }

  /// Beside roles of other sizes.
  static int64_t roundKeys(const KernelShape &first) {
    return llvm::bit_floor(uint64_t(first.columns));
  }

  KernelShape chooseDecode(const Problem &problem, KernelShape first) const {
    KernelShape shape = first;
    shape.rows = decodeQTile;
    shape.columns = decodeKvTile ? decodeKvTile : roundKeys(first);
    shape.pack = KernelShape::Heads;
    return lessKeys(problem, paired(problem, shape), decodeTileBytes);
  }

  KernelShape choosePacked(const Problem &problem, KernelShape shape) const {
    shape.rows = shape.maxQueries = packedQTile;
    shape.columns = llvm::bit_floor(uint64_t(kvTile));
    shape.pack = KernelShape::Queries;
    return paired(problem, fitted(problem, shape));
  }

  KernelShape chooseStrided(const Problem &problem, KernelShape first) const {
    KernelShape shape = first;
    shape.unitStride = false;
    shape.alignment = 1;
    shape.positiveScale = false;
    shape.rows = llvm::bit_floor(
        uint64_t(std::min(shape.rows, stridedQTile.getValue())));
    shape.columns = roundKeys(first);
    return paired(problem, shape);
  }

  /// Whether f32 is multiplied as sums of bf16. Small head dimensions leave too
  /// much of a matrix unit's steps of 32 empty.
  bool isSum(const Problem &problem) const {
    return sumsOfBf16 && problem.element.isF32() &&
           std::min(problem.dim, problem.dimV) >= 48;
  }

  bool isAsBf16(const Problem &problem) const {
    return problem.element.isBF16() || isSum(problem) ||
           (sumsOfBf16 && problem.element.isF16());
  }

  KernelShape chooseGeneral(const Problem &problem, KernelShape shape) const {
    if (middleKvTile && problem.bytes <= 2 && problem.widest > 80 &&
        !problem.isWide())
      shape.columns = middleKvTile;
    if (problem.bytes == 4 && !problem.isIeee && problem.widest <= 64) {
      shape.rows = tf32QTile ? tf32QTile : shape.rows;
      shape.columns = tf32KvTile ? tf32KvTile : shape.columns;
    }
    if (pairedTileBytes && problem.isWide() && problem.bytes <= 2) {
      shape.rows = qTile16bit;
      // The accumulator of wider values leaves registers for one block alone.
      if (problem.dimV <= 192)
        shape = paired(problem, shape);
    }
    if (isAsBf16(problem)) {
      shape.rows = qTileBf16 ? qTileBf16 : shape.rows;
      shape.columns = kvTileBf16 ? kvTileBf16 : shape.columns;
      // Three for an element take more of the second cache.
      if (isSum(problem))
        shape.columns /= 2;
    }
    return shape;
  }

  //===--- Shapes for roles ---===//

  /// What pays was measured (dialects/TileGPU/RATIONALE.md, "Roles").
  KernelShape chooseRoles(const Problem &problem, KernelShape roles) const {
    const MaskRule &mask = problem.mask;
    int64_t widest = problem.widest;
    bool isPlain = problem.isPlain;
    bool isInterval = mask.intervals.size() == 1 && mask.intervals[0].complete;
    bool grows = mask.growsWithQuery(), edges = mask.hasLowerBound();
    // One that follows from a row's number: one loop does.
    bool isOne = isInterval && !mask.readsRows();
    // Tiles where a bias is largest come first, so that maxima hardly rise.
    auto bias = findLinearBias(problem.attention);
    bool isSameForRows =
        isInterval && mask.lengths().size() == mask.intervals[0].bounds.size();
    roles.ramp = foldScale && hasFoldableScale(problem.attention) && bias &&
                 bias->isRamp() && isInterval &&
                 (bias->isAbsolute ? isSameForRows : grows);
    roles.positiveScale |= roles.ramp;
    // More rows leave each thread fewer registers, too few for what a score
    // region needs, or the bounds of three loops and more. Three consumers hide
    // what a short form of tanh takes.
    bool isCapped = hasShortCap(problem.attention) && isOne && !edges;
    // At D 64 a bias with two sides leaves none for lengths or an LSE.
    bool isLight =
        widest > 64 || (bias && !bias->isAbsolute) ||
        (mask.lengths().empty() && problem.match.results.size() == 1);
    bool isKnown = llvm::all_of(
        mask.intervals, [](const KeyInterval &each) { return each.complete; });
    bool isNarrow = isPlain ? (isKnown && !mask.readsRows()) || !edges
                            : isCapped || (roles.ramp && !edges && isLight);
    bool isMiddle = widest > 64 && (isCapped ? widest <= 128 : widest < 128) &&
                    isNarrow && middleRolesKvTile;
    roles.rows =
        (widest <= 64 && isNarrow) || isMiddle ? narrowRolesQTile : rolesQTile;
    roles.columns = isMiddle ? middleRolesKvTile : rolesKvTile;
    // Tiles between powers of two were faster for plain scores, if no mask has
    // a lower edge. What a ramp is multiplied with comes in powers of two
    // alone.
    bool isBetween = !tileBytes || (isPlain && !edges);
    if (roles.ramp || !isBetween)
      roles.columns = llvm::bit_floor(uint64_t(roles.columns));
    int64_t mostKeys = roles.columns;
    roles = fitted(problem, roles, rolesSlotColumns);
    KernelShape larger = roles;
    larger.columns += roles.columns / 2;
    if (isBetween && widest <= 160 && larger.columns < mostKeys &&
        !isTooLarge(problem, larger, rolesSlotColumns))
      roles = larger;
    // All rows of a consumer are before the first query or none is: a box that
    // begins there could be read, but not stored.
    roles.endMultiple = 64;
    // Where keys have fewer places than rows, consumers end at different tiles.
    bool isWideWindow =
        edges && mask.intervals.front().width().value_or(0) >= 4 * roles.rows;
    roles.ownRows = isPlain && isOne && roles.rows > roles.columns &&
                    !isWideWindow && (edges || (grows && widest > 64));
    roles.oneLoop = (roles.ownRows && (edges || problem.isWide())) ||
                    (isPlain && (edges || mask.readsRows())) ||
                    mask.intervals.size() > 1;
    // For programs that begin beside the end of others, which takes bounds of
    // both. Where it pays was measured as well.
    bool isTight = widest <= 64 && grows;
    roles.someKeys = isPlain && isOne && !edges && widest <= 128 && !isMiddle &&
                     !(isTight && !mask.lengths().empty());
    return roles;
  }

  KernelShape chooseFetched(const Problem &problem, KernelShape shape) const {
    shape.rows = rolesQTile;
    shape.columns = rolesKvTile;
    shape.alignedScores = true;
    return fitted(problem, shape, rolesSlotColumns);
  }

  KernelShape chooseFew(const Problem &problem, KernelShape shape) const {
    const MaskRule &mask = problem.mask;
    shape.rows = fewRolesQTile;
    shape.columns = llvm::bit_floor(uint64_t(shape.columns));
    shape.ownRows = shape.oneLoop = shape.someKeys = false;
    // A processor's second program is short where the first is long.
    bool isSteep = mask.growsWithQuery() && !mask.hasLowerBound();
    shape.fewPrograms = fewPrograms * (isSteep ? 2 : 1);
    return shape;
  }

  KernelShape choosePackedRoles(const Problem &problem, KernelShape shape,
                                const KernelShape &roles) const {
    shape.rows = packedRolesQTile;
    shape.columns = llvm::bit_floor(uint64_t(roles.columns));
    shape.pack = KernelShape::Queries;
    shape.maxQueries = packedRolesQTile;
    shape.fewerRows = true;
    return fitted(problem, shape, rolesSlotColumns);
  }

  /// Whether blocks of two consumers, all of whose queries see the same keys,
  /// are to fetch together; of three consumers it does not pay.
  bool hasClusters(const Problem &problem) const {
    const MaskRule &mask = problem.mask;
    return clusterBlocks > 1 && problem.isPlain && problem.widest >= 128 &&
           mask.intervals.size() == 1 && mask.intervals[0].complete &&
           !mask.readsRows() && !mask.hasLowerBound() &&
           !mask.growsWithQuery() && mask.lengths().empty();
  }

  //===--- Variants ---===//

  struct Variant {
    StringRef suffix;
    KernelShape shape;
  };

  /// In the order in which a launch looks for one.
  SmallVector<Variant> chooseVariants(const Problem &problem,
                                      const KernelShape &first) const {
    KernelShape general = chooseGeneral(problem, first);
    bool hasRoles = rolesQTile && problem.bytes == 2;
    bool hasFew =
        hasRoles && fewRolesQTile && scoreTiles(problem.match).empty();
    SmallVector<Variant> all;
    KernelShape decode = chooseDecode(problem, first);
    // Each warp has columns of its own of what the parts are merged to, of
    // registers that fit.
    if (variants && decodeParts > 1 && problem.bytes == 2 &&
        problem.dimV <= 128 && llvm::isPowerOf2_64(problem.dimV) &&
        problem.dimV >= 16 * decodeParts) {
      KernelShape parted = decode;
      parted.parts = decodeParts;
      parted.fewPrograms = 1;
      all.push_back({"_decode_parts", parted});
    }
    if (variants)
      all.push_back({"_decode", decode});
    if (variants && packedQTile) {
      KernelShape packed = choosePacked(problem, first);
      if (isAsBf16(problem) && !isSum(problem) && packedQTileBf16) {
        packed.rows = packed.maxQueries = packedQTileBf16;
        packed.columns = general.columns;
      }
      // From where half of its rows are queries, tiles of more rows or of one
      // head are faster; dots of warpgroups have at most 256 columns.
      if (hasFew && problem.widest <= 256)
        packed.maxQueries = std::min(packed.maxQueries, fewRolesQTile / 2 - 1);
      all.push_back({"_packed", packed});
    }
    if (variants && shortQueries && isSum(problem)) {
      all.push_back({"_short", first});
      all.back().shape.maxQueries = shortQueries;
    }
    if (hasRoles) {
      KernelShape roles = chooseRoles(problem, general);
      all.push_back({"_roles_fetched", chooseFetched(problem, general)});
      if (hasFew && variants && packedRolesQTile)
        all.push_back(
            {"_roles_packed", choosePackedRoles(problem, general, roles)});
      if (hasFew)
        all.push_back({"_roles_few", chooseFew(problem, roles)});
      if (hasClusters(problem)) {
        all.push_back({"_roles_clusters", roles});
        all.back().shape.cluster = clusterBlocks;
      }
      all.push_back({"_roles", roles});
    }
    all.push_back({"", general});
    if (variants)
      all.push_back({"_strided", chooseStrided(problem, first)});
    return all;
  }

  LogicalResult convert(func::FuncOp function) {
    std::string reason;
    AttentionFunction match = matchFunction(function, reason);
    if (!reason.empty())
      return convertUnfused(function, reason);
    dropSignsOfDistances(match.attention);
    Problem problem(*this, match);
    FailureOr<KernelShape> first = chooseFirst(problem);
    if (failed(first))
      return failure();
    std::string name = function.getSymName().str();
    function.setSymName(name + "_s2");
    OpBuilder b(function);
    for (const auto &[suffix, shape] : chooseVariants(problem, *first)) {
      if (!hasVariant(match, shape))
        continue;
      SmallVector<tile::KernelOp, 2> kernels;
      if (splits != 1 &&
          (shape.pack != KernelShape::OneHead || shape.fewPrograms))
        kernels.push_back(buildSplit(b, match, shape, name, suffix));
      kernels.push_back(
          buildKernel(b, match, shape, unusedName(name + suffix.str()), name));
      if (suffix.starts_with("_roles"))
        for (tile::KernelOp kernel : kernels)
          kernel->setAttr(tile::KernelOp::alternativeAttrName,
                          FlatSymbolRefAttr::get(&getContext(), name));
    }
    function.erase();
    return success();
  }
};

} // namespace
