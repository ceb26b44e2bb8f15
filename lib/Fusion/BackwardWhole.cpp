//===- BackwardWhole.cpp - a KV head with all of its queries --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A program owns a KV head and the queries of all heads of its group. It walks
// the keys, tile by tile in order, for each of them the queries, and adds dS K
// to what it has of dQ in workspace: five dots a step (Dao, "FlashAttention-2",
// arXiv 2307.08691, algorithm 2). Each dQ is the sum of the same products in
// the same order as that of a program that owns queries and walks keys.
//
// dQ is summed as dQᵀ = Kᵀ dSᵀ: scores have the keys along rows, and so dSᵀ is
// the right operand as it is.
//
//===----------------------------------------------------------------------===//

#include "BackwardBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace fa;
using namespace fa::tile;

Value BackwardBuilder::querySums() {
  Value memory = kernel.getArgument(source.firstOfWorkspace() + 2);
  int64_t any = ShapedType::kDynamic,
          dim = cast<MemRefType>(memory.getType()).getDimSize(4);
  OpFoldResult zero = b.getIndexAttr(0), one = b.getIndexAttr(1);
  return view(memory, {zero, batch, head, zero, zero},
              {one, one, one, queryRows.count, b.getIndexAttr(dim)},
              {any, dim});
}

Value BackwardBuilder::turned(Value memory) {
  auto map =
      AffineMap::getPermutationMap(ArrayRef<unsigned>{1, 0}, b.getContext());
  return memref::TransposeOp::create(b, memory, AffineMapAttr::get(map));
}

Value BackwardBuilder::loadTurned(Value memory, int64_t count) {
  Value columns = turned(memory);
  auto type = cast<MemRefType>(columns.getType());
  return LoadOp::create(b,
                        tile({columnsOf(memory), count}, type.getElementType()),
                        columns, ValueRange{index(0), tileStart},
                        /*in_bounds=*/false);
}

void BackwardBuilder::addToQueries(Value ds, Value turnedK, Value first) {
  makeAlike(ds, turnedK);
  Value sums = turned(querySums());
  SmallVector<Value> at = {index(0), first};
  auto type =
      tile({typeOf(turnedK).getDimSize(0), shape.columns}, b.getF32Type());
  Value before = LoadOp::create(b, type, sums, at, /*in_bounds=*/false);
  Value after = DotOp::create(b, type, turnedK, ds, before,
                              /*transpose_b=*/false, precisionOf(turnedK));
  StoreOp::create(b, after, sums, at);
}

void BackwardBuilder::forQueriesOfGroup(llvm::function_ref<void()> body) {
  OpBuilder::InsertionGuard guard(b);
  auto heads = scf::ForOp::create(b, index(0), group, index(1));
  b.setInsertionPointToStart(heads.getBody());
  Value first = arith::MulIOp::create(b, kvHead, group);
  head = arith::AddIOp::create(b, first, heads.getInductionVar());
  auto tiles =
      scf::ForOp::create(b, index(0), queryRows.count, index(shape.rows));
  b.setInsertionPointToStart(tiles.getBody());
  tileStart = tiles.getInductionVar();
  body();
}

void BackwardBuilder::buildWhole() {
  kvHead = ProgramIdOp::create(b, 1);
  batch = ProgramIdOp::create(b, 2);
  length = countKeys(rule, keyRows.count);
  forQueriesOfGroup([&] {
    buildStatistics();
    Value sums = querySums();
    StoreOp::create(b, zeros(shape.rows, sums), sums,
                    ValueRange{tileStart, index(0)});
  });
  {
    OpBuilder::InsertionGuard guard(b);
    auto tiles =
        scf::ForOp::create(b, index(0), keyRows.count, index(shape.rows));
    b.setInsertionPointToStart(tiles.getBody());
    tileStart = tiles.getInductionVar();
    buildKeyGradients();
  }
  forQueriesOfGroup([&] {
    Value sum = load(querySums(), shape.rows, tileStart);
    store(scaled(sum), *source.dq, head, queryRows);
  });
}
