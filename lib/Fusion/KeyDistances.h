//===- KeyDistances.h - how far keys are from their queries -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_FUSION_KEYDISTANCES_H
#define FA_LIB_FUSION_KEYDISTANCES_H

#include "Tile/Tile.h"

namespace fa {

/// Takes |x| from the score region where the mask lets only those elements
/// pass whose x, affine in i and j, is 0 or more: the distance of a key that
/// is not behind its query. What is masked is not looked at.
void dropSignsOfDistances(tile::OnlineAttentionOp op);

/// Whether the score region adds to its score, or subtracts from it, a float
/// made of j by sums alone, perhaps times something without i and j: along the
/// keys of a row such scores rise or fall by the same amount.
bool hasLinearBias(tile::OnlineAttentionOp op);

} // namespace fa

#endif // FA_LIB_FUSION_KEYDISTANCES_H
