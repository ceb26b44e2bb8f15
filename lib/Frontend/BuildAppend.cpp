//===- BuildAppend.cpp - writes to a cache as a program at S3 -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A program has a few heads of one token: of its key and value, or of its
// query. Programs of queries have rows behind all key heads and the others rows
// before all queries, so that each finds its part of the work alone inside of
// its views. The elements that a rotation takes are two views of a row: of its
// halves, or of every second element.
//
//===----------------------------------------------------------------------===//

#include "fa/Frontend/BuildAppend.h"

#include "KernelWriter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fa;
using namespace fa::tile;

/// Heads of a program: of 16-bit rows of 128, 16 bytes of each of 128 threads.
static constexpr int64_t kHeads = 8;

namespace {

class AppendKernel {
public:
  AppendKernel(ImplicitLocOpBuilder &b, const AppendProblem &problem,
               bool aligned)
      : b(b), p(problem), writer(b, aligned) {}

  void build(StringRef name, StringRef entry) {
    addArguments();
    AffineExpr tiles = writer.size(k, 1).ceilDiv(kHeads);
    if (p.numHeads)
      tiles = tiles + writer.size(q, 1).ceilDiv(kHeads);
    writer.create(name, entry,
                  {tiles, writer.size(k, 0), b.getAffineConstantExpr(1)});
    findPlace();
    Columns all = {0, p.headDim, 1};
    appendKeys(all);
    copy(rowsOf(v, {0, p.headDimV, 1}), slotOf(vPages, {0, p.headDimV, 1}),
         p.headDimV, head);
    if (p.numHeads)
      rotateQueries();
    writer.finish();
  }

private:
  /// `count` columns from `first` on, `step` apart.
  struct Columns {
    int64_t first, count, step;
  };

  void addArguments() {
    constexpr int64_t any = ShapedType::kDynamic;
    Type element = elementTypeOf(b, p.type);
    auto rows = [&](ArrayRef<int64_t> sizes, tile::Access access) {
      return writer.add(element, sizes, access, /*isRows=*/true);
    };
    auto numbers = [&](Type type, ArrayRef<int64_t> sizes) {
      return writer.add(type, sizes, tile::Access::In, /*isRows=*/false);
    };
    k = rows({any, any, p.headDim}, tile::Access::In);
    v = rows({any, any, p.headDimV}, tile::Access::In);
    slots = numbers(b.getI64Type(), any);
    kPages = rows({any, any, any, p.headDim}, tile::Access::InOut);
    vPages = rows({any, any, any, p.headDimV}, tile::Access::InOut);
    writer.addEqual(v, 0, k, 0);
    writer.addEqual(v, 1, k, 1);
    writer.addEqual(slots, 0, k, 0);
    writer.addEqual(kPages, 1, k, 1);
    for (unsigned dim = 0; dim < 3; ++dim)
      writer.addEqual(vPages, dim, kPages, dim);
    if (p.rope == RopeKind::None)
      return;
    positions = numbers(p.widePositions ? b.getI64Type() : b.getI32Type(), any);
    Type table = elementTypeOf(b, p.tableType);
    cosines = numbers(table, {any, p.rotary / 2});
    sines = numbers(table, {any, p.rotary / 2});
    writer.addEqual(positions, 0, k, 0);
    writer.addEqual(sines, 0, cosines, 0);
    if (!p.numHeads)
      return;
    q = rows({any, any, p.headDim}, tile::Access::InOut);
    writer.addEqual(q, 0, k, 0);
  }

  Value loadNumber(unsigned argument) {
    Value number = memref::LoadOp::create(b, writer.argument(argument), token);
    return arith::IndexCastOp::create(b, b.getIndexType(), number);
  }

  void findPlace() {
    token = ProgramIdOp::create(b, 1);
    slot = loadNumber(slots);
    Value id = ProgramIdOp::create(b, 0), heads = writer.index(kHeads);
    head = arith::MulIOp::create(b, id, heads);
    if (p.rope != RopeKind::None)
      position = loadNumber(positions);
    if (!p.numHeads)
      return;
    Value tiles = arith::CeilDivUIOp::create(b, writer.dim(k, 1), heads);
    queryHead = arith::MulIOp::create(
        b, Value(arith::SubIOp::create(b, id, tiles)), heads);
  }

  /// Columns of this token's rows: [heads, count].
  Value rowsOf(unsigned argument, Columns columns) {
    OpFoldResult zero = b.getIndexAttr(0);
    return writer.part(writer.argument(argument),
                       {token, zero, b.getIndexAttr(columns.first)},
                       {b.getIndexAttr(1), writer.dim(argument, 1),
                        b.getIndexAttr(columns.count)},
                       columns.step);
  }
  /// The same of the slot that the token has in the cache.
  Value slotOf(unsigned pages, Columns columns) {
    OpFoldResult zero = b.getIndexAttr(0);
    Value part =
        writer.part(writer.argument(pages),
                    {zero, zero, zero, b.getIndexAttr(columns.first)},
                    {writer.dim(pages, 0), writer.dim(pages, 1),
                     writer.dim(pages, 2), b.getIndexAttr(columns.count)},
                    columns.step);
    auto type = SlotViewOp::typeOf(cast<MemRefType>(part.getType()));
    return SlotViewOp::create(b, type, part, slot);
  }

  /// Copies rows of `columns` elements, from row `row` on.
  void copy(Value from, Value to, int64_t columns, Value row) {
    int64_t width = tileColumns(columns);
    for (int64_t first = 0; first < columns; first += width) {
      Value column = writer.index(first);
      writer.store(writer.load(from, {kHeads, width}, {row, column}), to,
                   {row, column});
    }
  }

  /// The two elements of a rotation: their views of `viewOf`.
  std::pair<Value, Value>
  pairOf(llvm::function_ref<Value(Columns columns)> viewOf) {
    int64_t half = p.rotary / 2;
    if (p.rope == RopeKind::Interleaved)
      return {viewOf({0, half, 2}), viewOf({1, half, 2})};
    return {viewOf({0, half, 1}), viewOf({half, half, 1})};
  }

  /// A number of each pair, for all heads.
  Value loadTable(unsigned table, int64_t width, Value column) {
    Value row =
        writer.load(writer.argument(table), {1, width}, {position, column});
    return BroadcastOp::create(b, writer.tile({kHeads, width}, b.getF32Type()),
                               row, ValueRange{});
  }

  void rotate(std::pair<Value, Value> from, std::pair<Value, Value> to,
              Value row) {
    int64_t half = p.rotary / 2, width = tileColumns(half);
    for (int64_t begin = 0; begin < half; begin += width) {
      Value column = writer.index(begin);
      SmallVector<Value> at = {row, column};
      Value first = writer.load(from.first, {kHeads, width}, at);
      Value second = writer.load(from.second, {kHeads, width}, at);
      Value cosine = loadTable(cosines, width, column);
      Value sine = loadTable(sines, width, column);
      auto product = [&](Value x, Value y) -> Value {
        return arith::MulFOp::create(b, x, y);
      };
      Value newFirst = arith::SubFOp::create(b, product(first, cosine),
                                             product(second, sine));
      Value newSecond = arith::AddFOp::create(b, product(second, cosine),
                                              product(first, sine));
      writer.store(newFirst, to.first, at);
      writer.store(newSecond, to.second, at);
    }
  }

  void appendKeys(Columns all) {
    if (p.rope != RopeKind::None) {
      rotate(pairOf([&](Columns part) { return rowsOf(k, part); }),
             pairOf([&](Columns part) { return slotOf(kPages, part); }), head);
      all = {p.rotary, p.headDim - p.rotary, 1};
    }
    if (all.count)
      copy(rowsOf(k, all), slotOf(kPages, all), all.count, head);
  }

  void rotateQueries() {
    auto views = pairOf([&](Columns part) { return rowsOf(q, part); });
    rotate(views, views, queryHead);
  }

  ImplicitLocOpBuilder &b;
  const AppendProblem &p;
  KernelWriter writer;
  unsigned k = 0, v = 0, slots = 0, kPages = 0, vPages = 0, positions = 0,
           cosines = 0, sines = 0, q = 0; ///< arguments
  Value token, slot, position, head, queryHead;
};

} // namespace

llvm::Expected<OwningOpRef<ModuleOp>>
fa::buildAppend(MLIRContext &context, const AppendProblem &problem,
                StringRef name) {
  if (llvm::Error error = problem.verify())
    return error;
  context.loadDialect<arith::ArithDialect, memref::MemRefDialect,
                      scf::SCFDialect, tile::TileDialect>();
  ImplicitLocOpBuilder b(UnknownLoc::get(&context), &context);
  OwningOpRef<ModuleOp> module(ModuleOp::create(b.getLoc()));
  for (bool aligned : {true, false}) {
    b.setInsertionPointToEnd(module->getBody());
    AppendKernel(b, problem, aligned)
        .build((name + (aligned ? "" : "_strided")).str(), name);
  }
  return module;
}
