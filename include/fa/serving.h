/*===- serving.h - what a server runs beside attention ------------*- C -*-===*\
|*
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
|*===----------------------------------------------------------------------===*|
|*
|* The part of fa.h, which includes it, that serves: plans that merge parts of
|* an attention, and plans that write keys and values into a cache.
|*
\*===----------------------------------------------------------------------===*/

#ifndef FA_SERVING_H
#define FA_SERVING_H

#include "fa/fa.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Attention of the same queries over several parts of the keys, which becomes
 * attention over all of them. Zero-initialise, then set the size. */
typedef struct faMergeDesc {
  size_t size;              /* sizeof(faMergeDesc) */
  faType type;              /* of all outputs: F32, F16, BF16 */
  int64_t headDim;          /* columns of an output */
  int32_t parts;            /* 1 to 16 */
  int32_t hasLse;           /* the log-sum-exp of all is a result, too */
  const faArgument *launch; /* as of faAttentionDesc */
  size_t launchCount;
} faMergeDesc;

/* The arguments of a launch, in order: of each part its output [b, h, s, d] and
 * its log-sum-exp (f32 [b, h, s], natural), then the output [b, h, s, d] and if
 * asked for its log-sum-exp (f32 [b, h, s]). Strides are any, so that packed
 * rows [h, rows, d] are a batch of one, and a log-sum-exp may lie as [rows, h].
 * A part whose log-sum-exp is -inf or +inf has no keys, whatever its output
 * holds. docs/numerics.md, line 15. What holds of faPlanCreateFromAttention
 * holds otherwise. */
FA_API faStatus faPlanCreateFromMerge(faContext context,
                                      const faMergeDesc *desc,
                                      faPlan *plan) FA_NOEXCEPT;

/* As faAttentionIsSupported. */
FA_API faStatus faMergeIsSupported(const char *arch,
                                   const faMergeDesc *desc) FA_NOEXCEPT;

typedef enum faRope {
  FA_ROPE_NONE = 0,
  FA_ROPE_INTERLEAVED = 1,       /* elements 2i and 2i + 1 are a pair */
  FA_ROPE_HALVES = 2,            /* elements i and i + rotaryDim / 2 are */
  FA_ROPE_FORCE_INT = 0x7fffffff /* as FA_TYPE_FORCE_INT */
} faRope;

/* Keys and values of tokens, which are written to slots of a cache; keys, and
 * queries beside them, may be rotated. Zero-initialise, then set the size. */
typedef struct faAppendDesc {
  size_t size; /* sizeof(faAppendDesc) */
  faType type; /* of keys, values, cache and queries: F32, F16, BF16 */
  int64_t headDim;
  int64_t headDimV;         /* 0: headDim */
  faRope rope;              /* of keys and queries */
  int64_t rotaryDim;        /* columns that are rotated, even; 0: headDim */
  faType tableType;         /* of the cosines and sines: F32, or `type` */
  int32_t hasWidePositions; /* positions are i64, not i32 */
  int32_t hasQueries;       /* there are queries, which are rotated in place */
  const faArgument *launch; /* as of faAttentionDesc */
  size_t launchCount;
} faAppendDesc;

/* The arguments of a launch, in order: k [t, hkv, d], v [t, hkv, dv], slots
 * (i64 [t]), the cache of keys [pages, hkv, page, d] and of values [pages, hkv,
 * page, dv]; with `rope` positions (i32 or i64 [t]), cosines and sines
 * [positions, rotaryDim / 2] both; with `hasQueries` queries [t, hq, d]. Any
 * strides: pages may be [pages, page, hkv, d] in memory, or keys beside values
 * in one pool, and a cache without pages, [b, hkv, rows, d], has b pages.
 * Token n goes to row slots[n] mod page of page slots[n] / page; -1 means that
 * it is not kept. Slots and positions are read when the launch runs. No two
 * tokens have the same slot; of a slot that there is not nothing is written,
 * and a position beyond the tables makes zeros. docs/numerics.md, line 16. What
 * holds of faPlanCreateFromAttention holds otherwise, but that queries are
 * written to where they are. */
FA_API faStatus faPlanCreateFromAppend(faContext context,
                                       const faAppendDesc *desc,
                                       faPlan *plan) FA_NOEXCEPT;

/* As faAttentionIsSupported. */
FA_API faStatus faAppendIsSupported(const char *arch,
                                    const faAppendDesc *desc) FA_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif /* FA_SERVING_H */
