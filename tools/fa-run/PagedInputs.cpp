//===- PagedInputs.cpp - keys and values in pages -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "InputFiles.h"

#include "fa/Numerics/Npy.h"

using namespace llvm;
using namespace fa;
using namespace fa::run;

/// Reads pages [n, hkv, page, dim], or in memory [n, page, hkv, dim].
static Expected<HostTensor> readPages(StringRef path, AttentionSpec &spec,
                                      int64_t &dim, StringRef dimKey) {
  AttentionProblem &p = spec.problem;
  auto tensor = readNpy(path, p.keyType());
  if (!tensor)
    return tensor;
  if (tensor->rank() != 4)
    return createStringError(path + ": expected pages of rank 4, found rank " +
                             Twine(tensor->rank()) + " (" +
                             formatSizes(tensor->sizes()) + ")");
  HostTensor pages = p.pagesNhd ? tensor->permuted({0, 2, 1, 3}) : *tensor;
  if (Error error = agreeOnType(spec, path, /*isKey=*/true, pages.type()))
    return error;
  std::tuple<StringRef, int64_t *, int64_t> sizes[] = {
      {"hkv", &p.numKvHeads, pages.sizes()[1]},
      {"page", &p.page, pages.sizes()[2]},
      {dimKey, &dim, pages.sizes()[3]}};
  for (auto [key, size, found] : sizes)
    if (Error error = agree(spec, path, key, *size, found))
      return error;
  return pages;
}

Error fa::run::readPagedKeys(const Options &options, AttentionSpec &spec,
                             AttentionInputs &files) {
  AttentionProblem &p = spec.problem;
  size_t given =
      !options.k.empty() + !options.v.empty() + !options.table.empty();
  if (given == 0)
    return Error::success();
  if (given != (p.valuesInKeys ? 2 : 3))
    return createStringError(
        Twine("expected --k, ") + (p.valuesInKeys ? "" : "--v ") +
        "and --table together with 'page', found " + Twine(given) + " of them");
  auto k = readPages(options.k, spec, p.headDim, "d");
  if (!k)
    return k.takeError();
  auto v = p.valuesInKeys ? firstColumns(*k, p.headDimV)
                          : readPages(options.v, spec, p.headDimV, "dv");
  if (!v)
    return v.takeError();
  if (k->sizes()[0] != v->sizes()[0])
    return createStringError(options.v + ": expected " + Twine(k->sizes()[0]) +
                             " pages, as there are of keys, found " +
                             Twine(v->sizes()[0]));
  auto table = readNpy(options.table, ElementType::I32);
  if (!table)
    return table.takeError();
  if (table->type() != ElementType::I32 || table->rank() != 2)
    return createStringError(
        options.table + ": expected i32 of b x m pages, found " +
        name(table->type()) + " of " + formatSizes(table->sizes()));
  if (Error error = agree(spec, options.table, "b", p.batch, table->sizes()[0]))
    return error;
  // The most keys that there may be.
  if (!spec.given.contains("sk"))
    p.seqKv = table->sizes()[1] * p.page;
  spec.given.insert("sk");
  files.k = *k;
  files.v = *v;
  files.table = *table;
  return Error::success();
}

Error fa::run::checkPagedKeys(const AttentionInputs &inputs) {
  const HostTensor &table = *inputs.table;
  int64_t numPages = inputs.k.sizes()[0], page = inputs.k.sizes()[2];
  int64_t most = table.sizes()[1] * page;
  for (int64_t b = 0; b < table.sizes()[0]; ++b) {
    auto length = static_cast<int64_t>(inputs.lengths->at({b}));
    if (length < 0 || length > most)
      return createStringError("expected lengths from 0 to " + Twine(most) +
                               ", as the table's rows have keys, found " +
                               Twine(length) + " in sequence " + Twine(b));
    int64_t needed = divideCeil(length, page);
    for (int64_t n = 0; n < needed; ++n) {
      auto number = static_cast<int64_t>(table.at({b, n}));
      if (number < 0 || number >= numPages)
        return createStringError("expected a table of pages from 0 to " +
                                 Twine(numPages - 1) + ", found " +
                                 Twine(number) + " at [" + Twine(b) + ", " +
                                 Twine(n) + "]");
    }
  }
  return Error::success();
}
