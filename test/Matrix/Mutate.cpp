//===- Mutate.cpp - faults planted in kernels -----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Mutate.h"

#include "Tile/Tile.h"
#include "fa/Conversion/TileToHost.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace fa;

/// acc * broadcast(alpha) becomes acc.
static void dropRescale(tile::KernelOp kernel) {
  kernel.walk([](tile::DotOp dot) {
    if (auto scaled = dot.getAcc() ? dot.getAcc().getDefiningOp<arith::MulFOp>()
                                   : arith::MulFOp())
      dot.getAccMutable().assign(isa<BlockArgument>(scaled.getLhs())
                                     ? scaled.getLhs()
                                     : scaled.getRhs());
  });
}

static void shiftMask(tile::KernelOp kernel) {
  kernel.walk([](arith::CmpIOp compare) {
    if (isa<TensorType>(compare.getType()) &&
        compare.getPredicate() == arith::CmpIPredicate::sle)
      compare.setPredicate(arith::CmpIPredicate::slt);
  });
}

static void skipLastTile(tile::KernelOp kernel) {
  scf::ForOp last;
  kernel.walk([&](scf::ForOp loop) { last = loop; });
  if (last) // rows' statistics have none
    last.setUpperBound(last.getLowerBound());
}

/// All sequences have the pages of the first.
static void firstSequence(tile::KernelOp kernel) {
  kernel.walk([](tile::PagedViewOp view) {
    OpBuilder b(view);
    view.getSequenceMutable().assign(
        arith::ConstantIndexOp::create(b, view.getLoc(), 0));
  });
}

/// A sequence has as many keys as its row of the table has room for.
static void pastLengths(tile::KernelOp kernel) {
  kernel.walk([](tile::PagedViewOp view) {
    ImplicitLocOpBuilder b(view.getLoc(), view);
    Value rows = memref::DimOp::create(b, view.getPages(), 2);
    Value width = memref::DimOp::create(b, view.getTable(), 1);
    view.getLengthMutable().assign(arith::MulIOp::create(b, rows, width));
  });
}

/// The loads of scales of keys and values, f32 [b, hkv].
static SmallVector<memref::LoadOp> scalesOf(tile::KernelOp kernel) {
  SmallVector<memref::LoadOp> loads;
  kernel.walk([&](memref::LoadOp load) {
    if (load.getType().isF32() && load.getMemRefType().getRank() == 2)
      loads.push_back(load);
  });
  return loads;
}

/// Each KV head has the scales of the next, the last those of the first.
static void nextScale(tile::KernelOp kernel) {
  for (memref::LoadOp load : scalesOf(kernel)) {
    ImplicitLocOpBuilder b(load.getLoc(), load);
    Value one = arith::ConstantIndexOp::create(b, 1);
    Value next = arith::AddIOp::create(b, load.getIndices()[1], one);
    Value heads = memref::DimOp::create(b, load.getMemRef(), 1);
    load.getIndicesMutable().slice(1, 1).assign(
        arith::RemUIOp::create(b, next, heads));
  }
}

/// All scales are 1.
static void noScales(tile::KernelOp kernel) {
  for (memref::LoadOp load : scalesOf(kernel)) {
    OpBuilder b(load);
    load.replaceAllUsesWith(
        arith::ConstantOp::create(b, load.getLoc(), b.getF32FloatAttr(1))
            .getResult());
  }
}

/// Scales of some keys, f32 [n] of a head, are those of as many keys behind.
static void nextScales(tile::KernelOp kernel) {
  auto isOfHead = [](Value memory) {
    auto view = memory.getDefiningOp<memref::SubViewOp>();
    return view && view.getType().getRank() == 1 &&
           view.getSourceType().getRank() == 3 &&
           view.getType().getElementType().isF32();
  };
  auto oneBehind = [](Operation *op, OpOperand &index) {
    ImplicitLocOpBuilder b(op->getLoc(), op);
    Value place = index.get();
    if (auto tile = dyn_cast<RankedTensorType>(place.getType()))
      index.set(arith::AddIOp::create(
          b, place,
          arith::ConstantOp::create(
              b, DenseElementsAttr::get(tile, b.getIndexAttr(1)))));
    else
      index.set(arith::AddIOp::create(b, place,
                                      arith::ConstantIndexOp::create(b, 1)));
  };
  kernel.walk([&](Operation *op) {
    if (auto load = dyn_cast<tile::LoadOp>(op)) {
      if (isOfHead(load.getSource()))
        oneBehind(load, load.getIndicesMutable()[0]);
    } else if (auto gather = dyn_cast<tile::GatherOp>(op)) {
      if (isOfHead(gather.getSource()))
        oneBehind(gather, gather.getIndicesMutable()[0]);
    } else if (auto number = dyn_cast<memref::LoadOp>(op)) {
      // Still at most the last one.
      auto place = number.getIndices().empty()
                       ? arith::MinSIOp()
                       : number.getIndices()[0].getDefiningOp<arith::MinSIOp>();
      if (place && isOfHead(number.getMemRef()))
        oneBehind(place, place.getLhsMutable());
    }
  });
}

/// Codes of 8 bits are read as those of the fnuz formats, which are half as
/// large.
static void halveCodes(tile::KernelOp kernel) {
  kernel.walk([](arith::ExtFOp wide) {
    if (!tile::isStorageFloat(wide.getIn().getType()))
      return;
    ImplicitLocOpBuilder b(wide.getLoc(), wide->getContext());
    b.setInsertionPointAfter(wide);
    auto type = tile::typeOf(wide.getOut());
    Value half = arith::ConstantOp::create(
        b, DenseElementsAttr::get(type,
                                  b.getFloatAttr(type.getElementType(), 0.5)));
    Value halved = arith::MulFOp::create(b, wide.getOut(), half);
    wide.getOut().replaceAllUsesExcept(halved, halved.getDefiningOp());
  });
}

/// The bit of each key of a draft is that of the one behind it.
static void nextBit(tile::KernelOp kernel) {
  kernel.walk([](arith::ShLIOp bit) {
    OpBuilder b(bit);
    bit.getLhsMutable().assign(
        arith::AddIOp::create(b, bit.getLoc(), bit.getLhs(), bit.getLhs()));
  });
}

/// tf32 where IEEE was asked for, and the other way round.
static void swapPrecision(tile::KernelOp kernel) {
  kernel.walk([](tile::DotOp dot) {
    if (getElementTypeOrSelf(dot.getA().getType()).isF32())
      dot.setPrecision(dot.isTf32() ? tile::DotPrecision::Ieee
                                    : tile::DotPrecision::Tf32);
  });
}

/// Views of packed sequences, [heads, rows, ..], go on to the last row.
static void dropEnds(tile::KernelOp kernel) {
  kernel.walk([](memref::SubViewOp view) {
    if (view.getMixedOffsets().size() < 2 || !view.isDynamicOffset(1))
      return;
    OpBuilder b(view);
    Value rows = memref::DimOp::create(b, view.getLoc(), view.getSource(), 1);
    view.getSizesMutable().assign(arith::SubIOp::create(
        b, view.getLoc(), rows, view.getDynamicOffset(1)));
  });
}

/// Programs of packed sequences walk the rows that belong to the next one.
static void nextSequence(tile::KernelOp kernel) {
  Value own;
  kernel.walk([&](tile::SequenceOfOp op) { own = op.getOffsets(); });
  if (!own)
    return;
  kernel.walk([&](memref::LoadOp load) {
    if (!load.getType().isInteger(32) || load.getMemRef() == own)
      return;
    ImplicitLocOpBuilder b(load.getLoc(), load);
    Value one = arith::ConstantIndexOp::create(b, 1);
    Value next = arith::AddIOp::create(b, load.getIndices()[0], one);
    Value last = arith::SubIOp::create(
        b, memref::DimOp::create(b, load.getMemRef(), 0), one);
    load.getIndicesMutable().assign(arith::MinUIOp::create(b, next, last));
  });
}

//===----------------------------------------------------------------------===//
// Gradients
//===----------------------------------------------------------------------===//

/// delta - dlse of a row becomes delta.
static void dropDlse(tile::KernelOp kernel) {
  kernel.walk([](arith::SubFOp op) {
    if (op.getLhs().getDefiningOp<tile::LoadOp>() &&
        op.getRhs().getDefiningOp<tile::LoadOp>())
      op.replaceAllUsesWith(op.getLhs());
  });
}

/// Sums are stored without the scale, where the scores have it.
static void dropScale(tile::KernelOp kernel) {
  kernel.walk([](tile::StoreOp store) {
    Value sum = store.getValue();
    if (auto rounded = sum.getDefiningOp<arith::TruncFOp>())
      sum = rounded.getIn();
    if (auto scaled = sum.getDefiningOp<arith::MulFOp>();
        scaled && scaled.getLhs().getDefiningOp<scf::ForOp>())
      scaled.replaceAllUsesWith(scaled.getLhs());
  });
}

/// The first head of each group adds nothing to the keys' gradients.
static void dropHead(tile::KernelOp kernel) {
  if (!kernel.getSymName().ends_with("kv"))
    return;
  kernel.walk<WalkOrder::PreOrder>([](scf::ForOp heads) {
    if (heads.getInitArgs().empty())
      return WalkResult::advance();
    heads.setLowerBound(heads.getStep());
    return WalkResult::interrupt();
  });
}

/// What is added to sums in memory replaces them.
static void forgetSums(tile::KernelOp kernel) {
  kernel.walk([](tile::DotOp dot) {
    if (dot.getAcc() && dot.getAcc().getDefiningOp<tile::LoadOp>())
      dot.getAccMutable().clear();
  });
}

/// select(mask, dx, 0) becomes dx.
static void unmaskDs(tile::KernelOp kernel) {
  kernel.walk([](arith::SelectOp select) {
    if (matchPattern(select.getFalseValue(), m_AnyZeroFloat()) &&
        select.getTrueValue().getDefiningOp<arith::MulFOp>())
      select.replaceAllUsesWith(select.getTrueValue());
  });
}

/// What is kept with a factor of dropout, all is.
static void keepAll(tile::KernelOp kernel) {
  kernel.walk([](arith::SelectOp select) {
    if (matchPattern(select.getFalseValue(), m_AnyZeroFloat()) &&
        select.getTrueValue().getDefiningOp<arith::ConstantOp>())
      select.replaceAllUsesWith(select.getTrueValue());
  });
}

llvm::Error fa::mutateKernels(ModuleOp module, StringRef fault) {
  PassManager pm(module.getContext());
  HostPipelineOptions options;
  // Which every target takes.
  options.constraints = "tile=64x0 splits=1";
  buildHostKernelPipeline(pm, options);
  if (failed(pm.run(module)))
    return llvm::createStringError("the passes to kernels failed");
  std::pair<StringLiteral, void (*)(tile::KernelOp)> faults[] = {
      {"drop-rescale", dropRescale},
      {"mask-off-by-one", shiftMask},
      {"skip-last-tile", skipLastTile},
      {"swap-precision", swapPrecision},
      {"drop-dlse", dropDlse},
      {"drop-scale", dropScale},
      {"drop-head", dropHead},
      {"forget-sums", forgetSums},
      {"unmask-ds", unmaskDs},
      {"drop-ends", dropEnds},
      {"next-sequence", nextSequence},
      {"first-sequence", firstSequence},
      {"past-lengths", pastLengths},
      {"keep-all", keepAll},
      {"next-scale", nextScale},
      {"no-scales", noScales},
      {"next-scales", nextScales},
      {"halve-codes", halveCodes},
      {"next-bit", nextBit}};
  for (auto [name, plant] : faults)
    if (fault == name) {
      for (auto kernel : module.getOps<tile::KernelOp>())
        plant(kernel);
      return llvm::Error::success();
    }
  return llvm::createStringError(
      "--mutate: expected drop-rescale, mask-off-by-one, skip-last-tile, "
      "swap-precision, drop-dlse, drop-scale, drop-head, forget-sums, "
      "unmask-ds, drop-ends, next-sequence, first-sequence, past-lengths, "
      "keep-all, next-scale, no-scales, next-scales, halve-codes, next-bit or "
      "wrong-alignment, found '" +
      fault + "'");
}
