//===- Reference.h - attention in float64 -----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Plain loops written from the formula of the numerics contract
// (docs/numerics.md). They share nothing with the compiler.
//
//===----------------------------------------------------------------------===//

#ifndef FA_NUMERICS_REFERENCE_H
#define FA_NUMERICS_REFERENCE_H

#include "fa/Numerics/AttentionProblem.h"
#include "fa/Numerics/HostTensor.h"

namespace fa {

/// Inputs in logical order: q [b, hq, sq, d], k [b, hkv, sk, d],
/// v [b, hkv, sk, dv], whatever the layout in memory; bias [b|1, h|1, q|1,
/// k|1], slopes f32 [hq], lengths i32 [b], documents i32 [b, n + 1], sink
/// f32 [hq], rng i64 [2], the seed and the offset of dropout. Packed q is [hq,
/// tq, d], k and v [hkv, tk, ..]; offsets and keyOffsets i32 [b + 1] then say
/// where each sequence begins and ends. With pages k [n, hkv, page, d], v [n,
/// hkv, page, dv] and table i32 [b, m]. kScale and vScale, f32 [b, hkv], are
/// what k and v are multiplied with, and qScale q, that of the KV head.
struct AttentionInputs {
  HostTensor q, k, v;
  std::optional<HostTensor> bias, slopes, lengths, documents, sink, rng, table;
  /// Of `documents`, int32 [b, sq]: the first key that a query sees and the
  /// first after it that it does not. Set by makeArguments.
  std::optional<HostTensor> starts, ends;
  std::optional<HostTensor> offsets, keyOffsets, kScale, vScale, qScale;
  /// i32 [b, sq, words], packed [rows, words]: which of the last sq keys a
  /// query sees, a bit each, from the lowest bit of word 0 on.
  std::optional<HostTensor> draft;
};

/// out [b, hq, sq, dv] and lse [b, hq, sq], both f64; packed [hq, tq, dv] and
/// [hq, tq], with NaN in rows that belong to no sequence, which nobody writes.
struct AttentionResult {
  HostTensor out, lse;
};

/// The reference: everything in float64.
llvm::Expected<AttentionResult> referenceF64(const AttentionProblem &problem,
                                             const AttentionInputs &inputs);

/// The same formula unfused in the precision of the type: dots accumulated in
/// f32, softmax in f32, P rounded to V's type, O to the output's type. Where
/// the problem allows tf32, operands of dots are rounded to it first. Its
/// error against `referenceF64` is e0 of the error rule.
llvm::Expected<AttentionResult> unfused(const AttentionProblem &problem,
                                        const AttentionInputs &inputs);

/// The most that the size of a value can be, of those that are finite: with
/// scales, the largest of what is stored times the largest of these.
double maxAbsValue(const AttentionInputs &inputs);

/// The slopes of ALiBi when none are given (Press et al., arXiv 2108.12409):
/// 2^(-8 (h+1) / H) for a power of two H, else those of the next lower power
/// followed by every second one of the next higher.
std::vector<double> defaultAlibiSlopes(int64_t numHeads);

/// Fills with normally distributed values times `factor`, the same on every
/// platform.
void fillNormal(HostTensor &tensor, uint64_t seed, double factor = 1);

/// A tensor [.., heads, seq, dim] as [.., seq, heads, dim], or the other way.
HostTensor exchangeHeads(const HostTensor &tensor);

/// The first `count` columns of `rows`, in the same memory: values in keys.
HostTensor firstColumns(const HostTensor &rows, int64_t count);

/// A tensor of zeros of `sizes`, [.., heads, seq, dim]; `bshd`: in memory
/// [.., seq, heads, dim].
llvm::Expected<HostTensor> createRows(ElementType type,
                                      llvm::ArrayRef<int64_t> sizes, bool bshd);

/// Seeded inputs of a problem: normal q, k, v, bias; lengths and documents
/// uniform; packed sequences of uniform lengths, the longest as long as the
/// problem says if there are rows for it; the default slopes. Memory is laid
/// out as the problem's layout says. Pages are in random order, some of them of
/// several sequences; what no key lies in is NaN, and the table names no page
/// behind the last key's. Their lengths are all that may be special, in turn:
/// the longest, 0, 1, one around a page, a random one. Any seed and offset.
/// Where queries, keys or values have scales, these bring back to normal what
/// is stored as normal values times 32, which leaves out few codes of 8 bits.
llvm::Expected<AttentionInputs>
makeRandomInputs(const AttentionProblem &problem, uint64_t seed);

} // namespace fa

#endif // FA_NUMERICS_REFERENCE_H
