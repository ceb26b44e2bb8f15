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

  LogicalResult convert(func::FuncOp function) {
    std::string reason;
    AttentionFunction match = matchFunction(function, reason);
    if (!reason.empty())
      return convertUnfused(function, reason);
    dropSignsOfDistances(match.attention);
    auto element =
        cast<FloatType>(getElementTypeOrSelf(match.attention.getQ().getType()));
    int64_t dim = headDim(match.attention.getQ()),
            dimV = headDim(match.attention.getV());
    bool isWide = std::max(dim, dimV) > 128;
    int64_t bytes = element.getWidth() / 8;
    // P of matrix units goes on in registers, that of multiply-adds through
    // memory.
    bool isIeee = bytes == 4 &&
                  match.attention.getPrecision() == tile::DotPrecision::Ieee;
    // Of what is fetched for a score.
    int64_t scoreBytes = 0;
    for (const ArgumentView *view : scoreTiles(match))
      scoreBytes += llvm::divideCeil(
          cast<RankedTensorType>(function.getArgument(view->number).getType())
              .getElementTypeBitWidth(),
          8);
    auto bytesOf = [&](const KernelShape &shape, int64_t slots, int64_t dim,
                       int64_t dimV) {
      int64_t p = isIeee ? shape.rows * shape.columns : 0;
      int64_t right = shape.columns * (dim + dimV);
      // Beside them a line of 128 bytes of each row's output and the barriers
      // have to have room, as tgpu-open-channels asks.
      int64_t ofScores =
          shape.alignedScores
              ? shape.rows * (shape.columns * scoreBytes + 128) + 1024
              : 0;
      return ofScores + bytes * (leftInRegisters
                                     ? right
                                     : shape.rows * dim + slots * right + p);
    };
    auto isTooLarge = [&](const KernelShape &shape, int64_t columns) {
      return tileBytes && bytesOf(shape, 2, llvm::alignTo(dim, columns),
                                  llvm::alignTo(dimV, columns)) > tileBytes;
    };
    auto fitted = [&](KernelShape shape, int64_t columns = 1) {
      while (shape.columns > 16 && isTooLarge(shape, columns))
        shape.columns /= 2;
      while (shape.rows > 16 && isTooLarge(shape, columns))
        shape.rows /= 2;
      return shape;
    };
    // Of 16 bits, keys and values in no more than `most` bytes (0: any).
    auto lessKeys = [&](KernelShape shape, int64_t most) {
      while (most && bytes <= 2 && shape.columns > 16 &&
             bytes * shape.columns * (dim + dimV) > most)
        shape.columns /= 2;
      return shape;
    };
    // In so few that two such tiles have room.
    auto paired = [&](const KernelShape &shape) {
      return lessKeys(shape, isWide ? pairedTileBytes.getValue() : 0);
    };
    KernelShape shape;
    shape.rows = bytes <= 2 ? qTile16bit : qTile;
    if (isWide)
      shape.rows = std::min(shape.rows, wideQTile.getValue());
    shape.columns = kvTile;
    shape = fitted(shape);
    // One slot of each tile is the least that later passes can do with.
    if (int64_t least = bytesOf(shape, 1, dim, dimV);
        tileBytes && least > tileBytes)
      return emitError(function.getLoc())
             << "expected head dimensions of which a tile of " << shape.rows
             << " queries and " << shape.columns << " keys fits into "
             << tileBytes.getValue() << " bytes of shared memory, found " << dim
             << " and " << dimV << ", which take " << least;
    shape.alignment = alignment;
    shape.dimMultiple = dimMultiple;
    shape.foldScale = foldScale;
    bool canFoldScale = foldScale && hasFoldableScale(match.attention);
    shape.positiveScale = canFoldScale && match.attention.getScore().empty();
    std::string name = function.getSymName().str();
    function.setSymName(name + "_s2");
    OpBuilder b(function);
    // What one role has beside roles of other sizes.
    int64_t roundKeys = llvm::bit_floor(uint64_t(shape.columns));
    KernelShape decode = shape;
    decode.rows = decodeQTile;
    decode.columns = roundKeys;
    decode.pack = KernelShape::Heads;
    if (decodeKvTile)
      decode.columns = decodeKvTile;
    decode = lessKeys(paired(decode), decodeTileBytes);
    KernelShape parted = decode;
    parted.parts = decodeParts;
    parted.fewPrograms = 1;
    // Each warp has columns of its own of what the parts are merged to, of
    // registers that fit.
    bool hasParts = variants && decodeParts > 1 && bytes == 2 && dimV <= 128 &&
                    llvm::isPowerOf2_64(dimV) && dimV >= 16 * decodeParts;
    KernelShape packed = shape;
    packed.rows = packedQTile;
    packed.columns = llvm::bit_floor(uint64_t(kvTile));
    packed.pack = KernelShape::Queries;
    packed.maxQueries = packedQTile;
    packed = paired(fitted(packed));
    KernelShape strided = shape;
    strided.unitStride = false;
    strided.alignment = 1;
    strided.positiveScale = false;
    strided.rows = llvm::bit_floor(
        uint64_t(std::min(shape.rows, stridedQTile.getValue())));
    strided.columns = roundKeys;
    strided = paired(strided);
    int64_t widest = std::max(dim, dimV);
    if (middleKvTile && bytes <= 2 && widest > 80 && !isWide)
      shape.columns = middleKvTile;
    if (bytes == 4 && !isIeee && widest <= 64) {
      shape.rows = tf32QTile ? tf32QTile : shape.rows;
      shape.columns = tf32KvTile ? tf32KvTile : shape.columns;
    }
    if (pairedTileBytes && isWide && bytes <= 2) {
      shape.rows = qTile16bit;
      // The accumulator of wider values leaves registers for one block alone.
      if (dimV <= 192)
        shape = paired(shape);
    }
    if (element.isBF16() || (f16AsBf16 && element.isF16())) {
      shape.rows = qTileBf16 ? qTileBf16 : shape.rows;
      shape.columns = kvTileBf16 ? kvTileBf16 : shape.columns;
      if (packedQTileBf16) {
        packed.rows = packed.maxQueries = packedQTileBf16;
        packed.columns = shape.columns;
      }
    }
    KernelShape roles = shape, fetched = shape;
    // More rows leave each thread fewer registers, too few for what a score
    // region needs, or the bounds of three loops and more.
    MaskRule mask = analyzeMask(match.attention.getMask());
    bool isPlain = match.attention.getScore().empty();
    bool isInterval = mask.intervals.size() == 1 && mask.intervals[0].complete;
    bool grows = mask.growsWithQuery(), edges = mask.hasLowerBound();
    // One that follows from a row's number: one loop does.
    bool isOne = isInterval && !mask.readsRows();
    // Tiles where a bias is largest come first, so that maxima hardly rise.
    auto bias = findLinearBias(match.attention);
    bool isSameForRows =
        isInterval && mask.lengths().size() == mask.intervals[0].bounds.size();
    roles.ramp = canFoldScale && bias && bias->isRamp() && isInterval &&
                 (bias->isAbsolute ? isSameForRows : grows);
    roles.positiveScale |= roles.ramp;
    // Three consumers hide what a short form of tanh takes.
    bool isCapped = hasShortCap(match.attention) && isOne && !edges;
    // At D 64 a bias with two sides leaves none for lengths or an LSE.
    bool isLight = widest > 64 || (bias && !bias->isAbsolute) ||
                   (mask.lengths().empty() && match.results.size() == 1);
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
    roles = fitted(roles, rolesSlotColumns);
    KernelShape larger = roles;
    larger.columns += roles.columns / 2;
    if (isBetween && widest <= 160 && larger.columns < mostKeys &&
        !isTooLarge(larger, rolesSlotColumns))
      roles = larger;
    // All rows of a consumer are before the first query or none is: a box that
    // begins there could be read, but not stored.
    roles.endMultiple = 64;
    // Where keys have fewer places than rows, consumers end at different tiles.
    // What pays was measured (dialects/TileGPU/RATIONALE.md, "Roles").
    bool isWideWindow =
        edges && mask.intervals.front().width().value_or(0) >= 4 * roles.rows;
    roles.ownRows = isPlain && isOne && roles.rows > roles.columns &&
                    !isWideWindow && (edges || (grows && widest > 64));
    roles.oneLoop = (roles.ownRows && (edges || isWide)) ||
                    (isPlain && (edges || mask.readsRows())) ||
                    mask.intervals.size() > 1;
    // For programs that begin beside the end of others, which takes bounds of
    // both. Where it pays was measured as well.
    bool isTight = widest <= 64 && grows;
    roles.someKeys = isPlain && isOne && !edges && widest <= 128 && !isMiddle &&
                     !(isTight && !mask.lengths().empty());
    fetched.rows = rolesQTile;
    fetched.columns = rolesKvTile;
    fetched.alignedScores = true;
    fetched = fitted(fetched, rolesSlotColumns);
    bool hasRoles = rolesQTile && bytes == 2;
    KernelShape few = roles;
    few.rows = fewRolesQTile;
    few.columns = llvm::bit_floor(uint64_t(few.columns));
    few.ownRows = few.oneLoop = few.someKeys = false;
    // A processor's second program is short where the first is long.
    few.fewPrograms = fewPrograms * (grows && !edges ? 2 : 1);
    // Blocks of two consumers, all of whose queries see the same keys; of three
    // consumers it does not pay.
    KernelShape clustered = roles;
    clustered.cluster = clusterBlocks;
    bool isFull = isOne && !edges && !grows && mask.lengths().empty();
    bool hasClusters =
        hasRoles && clusterBlocks > 1 && isPlain && isFull && widest >= 128;
    bool hasFew = hasRoles && fewRolesQTile && scoreTiles(match).empty();
    // From where half of its rows are queries, dots of warpgroups are faster;
    // they have at most 256 columns.
    if (hasFew && widest <= 256)
      packed.maxQueries = std::min(packed.maxQueries, fewRolesQTile / 2 - 1);
    for (auto [variant, suffix, wanted] :
         {std::tuple(parted, "_decode_parts", hasParts),
          std::tuple(decode, "_decode", variants.getValue()),
          std::tuple(packed, "_packed", variants && packedQTile),
          std::tuple(fetched, "_roles_fetched", hasRoles),
          std::tuple(few, "_roles_few", hasFew),
          std::tuple(clustered, "_roles_clusters", hasClusters),
          std::tuple(roles, "_roles", hasRoles), std::tuple(shape, "", true),
          std::tuple(strided, "_strided", variants.getValue())})
      if (wanted && hasVariant(match, variant)) {
        SmallVector<tile::KernelOp, 2> kernels;
        if (splits != 1 &&
            (variant.pack != KernelShape::OneHead || variant.fewPrograms))
          kernels.push_back(buildSplit(b, match, variant, name, suffix));
        kernels.push_back(
            buildKernel(b, match, variant, unusedName(name + suffix), name));
        if (StringRef(suffix).starts_with("_roles"))
          for (tile::KernelOp kernel : kernels)
            kernel->setAttr(tile::KernelOp::alternativeAttrName,
                            FlatSymbolRefAttr::get(&getContext(), name));
      }
    function.erase();
    return success();
  }
};

} // namespace
