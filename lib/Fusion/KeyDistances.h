//===- KeyDistances.h - how far keys are from their queries -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_FUSION_KEYDISTANCES_H
#define FA_LIB_FUSION_KEYDISTANCES_H

#include "Tile/Tile.h"
#include "fa/Fusion/MaskAnalysis.h"

namespace fa {

/// Takes |x| from the score region where the mask lets only those elements
/// pass whose x, affine in i and j, is 0 or more: the distance of a key that
/// is not behind its query. What is masked is not looked at.
void dropSignsOfDistances(tile::OnlineAttentionOp op);

/// What a score region adds to its score: ± `factor` · `distance`, or its size
/// (`isAbsolute`). Along the keys on one side of a row such scores rise or fall
/// by the same amount.
struct LinearBias {
  bool isSubtracted, isAbsolute;
  mlir::Value factor; ///< of the region, without i and j; null: 1
  AffineForm distance;

  /// Whether it depends on j − i alone and is the same for all rows else.
  bool isRamp() const {
    return (distance.key == 1 || distance.key == -1) &&
           distance.query == -distance.key;
  }
};

/// The bias of the score region, if that has nothing else.
std::optional<LinearBias> findLinearBias(tile::OnlineAttentionOp op);

} // namespace fa

#endif // FA_LIB_FUSION_KEYDISTANCES_H
