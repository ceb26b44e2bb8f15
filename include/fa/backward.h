/*===- backward.h - gradients of attention ------------------------*- C -*-===*\
|*
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
|*===----------------------------------------------------------------------===*|
|*
|* The part of fa.h, which includes it, that trains: plans of an attention's
|* gradients.
|*
\*===----------------------------------------------------------------------===*/

#ifndef FA_BACKWARD_H
#define FA_BACKWARD_H

#include "fa/fa.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Which gradients of an attention are wanted. Zero-initialise, then set the
 * size. */
typedef struct faBackwardDesc {
  size_t size;                 /* sizeof(faBackwardDesc) */
  int32_t wantQ, wantK, wantV; /* one at least; kernels of others do not run */
  int32_t hasDlse;             /* the log-sum-exp has a gradient, too */
  /* Of the bias, the ALiBi slopes and the sinks, which the attention has. */
  int32_t wantBias, wantSlopes, wantSink;
  int32_t wantScale; /* of the scale, one element of f32 */
} faBackwardDesc;

/* The gradients of the attention `desc`: everything of it counts but hasLse,
 * for a forward that is trained always gives its log-sum-exp. The arguments of
 * a launch, in order: the forward's inputs from q to the scale, what the
 * forward gave, out [b, hq, sq, dv] and log-sum-exp (f32 [b, hq, sq]), then the
 * gradients of these two, dOut like out and if there is one dLse, all as
 * inputs; then, as wanted, dQ, dK, dV, dBias, dSlopes and dSink like the inputs
 * that they are of, and dScale (f32 [1]), as outputs. Of a scale of 0 dScale is
 * NaN: it is computed from what the scale is a factor of. With offsets all of
 * it is packed as the forward's arguments are, dBias is not to be had, and rows
 * that belong to no sequence are not written.
 * `desc->launch` are these arguments. A launch sums in an order that depends on
 * sizes, plan and card's kind alone: its results repeat bit by bit. On a card
 * it always takes workspace, of the size that faPlanGetLaunchInfo gives, from
 * the caller or the context's pool; FA_ERROR_INVALID_ARGUMENT says that there
 * is none. What holds of faPlanCreateFromAttention holds otherwise.
 * FA_ERROR_COMPILE is also a `scoreMod` with an operation whose derivative is
 * not known. */
FA_API faStatus faPlanCreateFromAttentionBackward(
    faContext context, const faAttentionDesc *desc,
    const faBackwardDesc *backward, faPlan *plan) FA_NOEXCEPT;

/* As faAttentionIsSupported. */
FA_API faStatus
faAttentionBackwardIsSupported(const char *arch, const faAttentionDesc *desc,
                               const faBackwardDesc *backward) FA_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif /* FA_BACKWARD_H */
