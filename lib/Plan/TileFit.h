//===- TileFit.h - tiles that shared memory has room for --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_PLAN_TILEFIT_H
#define FA_LIB_PLAN_TILEFIT_H

#include "fa/Plan/AttentionFacts.h"
#include "fa/Plan/ForwardRules.h"
#include "fa/Plan/KernelShape.h"

namespace fa {

/// The room that the tiles of one attention take, by the rules of a machine.
class TileFit {
public:
  /// With `isSpecialized`, warpgroups have scores and outputs in registers, and
  /// keys and values of 8 bits are widened in slots of their own, as
  /// warpgroups' dots read them.
  TileFit(const AttentionFacts &facts, const ForwardRules &rules,
          bool isSpecialized = false);

  /// Head dimensions, as tiles have them, and the larger one.
  int64_t dim() const { return qkDim; }
  int64_t dimV() const { return vDim; }
  int64_t widest() const { return std::max(qkDim, vDim); }
  bool isWide() const { return widest() > 128; }
  /// f32 is multiplied as it is.
  bool isIeee() const;

  /// Bytes of a tile of Q and `slots` each of K and V.
  int64_t bytesOf(const KernelShape &shape, int64_t slots) const;
  /// Whether it does not fit with two slots whose head dimensions are multiples
  /// of `columns`, or not into a warpgroup's registers.
  bool isTooLarge(const KernelShape &shape, int64_t columns) const;
  /// Fewer keys, then fewer rows, until it does; never below 16 of either.
  KernelShape fitted(KernelShape shape, int64_t columns = 1) const;
  /// Fewer keys, until K and V of 16 bits take no more than `most` bytes (0:
  /// any), never below 16.
  KernelShape lessKeys(KernelShape shape, int64_t most) const;
  /// As few as let two such tiles of wide head dimensions have room.
  KernelShape paired(const KernelShape &shape) const;

private:
  /// Of 32 bits, those of a thread for 64 rows of a tile by 128 threads:
  /// scores, P in 16 bits and the output.
  int64_t countRegisters(const KernelShape &shape) const;
  /// isTooLarge, by shared memory alone.
  bool takesTooMany(const KernelShape &shape, int64_t columns) const;
  int64_t bytesOf(const KernelShape &shape, int64_t slots, int64_t dim,
                  int64_t dimV) const;
  int64_t widenedBytes(const KernelShape &shape, int64_t slots, int64_t dim,
                       int64_t dimV) const;

  const AttentionFacts &facts;
  const ForwardRules &rules;
  int64_t qkDim, vDim;
  bool isSpecialized;
  bool isWidened; ///< keys and values of 8 bits are, in slots of their own
};

/// Rows and columns, each a power of two, that divide `rows` and `columns`, and
/// are no more than those of `shape`.
KernelShape dividing(KernelShape shape, int64_t rows, int64_t columns);

} // namespace fa

#endif // FA_LIB_PLAN_TILEFIT_H
