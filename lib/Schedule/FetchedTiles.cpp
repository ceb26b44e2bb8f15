//===- FetchedTiles.cpp - what a producer can fetch -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FetchedTiles.h"

#include "LeftTiles.h"
#include "NarrowTiles.h"
#include "OwnOutput.h"

#include "fa/Layout/NamedLayouts.h"

#include "mlir/Analysis/SliceAnalysis.h"

using namespace mlir;
using namespace fa;
using namespace fa::tile;
using namespace fa::tgpu;

/// A box has no more elements along a dimension (CUDA Driver API,
/// cuTensorMapEncodeTiled).
static constexpr int64_t kMostColumns = 256;

LoadOp fa::findTurnedLoad(Value value) {
  auto op = value.getDefiningOp<TransposeOp>();
  auto load = op ? op.getInput().getDefiningOp<LoadOp>() : LoadOp();
  bool isOwn = load && load->hasOneUse() &&
               op.getPermutation() == ArrayRef<int64_t>{1, 0} &&
               llvm::none_of(op->getUsers(), llvm::IsaPred<DotOp>);
  return isOwn ? load : LoadOp();
}

namespace {

class TileFinder {
public:
  TileFinder(KernelOp kernel, std::string &reason)
      : kernel(kernel), reason(reason) {}

  bool find() {
    WalkResult walk = kernel.walk([&](Operation *op) {
      if (isa<TransposeOp, ReduceOp, ScanOp>(op) &&
          !findTurnedLoad(op->getResult(0)))
        return WalkResult((refuse("'" + op->getName().getStringRef() +
                                  "' may move a tile between threads"),
                           failure()));
      auto dot = dyn_cast<DotOp>(op);
      return WalkResult(success(!dot || findOperands(dot)));
    });
    if (walk.wasInterrupted())
      return false;
    if (tiles.loops.empty())
      return refuse("no loop has a dot");
    markNarrow(kernel, tiles);
    findScores();
    findVectors();
    std::string why = whyNotWidened(tiles);
    return why.empty() ? fetchAlike() : refuse(why);
  }

  FetchedTiles tiles;

private:
  bool refuse(const Twine &why) {
    reason = why.str();
    return false;
  }

  static bool exchangesAlike(const FetchingLoop &one,
                             const FetchingLoop &other) {
    return one.exchanges.size() == other.exchanges.size() &&
           llvm::all_of_zip(one.exchanges, other.exchanges,
                            [](ExchangeOp mine, ExchangeOp theirs) {
                              return mine.getType() == theirs.getType();
                            });
  }

  static bool areAlike(ArrayRef<FetchedTile> mine,
                       ArrayRef<FetchedTile> theirs) {
    return llvm::all_of_zip(
        mine, theirs, [](const FetchedTile &one, const FetchedTile &other) {
          return LoadOp(one.load).getType() == LoadOp(other.load).getType() &&
                 one.type() == other.type();
        });
  }

  /// One step counts the tiles of all loops: a channel that a loop leaves out
  /// would be behind.
  bool fetchAlike() {
    for (FetchingLoop &entry : tiles.loops) {
      if (!areAlike(entry.fetched, tiles.loops[0].fetched) ||
          !areAlike(entry.lefts, tiles.loops[0].lefts))
        return refuse("loops fetch different tiles");
      if (!exchangesAlike(entry, tiles.loops[0]))
        return refuse("consumers exchange different tiles in its loops");
      if (!entry.exchanges.empty() &&
          (followsFromOwnRows(entry.begin) || followsFromOwnRows(entry.end)))
        return refuse("consumers that exchange tiles do not walk the same");
    }
    return true;
  }

  /// Tiles that come as they are: in whole lines of slots, from an argument
  /// with no end of its own. A loop that has others than the first keeps all as
  /// loads.
  void findScores() {
    std::string ignored;
    for (FetchingLoop &entry : tiles.loops)
      for (auto load : entry.loop.getBody()->getOps<LoadOp>()) {
        RankedTensorType type = typeOf(load);
        if (type.getRank() != 2 || type.getDimSize(0) != 64 ||
            !isLineOfScores(type) || isStorageFloat(type) ||
            llvm::any_of(load->getUsers(), llvm::IsaPred<DotOp>))
          continue;
        if (auto box = findTensorBox(load, ignored); box && !box->end)
          entry.scores.push_back({load, *box});
      }
    for (FetchingLoop &entry : tiles.loops) {
      bool alike = entry.scores.size() == tiles.loops[0].scores.size();
      for (auto [one, other] : llvm::zip(entry.scores, tiles.loops[0].scores))
        alike &= one.load.getType() == other.load.getType() &&
                 one.box.argument == other.box.argument;
      if (alike)
        continue;
      for (FetchingLoop &each : tiles.loops)
        each.scores.clear();
      return;
    }
  }

  /// Vectors of f32 that end with their argument, but not those of a consumer's
  /// own rows. Where loops do not have the same ones, all stay loads.
  void findVectors() {
    for (FetchingLoop &entry : tiles.loops)
      for (auto load : entry.loop.getBody()->getOps<LoadOp>())
        if (typeOf(load).getRank() == 1 &&
            typeOf(load).getElementType().isF32() &&
            vectorSlots(typeOf(load), 1).getShape()[1] <= kMostColumns &&
            !isOwn(load))
          if (auto box = findVectorBox(load))
            entry.vectors.push_back({load, *box});
    const auto &first = tiles.loops[0].vectors;
    bool areAlike = llvm::all_of(tiles.loops, [&](const FetchingLoop &entry) {
      return entry.vectors.size() == first.size() &&
             llvm::all_of_zip(
                 entry.vectors, first,
                 [](const FetchedTile &one, const FetchedTile &other) {
                   return LoadOp(one.load).getType() ==
                          LoadOp(other.load).getType();
                 });
    });
    if (!areAlike)
      for (FetchingLoop &entry : tiles.loops)
        entry.vectors.clear();
  }

  /// Of 8, 16 or 32 bits; a slot has nothing behind it.
  static bool isLineOfScores(RankedTensorType type) {
    unsigned bits = type.getElementTypeBitWidth();
    return (bits == 8 || bits == 16 || bits == 32) &&
           type.getDimSize(1) * bits % 1024 == 0;
  }

  bool findOperands(DotOp dot) {
    auto loop = dyn_cast<scf::ForOp>(dot->getParentOp());
    if (!loop || loop->getParentOp() != kernel)
      return refuse("a dot is not in a loop of its own");
    if (!fits(dot))
      return false;
    if (tiles.loops.empty() || tiles.loops.back().loop != loop)
      tiles.loops.push_back(
          {loop,
           loop.getLowerBound(),
           loop.getUpperBound(),
           {},
           {},
           {},
           {},
           llvm::to_vector(loop.getBody()->getOps<ExchangeOp>())});
    return findRight(dot, tiles.loops.back().fetched) &&
           findLeft(dot, tiles.loops.back().lefts);
  }

  /// Whether `load` stands before all loops, and stays for them.
  bool isOfProgram(LoadOp load) {
    return load->getBlock() == &kernel.getBody().front();
  }

  /// Whether each consumer loads another tile.
  static bool isOwn(LoadOp load) {
    llvm::SetVector<Operation *> slice;
    for (Value index : load.getIndices()) {
      (void)getBackwardSlice(index, &slice);
      if (Operation *op = index.getDefiningOp())
        slice.insert(op);
    }
    return llvm::any_of(slice, llvm::IsaPred<ConsumerIdOp>);
  }

  /// Any number of dots of a step may read a tile.
  bool findRight(DotOp dot, SmallVectorImpl<FetchedTile> &ofStep) {
    LoadOp right = rightLoad(dot);
    bool stays = right && isOfProgram(right);
    bool onlyRight =
        right && (stays || right->getBlock() == dot->getBlock()) &&
        llvm::all_of(tileOf(right).getUses(), [&](OpOperand &use) {
          auto user = dyn_cast<DotOp>(use.getOwner());
          bool isRight = isa<ColumnsOp>(use.getOwner()) ||
                         (user && &use == &user.getBMutable());
          return isRight && (stays || use.getOwner()->getBlock() ==
                                          use.get().getParentBlock());
        });
    if (!onlyRight)
      return refuse("the right operand of a dot is not a load beside it that "
                    "right operands alone are");
    SmallVectorImpl<FetchedTile> &fetched = !stays         ? ofStep
                                            : isOwn(right) ? tiles.own
                                                           : tiles.whole;
    if (llvm::any_of(fetched, [&](const FetchedTile &known) {
          return known.load == right;
        }))
      return true;
    auto found = fetch(right);
    if (found)
      fetched.push_back(*found);
    return found.has_value();
  }

  bool findLeft(DotOp dot, SmallVectorImpl<FetchedTile> &ofStep) {
    LoadOp left = loadOf(dot.getA());
    if (!left)
      return true;
    bool stays = isOfProgram(left);
    SmallVectorImpl<FetchedTile> &fetched = !stays        ? ofStep
                                            : isOwn(left) ? tiles.own
                                                          : tiles.whole;
    if (llvm::any_of(fetched,
                     [&](FetchedTile &known) { return known.load == left; }))
      return true;
    bool onlyLeft = llvm::all_of(tileOf(left).getUses(), [](OpOperand &use) {
      auto user = dyn_cast<DotOp>(use.getOwner());
      return user && &use == &user.getAMutable();
    });
    // Of a step it is one dot's beside it: who reads it lets it go.
    bool isBeside =
        left->getBlock() == dot->getBlock() && tileOf(left).hasOneUse();
    if (!onlyLeft || !(stays || isBeside))
      return refuse("the left operand of a dot is used otherwise, too");
    auto leftFound = fetch(left);
    if (!leftFound)
      return false;
    fetched.push_back(*leftFound);
    return true;
  }

  /// What wgmma takes.
  bool fits(DotOp dot) {
    RankedTensorType a = typeOf(dot.getA()), right = typeOf(dot.getB()),
                     r = typeOf(dot.getResult());
    Type element = a.getElementType();
    if (!(element.isF16() || element.isBF16()) ||
        right.getElementType() != element || !r.getElementType().isF32())
      return refuse("a dot is not of f16 or bf16 with f32 results");
    if (r.getDimSize(0) != 64 || r.getDimSize(1) % 8 || r.getDimSize(1) > 256 ||
        a.getDimSize(1) % 16 || right.getDimSize(0) % 16 ||
        right.getDimSize(0) > 256)
      return refuse("a dot's sizes are not those of a warpgroup");
    return true;
  }

  /// What dots read of `load`: its tile or, of one of 8 bits, what that alone
  /// is widened to.
  static Value tileOf(LoadOp load) {
    auto widening = load->hasOneUse()
                        ? dyn_cast<arith::ExtFOp>(*load->getUsers().begin())
                        : arith::ExtFOp();
    return widening ? widening.getOut() : load.getResult();
  }

  std::optional<FetchedTile> fetch(LoadOp load) {
    auto box = findTensorBox(load, reason);
    if (!box)
      return std::nullopt;
    return FetchedTile{load, *box, tileOf(load).getDefiningOp<arith::ExtFOp>()};
  }

  KernelOp kernel;
  std::string &reason;
};

} // namespace

LoadOp fa::loadOf(Value operand) {
  auto widening = operand.getDefiningOp<arith::ExtFOp>();
  if (widening && isStorageFloat(widening.getIn().getType()))
    operand = widening.getIn();
  return operand.getDefiningOp<LoadOp>();
}

LoadOp fa::rightLoad(DotOp dot) {
  Value right = dot.getB();
  if (auto columns = right.getDefiningOp<ColumnsOp>())
    right = columns.getInput();
  return loadOf(right);
}

std::optional<FetchedTiles> fa::findFetchedTiles(KernelOp kernel,
                                                 std::string &reason) {
  if (!OwnOutput(kernel).empty()) {
    reason = "it writes what it reads";
    return std::nullopt;
  }
  TileFinder finder(kernel, reason);
  if (!finder.find())
    return std::nullopt;
  return std::move(finder.tiles);
}

BufferType fa::slotsFor(RankedTensorType tile, int64_t slots) {
  int64_t bytes = tile.getElementTypeBitWidth() / 8, line = 128 / bytes;
  TileLayout layout =
      swizzledShared(llvm::bit_ceil(uint64_t(tile.getDimSize(0))), line, bytes);
  layout.repeat = llvm::divideCeil(tile.getDimSize(1), line);
  int64_t shape[] = {tile.getDimSize(0), layout.size(1)};
  return BufferType::get(tile.getContext(), slots, shape, tile.getElementType(),
                         LayoutAttr::get(tile.getContext(), layout));
}

BufferType fa::vectorSlots(RankedTensorType vector, int64_t slots) {
  int64_t bytes = vector.getElementTypeBitWidth() / 8, line = 128 / bytes;
  TileLayout layout = swizzledShared(/*rows=*/1, line, bytes);
  layout.repeat =
      std::max<int64_t>(llvm::divideCeil(vector.getDimSize(0), line), 2);
  int64_t shape[] = {1, layout.size(1)};
  return BufferType::get(vector.getContext(), slots, shape,
                         vector.getElementType(),
                         LayoutAttr::get(vector.getContext(), layout));
}

BufferType fa::exchangeSlots(ExchangeOp exchange, int64_t slots) {
  RankedTensorType rows = typeOf(exchange.getValue());
  int64_t all = typeOf(exchange.getResult()).getDimSize(1);
  return slotsFor(rows.clone({all, rows.getDimSize(1)}), slots);
}
