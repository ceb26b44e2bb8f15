//===- AttentionSizes.cpp - what attention asks of sizes ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ElementReads.h"
#include "SizeTable.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace fa;
using namespace fa::tile;

/// A captured tensor is read at coordinates alone, or where types say that
/// there is something to read.
static bool understandExtract(SizeTable &sizes, OnlineAttentionOp op,
                              Region &region, tensor::ExtractOp extract) {
  unsigned leading = region.getNumArguments() - op.getCaptures().size();
  unsigned number =
      cast<BlockArgument>(extract.getTensor()).getArgNumber() - leading;
  Value capture = op.getCaptures()[number];
  std::pair<Value, int64_t> coordinates[] = {
      {op.getQ(), 0}, {op.getQ(), 1}, {op.getQ(), 2}, {op.getK(), 2}};
  for (auto [d, index] : llvm::enumerate(extract.getIndices())) {
    if (hasFixedIndex(extract, d))
      continue;
    int64_t n = getCoordinate(index);
    std::optional<int64_t> bound = findBound(index, [&](int64_t n) {
      auto [value, dim] = coordinates[n];
      return typeOf(value).getDimSize(dim);
    });
    if (n < 0 && bound && *bound <= typeOf(capture).getDimSize(d))
      continue;
    if (n < 0 ||
        !sizes.unite(capture, d, coordinates[n].first, coordinates[n].second))
      return false;
  }
  return true;
}

bool fa::understandAttention(SizeTable &sizes, OnlineAttentionOp op) {
  Value q = op.getQ(), k = op.getK(), v = op.getV();
  bool good = sizes.unite(q, 0, k, 0) && sizes.unite(q, 0, v, 0) &&
              sizes.unite(k, 1, v, 1) && sizes.unite(k, 2, v, 2) &&
              sizes.unite(q, 3, k, 3) && sizes.unite(op.getAcc(), 3, v, 3) &&
              sizes.shares(q, k, 1);
  for (int64_t d = 0; d < 3; ++d)
    good &=
        sizes.unite(op.getMax(), d, q, d) && sizes.unite(op.getAcc(), d, q, d);
  good &= sizes.uniteAll(op.getMaxOut(), op.getMax()) &&
          sizes.uniteAll(op.getSumOut(), op.getSum()) &&
          sizes.uniteAll(op.getAccOut(), op.getAcc());
  for (Region *region : {&op.getScore(), &op.getMask()})
    region->walk([&](tensor::ExtractOp extract) {
      good &= understandExtract(sizes, op, *region, extract);
    });
  return good;
}

bool fa::understandBackward(SizeTable &sizes, AttentionBackwardOp op) {
  Value q = op.getQ(), k = op.getK(), v = op.getV(), output = op.getOutput();
  bool good = sizes.unite(q, 0, k, 0) && sizes.unite(q, 3, k, 3) &&
              sizes.shares(q, k, 1) && sizes.unite(output, 3, v, 3) &&
              sizes.uniteAll(op.getDout(), output);
  for (int64_t d = 0; d < 3; ++d)
    good &= sizes.unite(v, d, k, d) && sizes.unite(output, d, q, d) &&
            sizes.unite(op.getLse(), d, q, d);
  if (op.getDlse())
    good &= sizes.uniteAll(op.getDlse(), op.getLse());
  for (auto [gradient, of] : {std::pair<Value, Value>(op.getDq(), q),
                              {op.getDk(), k},
                              {op.getDv(), v},
                              {op.getDsink(), op.getSink()}})
    good &= !gradient || sizes.uniteAll(gradient, of);
  for (auto [gradient, number] : llvm::zip(op.getDcaptures(), op.getWrt()))
    good &= sizes.uniteAll(gradient, op.getCaptures()[number]);
  // What scores read at coordinates is the verifier's business.
  return good && (op.getCaptures().empty() ||
                  llvm::all_of(op.getOperandTypes(), [](Type type) {
                    auto tensor = dyn_cast<RankedTensorType>(type);
                    return !tensor || tensor.hasStaticShape();
                  }));
}

bool fa::understandPaged(SizeTable &sizes, PagedOp op) {
  Value pages = op.getPages(), table = op.getTable();
  if (!sizes.contains(table, 1) || !sizes.contains(pages, 2))
    return false;
  TensorSize width = sizes.lookup(table, 1), page = sizes.lookup(pages, 2);
  if (op.getType().isDynamicDim(2)) {
    if (!width.hasName() || !page.hasName())
      return false;
    sizes.set(
        op.getResult(), 2,
        {width.argument, width.dim, /*number=*/-1, page.argument, page.dim});
  }
  return sizes.unite(op.getResult(), 0, table, 0) &&
         sizes.unite(op.getLengths(), 0, table, 0) &&
         sizes.unite(op.getResult(), 1, pages, 1) &&
         sizes.unite(op.getResult(), 3, pages, 3);
}
