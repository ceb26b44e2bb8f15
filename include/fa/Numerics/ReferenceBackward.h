//===- ReferenceBackward.h - gradients of attention in float64 --*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// With x = scale q.k, s = f(x) its score, masked, and p = exp(s - lse):
//
//   delta = sum(dO O) - dlse       of a row
//   dP    = dO.V                   dx = p (dP - delta) f'(x)
//   dV    = sum p dO               over queries and the heads of a group
//   dQ    = scale sum dx K         dK = scale sum dx Q, over the same
//   dbias = sum p (dP - delta)     over the scores that an element is added to
//   dslope = -sum p (dP - delta) |i + sk - sq - j|    dsink = -sum exp(sink -
//   lse) delta         dscale = sum dx q . k
//
// in plain loops, which share nothing with the compiler. A masked element, a
// bias of -inf and a row without keys contribute nothing.
//
//===----------------------------------------------------------------------===//

#ifndef FA_NUMERICS_REFERENCEBACKWARD_H
#define FA_NUMERICS_REFERENCEBACKWARD_H

#include "fa/Numerics/Reference.h"

namespace fa {

/// The gradients of the results, in logical order: out [b, hq, sq, dv] and,
/// where the problem has it, lse [b, hq, sq]; packed without b.
struct Cotangents {
  HostTensor out;
  std::optional<HostTensor> lse;
};

/// What a backward pass is given besides the inputs of the forward.
struct BackwardInputs {
  AttentionResult forward; ///< lse f32
  Cotangents cotangents;
};

/// The gradient of one input.
struct Gradient {
  std::string name; ///< "dq"
  HostTensor value; ///< f64, with the input's sizes, in logical order
  /// A size of its terms, to which the floor of the error rule is relative: of
  /// dv the largest sum of p |dO|, of dq and dk
  /// |scale| max||dO|| max||v|| max|k or q|, of others the largest sum of terms
  /// without their signs, over what is finite.
  double bound = 0;
};

/// Those that the problem asks for, in the order of its inputs.
using Gradients = std::vector<Gradient>;

/// The reference: everything in float64, the forward included.
llvm::Expected<Gradients> referenceBackwardF64(const AttentionProblem &problem,
                                               const AttentionInputs &inputs,
                                               const Cotangents &cotangents);

/// The same formulas unfused in the precision of the type, from the results of
/// the forward that are given: dots, the softmax and all sums in f32, P and dx
/// rounded to the inputs' type before their dots (to tf32, where that is
/// allowed, like all operands), gradients rounded to it at the end. Its error
/// is e0 of the error rule.
llvm::Expected<Gradients> unfusedBackward(const AttentionProblem &problem,
                                          const AttentionInputs &inputs,
                                          const BackwardInputs &given);

/// Seeded, normally distributed cotangents; `out` lies in memory as the
/// problem's layout says.
llvm::Expected<Cotangents> makeRandomCotangents(const AttentionProblem &problem,
                                                uint64_t seed);

/// The results of the forward as a backward pass is given them: by the float64
/// reference, out rounded to the type and in the problem's layout, lse to f32.
llvm::Expected<AttentionResult>
makeForwardResults(const AttentionProblem &problem,
                   const AttentionInputs &inputs);

} // namespace fa

#endif // FA_NUMERICS_REFERENCEBACKWARD_H
