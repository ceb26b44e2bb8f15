//===- ErrorRule.h - the rule for an error ----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A result is compared with the float64 reference, and its error with e0, the
// error of the same formula computed unfused in the precision of the type:
//
//   forward   max error <= 2 max e0 + floor     mean <= 1.1 mean e0 + floor/4
//             floor = (1e-6 for f32, 1e-5 for 16-bit types) * max(1, max|V|)
//   LSE       error <= 2 max e0 + 1e-5 max(1, |LSE|)
//   gradients as forward, floor = (1e-6 for f32, 1e-5 for 16-bit types) * the
//             gradient's own bound (ReferenceBackward.h)
//
// Positions of NaN and of each infinity must match the reference exactly and
// are left out of the errors. Where max e0 > 0.05 max|O| the numbers say
// nothing and only those positions are checked; of gradients, which may vanish,
// only where max e0 is above the floor, too.
//
//===----------------------------------------------------------------------===//

#ifndef FA_NUMERICS_ERRORRULE_H
#define FA_NUMERICS_ERRORRULE_H

#include "fa/Numerics/HostTensor.h"

namespace fa {

/// What was found of one output.
struct OutputCheck {
  std::string name;
  bool pass = false;
  double max = 0, mean = 0;     ///< error of the result
  double e0Max = 0, e0Mean = 0; ///< error of the unfused computation
  double bound = 0;             ///< what `max` may be
  bool contractOnly = false;    ///< only special values were compared
  std::string why;              ///< the reason of a failure
};

/// Checks an output of attention; `type` is its element type, `maxAbsV` the
/// largest finite |v|. All tensors have the same sizes.
OutputCheck checkForward(llvm::StringRef name, const HostTensor &got,
                         const HostTensor &reference, const HostTensor &e0,
                         ElementType type, double maxAbsV);

/// Checks a log-sum-exp.
OutputCheck checkLse(llvm::StringRef name, const HostTensor &got,
                     const HostTensor &reference, const HostTensor &e0);

/// Checks a gradient of an input of element type `type`, whose terms are as
/// large as `bound`.
OutputCheck checkGradient(llvm::StringRef name, const HostTensor &got,
                          const HostTensor &reference, const HostTensor &e0,
                          ElementType type, double bound);

/// The largest finite |element|, 0 if there is none.
double maxAbs(const HostTensor &tensor);

} // namespace fa

#endif // FA_NUMERICS_ERRORRULE_H
