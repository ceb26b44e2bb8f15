//===- LoopsOfPages.cpp - rows that are found through a table of pages ----===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LoopBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace fa;
using namespace fa::tile;

/// Nothing outside of `pages` is read, whatever the table holds.
Value LoopBuilder::lowerPaged(PagedOp op) {
  Value pages = op.getPages(), table = op.getTable();
  Value page = sizeOf(pages, 2);
  Value numRows = arith::MulIOp::create(b, sizeOf(table, 1), page);
  Value numPages = sizeOf(pages, 0);
  Value result = empty(op.getType(), {sizeOf(table, 0), sizeOf(pages, 1),
                                      numRows, sizeOf(pages, 3)});
  SmallVector<utils::IteratorType> iterators(4, utils::IteratorType::parallel);
  return loops(
      result, {}, identity(4), iterators,
      [&](ImplicitLocOpBuilder &b, ValueRange) -> Value {
        Value at[4];
        for (int64_t d = 0; d < 4; ++d)
          at[d] = linalg::IndexOp::create(b, d);
        auto extractIndex = [&](Value tensor, ValueRange indices) -> Value {
          Value number = tensor::ExtractOp::create(b, tensor, indices);
          return arith::IndexCastOp::create(b, b.getIndexType(), number);
        };
        Value isRow =
            arith::CmpIOp::create(b, arith::CmpIPredicate::slt, at[2],
                                  extractIndex(op.getLengths(), at[0]));
        Value zero = arith::ConstantOp::create(
            b, cast<TypedAttr>(b.getZeroAttr(op.getType().getElementType())));
        auto select = [&](Value condition, auto value) -> Value {
          return scf::IfOp::create(
                     b, condition,
                     [&](OpBuilder &, Location) {
                       scf::YieldOp::create(b, Value(value()));
                     },
                     [&](OpBuilder &, Location) {
                       scf::YieldOp::create(b, zero);
                     })
              .getResult(0);
        };
        return select(isRow, [&] {
          Value place = arith::DivUIOp::create(b, at[2], page);
          Value number = extractIndex(table, {at[0], place});
          Value isPage = arith::CmpIOp::create(b, arith::CmpIPredicate::ult,
                                               number, numPages);
          return select(isPage, [&] {
            Value within = arith::RemUIOp::create(b, at[2], page);
            return tensor::ExtractOp::create(
                b, pages, ValueRange{number, at[1], within, at[3]});
          });
        });
      });
}
