/*===- fa.h - FlashTile's C interface -----------------------------*- C -*-===*\
|*
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
|*===----------------------------------------------------------------------===*|
|*
|* A program - an attention problem, or a module in MLIR - becomes a plan once;
|* a plan is launched on the caller's buffers as often as wanted.
|*
|* Every function that can fail gives a status; faGetLastErrorMessage says what
|* was found and what was expected. Nothing is thrown. Structs begin with their
|* size, which the caller sets to sizeof: members that are added later are then
|* known not to be there. Contexts and plans may be used from several threads at
|* the same time; destroying one while it is used is the caller's fault.
|*
\*===----------------------------------------------------------------------===*/

#ifndef FA_FA_H
#define FA_FA_H

#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#define FA_API __declspec(dllexport)
#else
#define FA_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
#define FA_NOEXCEPT noexcept
extern "C" {
#else
#define FA_NOEXCEPT
#endif

typedef enum faStatus {
  FA_SUCCESS = 0,
  FA_ERROR_INVALID_ARGUMENT = 1, /* what was given is not what is expected */
  FA_ERROR_COMPILE = 2,          /* the program is not valid or not supported */
  FA_ERROR_DEVICE = 3            /* loading or running failed */
} faStatus;

/* What went wrong in the last call of this thread that failed; "" if none did.
 * Valid until this thread's next call. */
FA_API const char *faGetLastErrorMessage(void) FA_NOEXCEPT;

typedef enum faType {
  FA_F32 = 0,
  FA_F16 = 1,
  FA_BF16 = 2,
  FA_I32 = 3,
  FA_I64 = 4,
  /* Not a type: makes every int a value of the enum, so that a wrong one can be
   * handed over and refused. */
  FA_TYPE_FORCE_INT = 0x7fffffff
} faType;

/*===--- Context: where plans run -----------------------------------------===*/

typedef struct faContextImpl *faContext;

typedef struct faContextOptions {
  size_t size;      /* sizeof(faContextOptions) */
  uint32_t threads; /* workers, the calling thread among them; 0: all cores */
  /* The caller's thread pool, or null: calls body(argument, worker) once for
   * each worker 0 .. n-1, possibly in parallel, and returns when all have
   * returned. It must not throw. */
  void (*parallel)(void *pool, uint32_t n,
                   void (*body)(void *argument, uint32_t worker),
                   void *argument);
  void *pool; /* given to `parallel` */
  /* Where plans run: "cpu", "cuda" (card 0) or "cuda:N"; null: "cpu". */
  const char *target;
  /* cuda: the driver's library; null: libcuda.so.1, as the system finds it. */
  const char *driver;
  /* cuda: the assembler ptxas: a path, null for the first on PATH (where there
   * is none, the driver assembles), "none" for the driver. */
  const char *ptxas;
} faContextOptions;

/* `options` may be null. For a card, opens the driver and retains the card's
 * primary context; FA_ERROR_DEVICE says what is missing. The caller destroys
 * the context, after its plans. */
FA_API faStatus faContextCreate(const faContextOptions *options,
                                faContext *context) FA_NOEXCEPT;
FA_API void faContextDestroy(faContext context) FA_NOEXCEPT;

/*===--- Plans: compiled programs -----------------------------------------===*/

typedef struct faPlanImpl *faPlan;

typedef enum faCausal {
  FA_CAUSAL_NONE = 0,
  FA_CAUSAL_BOTTOM_RIGHT = 1,      /* query i sees keys j <= i + sk - sq */
  FA_CAUSAL_TOP_LEFT = 2,          /* query i sees keys j <= i */
  FA_CAUSAL_FORCE_INT = 0x7fffffff /* as FA_TYPE_FORCE_INT */
} faCausal;

/* What of an attention matters for its code. Batch, heads, lengths, strides and
 * the scale are given at each launch. Zero-initialise, then set the size. */
typedef struct faAttentionDesc {
  size_t size; /* sizeof(faAttentionDesc) */
  faType type; /* of q, k, v and the output: F32, F16, BF16 */
  int64_t headDim;
  int64_t headDimV; /* 0: headDim */
  faCausal causal;
  int32_t hasWindow; /* i+sk-sq-windowLeft <= j <= i+sk-sq+windowRight */
  int64_t windowLeft, windowRight; /* -1: no bound */
  double softcap;                  /* 0: none */
  int32_t hasAlibi, hasLengths, hasLse;
  const char *bias; /* one of b h q k or 1 for each dimension, or null */
} faAttentionDesc;

/* The arguments of a launch, in order: q [b, hq, sq, d], k [b, hkv, sk, d],
 * v [b, hkv, sk, dv], then as asked for bias (of `type`), slopes (f32 [hq]),
 * lengths (i32 [b]), then the scale (f32), the output [b, hq, sq, dv], and if
 * asked for the log-sum-exp (f32 [b, hq, sq]). */
FA_API faStatus faPlanCreateFromAttention(faContext context,
                                          const faAttentionDesc *desc,
                                          faPlan *plan) FA_NOEXCEPT;

/* A module in MLIR's textual form at S0 or S3. The arguments of a launch are
 * those of the function or kernel, then, at S0, its results as buffers. */
typedef struct faModuleDesc {
  size_t size;       /* sizeof(faModuleDesc) */
  const char *text;  /* not necessarily ending with 0 */
  size_t length;     /* bytes of text */
  const char *entry; /* name of the program; null: the only one */
} faModuleDesc;

FA_API faStatus faPlanCreateFromModule(faContext context,
                                       const faModuleDesc *desc,
                                       faPlan *plan) FA_NOEXCEPT;

FA_API void faPlanDestroy(faPlan plan) FA_NOEXCEPT;

/* The plan as JSON: target, architecture, kernels with tiles and scratch,
 * milliseconds of compilation. Owned by the plan. */
FA_API const char *faPlanDescribe(faPlan plan) FA_NOEXCEPT;

/*===--- Launch -----------------------------------------------------------===*/

typedef struct faArgument {
  int32_t isTensor;
  faType type;
  void *data;             /* tensor: element 0; may be null if a size is 0 */
  int32_t rank;           /* tensor */
  const int64_t *sizes;   /* tensor: `rank` of them */
  const int64_t *strides; /* tensor: in elements; null: row-major */
  float f32;              /* scalar of type F32 */
  int64_t i64;            /* scalar of an integer type or index (I64) */
} faArgument;

/* Runs and returns when the outputs are written. Outputs must not overlap with
 * anything. Allocates only the first time that so many threads are at work. On
 * a card, tensors are in its memory; launches on the default stream and waits
 * for it. */
FA_API faStatus faPlanLaunch(faPlan plan, const faArgument *arguments,
                             size_t count) FA_NOEXCEPT;

/* Of a card's plan: enqueues one kernel on `stream`, a CUstream of the card's
 * primary context (null: the default stream), and returns. Nothing is
 * allocated, opened or waited for: legal while a graph is captured. What the
 * caller has as current context stays so. */
FA_API faStatus faPlanEnqueue(faPlan plan, void *stream,
                              const faArgument *arguments,
                              size_t count) FA_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif /* FA_FA_H */
