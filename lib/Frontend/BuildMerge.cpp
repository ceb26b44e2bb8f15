//===- BuildMerge.cpp - a merge of parts as a program at S3 ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A program has a few rows and a few columns of the output. It reads all parts
// before it needs the first, and takes differences of log-sum-exps before it
// multiplies, so that large ones keep their digits.
//
//===----------------------------------------------------------------------===//

#include "fa/Frontend/BuildMerge.h"

#include "KernelWriter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <limits>

using namespace mlir;
using namespace fa;
using namespace fa::tile;

/// Rows of a program: a matrix unit's, so that a warp has them all.
static constexpr int64_t kRows = 16;

/// Where there are fewer rows than this in dimension 2, tiles are of heads.
static constexpr int64_t kFewRows = 8;

static constexpr float kInfinity = std::numeric_limits<float>::infinity();

namespace {

class MergeKernel {
public:
  /// `ofHeads`: the rows of a tile are along dimension 1.
  MergeKernel(ImplicitLocOpBuilder &b, const MergeProblem &problem,
              bool ofHeads, bool aligned)
      : b(b), p(problem), writer(b, aligned), ofHeads(ofHeads),
        columns(tileColumns(problem.headDim)) {}

  void build(StringRef name, StringRef entry) {
    addArguments();
    unsigned rowDim = ofHeads ? 1 : 2, other = ofHeads ? 2 : 1;
    AffineExpr tiles = writer.size(0, rowDim).ceilDiv(kRows) * columnTiles();
    KernelOp kernel = writer.create(
        name, entry, {tiles, writer.size(0, other), writer.size(0, 0)});
    kernel->setAttr(KernelOp::warpRowsAttrName, b.getUnitAttr());
    if (ofHeads)
      kernel->setAttr(KernelOp::atMostAttrName,
                      b.getDenseI64ArrayAttr({0, 2, kFewRows}));
    findPlace();
    compute();
    writer.finish();
  }

private:
  int64_t columnTiles() { return llvm::divideCeil(p.headDim, columns); }

  void addArguments() {
    constexpr int64_t any = ShapedType::kDynamic;
    Type element = elementTypeOf(b, p.type), f32 = b.getF32Type();
    auto add = [&](tile::Access access, bool hasLse) {
      unsigned out = writer.add(element, {any, any, any, p.headDim}, access,
                                /*isRows=*/true);
      SmallVector<unsigned> added = {out};
      if (hasLse)
        added.push_back(
            writer.add(f32, {any, any, any}, access, /*isRows=*/false));
      for (unsigned argument : added)
        for (unsigned dim = 0; argument > 0 && dim < 3; ++dim)
          writer.addEqual(argument, dim, 0, dim);
    };
    for (int64_t n = 0; n < p.parts; ++n)
      add(tile::Access::In, /*hasLse=*/true);
    add(tile::Access::Out, p.lse);
  }

  void findPlace() {
    Value id = ProgramIdOp::create(b, 0), tiles = writer.index(columnTiles());
    column = arith::MulIOp::create(
        b, Value(arith::RemUIOp::create(b, id, tiles)), writer.index(columns));
    row = arith::MulIOp::create(b, Value(arith::DivUIOp::create(b, id, tiles)),
                                writer.index(kRows));
    other = ProgramIdOp::create(b, 1);
    batch = ProgramIdOp::create(b, 2);
    rows = writer.dim(0, ofHeads ? 1 : 2);
  }

  /// The rows that this program's tile is one of: [rows, d] or [rows].
  Value rowsOf(unsigned argument) {
    OpFoldResult zero = b.getIndexAttr(0), one = b.getIndexAttr(1);
    SmallVector<OpFoldResult> offsets = {batch, other, zero};
    SmallVector<OpFoldResult> sizes = {one, one, rows};
    if (ofHeads) {
      std::swap(offsets[1], offsets[2]);
      std::swap(sizes[1], sizes[2]);
    }
    Value memref = writer.argument(argument);
    if (cast<MemRefType>(memref.getType()).getRank() == 3)
      return writer.vectorPart(memref, offsets, sizes);
    offsets.push_back(zero);
    sizes.push_back(b.getIndexAttr(p.headDim));
    return writer.part(memref, offsets, sizes);
  }

  RankedTensorType vector() { return writer.tile({kRows}, b.getF32Type()); }
  RankedTensorType block() {
    return writer.tile({kRows, columns}, b.getF32Type());
  }
  Value alongRows(Value x) {
    Value wide = ExpandDimsOp::create(
        b, writer.tile({kRows, 1}, b.getF32Type()), x, /*dim=*/1);
    return BroadcastOp::create(b, block(), wide, ValueRange{});
  }
  /// `x`, or `then` where it is `number`.
  Value replace(Value x, float number, Value then, Value other) {
    auto type = cast<RankedTensorType>(x.getType());
    Value is = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, x,
                                     writer.constant(type, number));
    return arith::SelectOp::create(b, is, then, other);
  }

  void compute() {
    SmallVector<Value> sums, outputs;
    for (int64_t n = 0; n < p.parts; ++n) {
      Value lse = writer.load(rowsOf(2 * n + 1), {kRows}, row);
      // Engines say by +inf, too, that a part has no keys.
      sums.push_back(
          replace(lse, kInfinity, writer.constant(vector(), -kInfinity), lse));
      outputs.push_back(
          writer.load(rowsOf(2 * n), {kRows, columns}, {row, column}));
    }
    Value max = sums[0];
    for (Value lse : ArrayRef(sums).drop_front())
      max = arith::MaximumFOp::create(b, max, lse);
    max = replace(max, -kInfinity, writer.constant(vector(), 0), max);
    Value log2e = writer.constant(vector(), 1.44269504f), total, acc;
    for (auto [lse, output] : llvm::zip(sums, outputs)) {
      Value weight = arith::SubFOp::create(b, lse, max);
      weight = arith::MulFOp::create(b, weight, log2e);
      weight = math::Exp2Op::create(b, weight);
      // Not a product with 0: a part without keys may hold anything.
      Value seen = replace(alongRows(lse), -kInfinity,
                           writer.constant(block(), 0), output);
      Value share = arith::MulFOp::create(b, alongRows(weight), seen);
      total = total ? arith::AddFOp::create(b, total, weight) : weight;
      acc = acc ? arith::AddFOp::create(b, acc, share) : share;
    }
    auto merged = OnlineFinalizeOp::create(b, TypeRange{block(), vector()}, acc,
                                           max, total);
    unsigned out = 2 * p.parts;
    writer.store(merged.getOutput(), rowsOf(out), {row, column});
    if (p.lse)
      writer.store(merged.getLse(), rowsOf(out + 1), rowOfFirstColumns());
  }

  /// Programs of other columns have the same rows, and drop the log-sum-exp.
  Value rowOfFirstColumns() {
    if (columnTiles() == 1)
      return row;
    Value isFirst = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, column,
                                          writer.index(0));
    return arith::SelectOp::create(b, isFirst, row, rows);
  }

  ImplicitLocOpBuilder &b;
  const MergeProblem &p;
  KernelWriter writer;
  bool ofHeads;
  int64_t columns;          ///< of a tile
  Value row, column;        ///< where the tile begins
  Value batch, other, rows; ///< of this program
};

} // namespace

llvm::Expected<OwningOpRef<ModuleOp>>
fa::buildMerge(MLIRContext &context, const MergeProblem &problem,
               StringRef name) {
  if (llvm::Error error = problem.verify())
    return error;
  context
      .loadDialect<arith::ArithDialect, math::MathDialect,
                   memref::MemRefDialect, scf::SCFDialect, tile::TileDialect>();
  ImplicitLocOpBuilder b(UnknownLoc::get(&context), &context);
  OwningOpRef<ModuleOp> module(ModuleOp::create(b.getLoc()));
  std::tuple<StringRef, bool, bool> variants[] = {
      {"_heads", true, true},
      {"_heads_strided", true, false},
      {"", false, true},
      {"_strided", false, false}};
  for (auto [suffix, ofHeads, aligned] : variants) {
    b.setInsertionPointToEnd(module->getBody());
    MergeKernel(b, problem, ofHeads, aligned)
        .build((name + suffix).str(), name);
  }
  return module;
}
