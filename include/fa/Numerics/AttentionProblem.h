//===- AttentionProblem.h - one attention as numbers ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_NUMERICS_ATTENTIONPROBLEM_H
#define FA_NUMERICS_ATTENTIONPROBLEM_H

#include "fa/Numerics/ElementType.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MathExtras.h"

#include <string>

namespace fa {

enum class CausalKind { None, BottomRight, TopLeft };

/// The gradients that are wanted of an attention, instead of its results: one
/// at least.
struct GradientRequest {
  bool q = false, k = false, v = false;
  bool bias = false, slopes = false, sink = false; ///< of what there is
  bool scale = false;                              ///< f32 [1]
  bool dlse = false; ///< the log-sum-exp has a gradient, which is an input
};

/// A gradient that is asked for, of the type and sizes of its input.
struct WantedGradient {
  llvm::StringLiteral name; ///< "dq"
  int64_t argument;         ///< whose it is: q 0, k 1, v 2, the scale last
  ElementType type;
  llvm::SmallVector<int64_t, 4> sizes;
  bool isRows; ///< [batch, heads, seq, dim], packed without batch, in the
               ///< problem's layout
};

/// An attention problem: sizes, element type and features, forward unless
/// gradients are asked for. The meaning of each feature is the numerics
/// contract, docs/numerics.md.
struct AttentionProblem {
  int64_t batch = 1, numHeads = 8, numKvHeads = 8;
  int64_t seqQ = 1024, seqKv = 1024, headDim = 64, headDimV = 64;
  /// Of what is computed with and of the results: of each tensor of rows that
  /// has no type of its own.
  ElementType type = ElementType::F16;
  CausalKind causal = CausalKind::None;
  int64_t windowLeft = -1, windowRight = -1; ///< keys; -1 is no bound
  std::optional<int64_t> prefix;             ///< keys seen by all
  bool documents = false, lengths = false, sink = false;
  double softcap = 0; ///< 0: none
  bool alibi = false;
  std::optional<double> scale; ///< default 1/sqrt(headDim)
  std::string bias;            ///< "", or one of letter or 1 a dim: "1hqk"
  bool layoutBshd = false;     ///< q, k, v and the output are [b, s, h, d]
  bool lse = false;            ///< a result; with gradients always an input
  bool tf32 = false;           ///< dots may round f32 operands to tf32
  std::optional<GradientRequest> backward;
  double dropout = 0; ///< the probability that one of P is dropped; 0: none
  /// The sequences' queries, or keys and values, lie one behind the other in
  /// one tensor [heads, rows, dim], as offsets say; seqQ or seqKv is the number
  /// of rows of the longest.
  bool hasOffsets = false, hasKeyOffsets = false;
  int64_t rowsQ = -1, rowsKv = -1; ///< packed rows; -1: batch times the longest
  /// Rows of a page of K and V, which are then pages [n, hkv, page, d] that a
  /// table [b, m] names; 0: none. Sequence b has as many keys as its length.
  int64_t page = 0;
  bool pagesNhd = false; ///< pages are [n, page, hkv, d] in memory
  /// The type of the elements of K and V, where it is not `type`: a storage
  /// float, which is widened to `type`.
  std::optional<ElementType> kvType;
  /// The same of Q, beside such keys and values.
  std::optional<ElementType> qType;
  /// K and V are to be multiplied with a number for each batch and KV head,
  /// f32 [b, hkv] each, and Q with the number of the KV head that it shares.
  bool hasScales = false, hasQueryScales = false;
  /// Not 0: each number of K and V is for so many keys that follow each other,
  /// f32 [b, hkv, n], and that of the first of a sequence is the first.
  int64_t scaleKeys = 0;
  /// V is the first headDimV columns of K, and no tensor of its own.
  bool valuesInKeys = false;
  /// Of the last sq keys a query sees those whose bits are set: bit n mod 32 of
  /// word n / 32 of its row is key sk - sq + n. It sees all keys before.
  bool draft = false;
  /// Keys of a split, whatever else a launch computes: the bits of a sequence's
  /// results do not depend on it. 0: a launch chooses how many splits there
  /// are.
  int64_t splitKeys = 0;

  bool hasWindow() const { return windowLeft >= 0 || windowRight >= 0; }
  double effectiveScale() const;
  int64_t groupSize() const { return numKvHeads ? numHeads / numKvHeads : 1; }
  ElementType queryType() const { return qType.value_or(type); }
  ElementType keyType() const { return kvType.value_or(type); }
  /// Whether heads change places with rows in the memory of k and v.
  bool areKeysTurned() const { return page ? pagesNhd : layoutBshd; }
  /// Entries of a row of a table that is made for `seqKv` keys: one more than
  /// are needed.
  int64_t tableWidth() const { return llvm::divideCeil(seqKv, page) + 1; }
  /// Pages that are made for it: more than the table needs.
  int64_t numPages() const { return batch * llvm::divideCeil(seqKv, page) + 2; }
  /// Sizes of the bias along b, h, q, k: the problem's, or 1.
  llvm::SmallVector<int64_t, 4> biasSizes() const;
  /// Sizes of the scales of k and of v: as many as the longest sequence needs,
  /// at least one.
  llvm::SmallVector<int64_t, 4> scaleSizes() const;
  /// Sizes, in logical order, of q (`dim` d) and the output (dv), of k (d) and
  /// v (dv), and of the log-sum-exp: [b, heads, seq, dim], packed [heads, rows,
  /// dim]; k and v in pages [n, heads, page, dim]; the log-sum-exp without dim.
  llvm::SmallVector<int64_t, 4> querySizes(int64_t dim) const;
  llvm::SmallVector<int64_t, 4> keySizes(int64_t dim) const;
  llvm::SmallVector<int64_t, 4> lseSizes() const;
  /// Sizes of the words of a draft: [b, sq, words], packed [rows, words].
  llvm::SmallVector<int64_t, 4> draftSizes() const;
  /// Forward 2 b hq sq sk (d + dv). Of gradients the nominal count, each dot
  /// once however often it is computed: S for each of them, dP for dq and dk,
  /// and each one's own, which for all three is 2.5 times the forward's,
  /// 10 b hq sq sk d, where dv = d. Half of it when causal.
  double flops() const;
  /// The gradients that are asked for, in the order of the arguments.
  llvm::SmallVector<WantedGradient, 3> gradients() const;
  /// Bytes of K and V.
  double kvBytes() const;
  /// An error that names what is wrong, if the problem is not one.
  llvm::Error verify() const;
  /// The SPEC that gives this problem again.
  std::string str() const;

private:
  llvm::Error verifyPacked() const;
  llvm::Error verifyNarrow() const;
  llvm::Error verifyServing() const;
};

/// A parsed `--attention` SPEC and the keys that it spelt out.
struct AttentionSpec {
  AttentionProblem problem;
  llvm::StringSet<> given;

  /// Sets the sizes that were not given from others: hkv from hq, sk from sq,
  /// dv from d.
  void applyDefaults();
};

/// Parses `key[=value]` separated by spaces; the keys are those of
/// docs/fa-run.md. An unknown key or a bad value is an error.
llvm::Expected<AttentionSpec> parseAttentionSpec(llvm::StringRef spec);

} // namespace fa

#endif // FA_NUMERICS_ATTENTIONPROBLEM_H
