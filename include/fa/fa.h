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
|* size, which the caller sets to sizeof: members that are added later, always
|* at the end, are then known not to be there, and a member that is 0 asks for
|* nothing. (faArgument, of which there are arrays, has none and stays as it
|* is.) Contexts and plans may be used from several threads at the same time;
|* destroying one while it is used is the caller's fault. Sizes are in bytes and
|* strides in elements unless it says otherwise. Strings and structs that are
|* given are not used any more after the call.
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
  FA_ERROR_DEVICE = 3,           /* loading or running failed */
  FA_ERROR_CANCELLED = 4         /* the caller's progress function said so */
} faStatus;

/* The version of the library, e.g. "0.1.0"; never freed. */
FA_API const char *faGetVersion(void) FA_NOEXCEPT;

/* What went wrong in the last call of this thread that failed; "" if none did.
 * Valid until this thread's next call. */
FA_API const char *faGetLastErrorMessage(void) FA_NOEXCEPT;

typedef enum faType {
  FA_F32 = 0,
  FA_F16 = 1,
  FA_BF16 = 2,
  FA_I32 = 3,
  FA_I64 = 4,
  FA_F8E4M3 = 5, /* e4m3fn of OCP: no infinities */
  FA_F8E5M2 = 6,
  /* Not a type: makes every int a value of the enum, so that a wrong one can be
   * handed over and refused. */
  FA_TYPE_FORCE_INT = 0x7fffffff
} faType;

/* A tensor or a scalar that a launch is given. */
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

/*===--- Context: where plans run -----------------------------------------===*/

typedef struct faContextImpl *faContext;

typedef enum faLogLevel {
  FA_LOG_NOTE = 0,   /* works, but slower than it could */
  FA_LOG_WARNING = 1 /* something is wrong, and was got around */
} faLogLevel;

typedef enum faCacheMode {
  FA_CACHE_READ_WRITE = 0,
  FA_CACHE_READ_ONLY = 1,              /* uses what is there, writes nothing */
  FA_CACHE_ONLY = 2,                   /* what is not there is an error */
  FA_CACHE_MODE_FORCE_INT = 0x7fffffff /* as FA_TYPE_FORCE_INT */
} faCacheMode;

/* When the kernels of a plan for any launch on a card are compiled. Those of a
 * plan for a known launch, and of the CPU, always are when it is created. */
typedef enum faCompileMode {
  FA_COMPILE_EAGER = 0, /* when the plan is created: a launch never compiles */
  /* When a launch, faPlanGetLaunchInfo or faPlanPrepare first takes them; on
   * the calling thread, which `progress` is told of. No launch takes a slower
   * kernel for it. */
  FA_COMPILE_LAZY = 1,
  /* The same, and the rest on a thread of the context's, once the first launch
   * has its own. `progress` is not told of that. What fails there is told to
   * the launch that needs it, and the next one tries again. */
  FA_COMPILE_BACKGROUND = 2,
  FA_COMPILE_MODE_FORCE_INT = 0x7fffffff /* as FA_TYPE_FORCE_INT */
} faCompileMode;

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
  /* Where plans run: "cpu", "cuda" or "hip" (card 0), "cuda:N" or "hip:N";
   * null: "cpu". "emulator:ARCH" (sm_80, gfx942, ...) runs what a card of that
   * architecture would on the CPU, on tensors in its memory, and checks it:
   * what it finds is FA_ERROR_DEVICE of the launch, with the place as the
   * message (docs/emulator.md). Plans are then launched as those of the CPU. */
  const char *target;
  /* Of a card: the driver's library; null: libcuda.so.1 or libamdhip64.so, as
   * the system finds it. */
  const char *driver;
  /* cuda: the assembler ptxas: a path, null for the first on PATH (where there
   * is none, the driver assembles), "none" for the driver. */
  const char *ptxas;
  /* Where compiled programs are kept for other processes (docs/cache.md): a
   * folder, which is created; null: nowhere. */
  const char *cacheDirectory;
  faCacheMode cacheMode;
  uint64_t cacheMaxBytes; /* 0: 1 GiB */
  /* Is told what the caller should know though nothing failed, such as, once a
   * plan, what keeps a launch from a faster kernel; null: nobody.
   * Called by any thread that is in a function of this library, at the same
   * time by several. `message` is valid during the call. */
  void (*log)(void *user, faLogLevel level, const char *message);
  /* Called as a compilation comes to a phase ("fusion", "lowering",
   * "optimization", "assembly", "load"), on the thread that asked for the plan;
   * while an assembler runs, every 20 ms. Not 0 cancels: the call returns
   * FA_ERROR_CANCELLED. A thread that waits for another one's compilation of
   * the same program is not asked. null: runs through. */
  int32_t (*progress)(void *user, const char *phase);
  /* Scratch memory of the CPU's workers, aligned to `alignment` (at most 4096);
   * null where there is none. Kept until the context is destroyed. Both or
   * neither are given; null: malloc. */
  void *(*allocate)(void *user, size_t size, size_t alignment);
  void (*deallocate)(void *user, void *memory, size_t size);
  void *user; /* given to the four above */
  /* A profiler's library that is to show a range for each preparing and each
   * launch: one that NVTX injects (under Nsight Systems what the environment
   * calls NVTX_INJECTION64_PATH), or roctx (librocprofiler-sdk-roctx.so,
   * libroctx64.so). null: none. One that cannot be used is a warning. */
  const char *ranges;
  /* A tuning table that `fa-run --tune` wrote (docs/tuning.md), read once, now:
   * plans of an attention for a known launch take the options that were the
   * fastest for its class. null: none. One that cannot be read is
   * FA_ERROR_INVALID_ARGUMENT; one of another assembler is a warning. */
  const char *tuning;
  /* The CPU that code for the target "cpu" is made for, by LLVM's name, such as
   * "x86-64-v3", of which this machine must have all features; null: this
   * machine's. Another name is FA_ERROR_INVALID_ARGUMENT, which says what is
   * missing. For a card nothing is compiled for the host. */
  const char *hostCpu;
  faCompileMode compile;
  /* Of a card: the most bytes of its memory that the context takes for launches
   * that want workspace and are given none (faPlanEnqueue, faPlanLaunch). Taken
   * as it is wanted and kept until the context is destroyed: for each stream,
   * known by its handle, and for each stream of each capture of a graph. A
   * launch that gets none of it runs without splits, slower, which `log` is
   * told. 0: no launch gets any. */
  uint64_t workspacePoolBytes;
  /* Of "emulator:ARCH": not 0: launches count what they ask of the memory and
   * of the matrix units, for faGetLastCounters. This takes time: up to half as
   * long again. */
  int32_t counters;
} faContextOptions;

/* `options` may be null. For a card, opens the driver and, of CUDA, retains the
 * card's primary context; FA_ERROR_DEVICE says what is missing. The caller
 * destroys the context, after its plans and when no launch with workspace of
 * its pool is under way and no graph that has one will be launched. */
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

typedef enum faPrecision {
  FA_PRECISION_IEEE = 0,
  /* Dots of F32 may round their operands to tf32, 10 bits behind the point:
   * NVIDIA's cards do, which is several times faster; others need not. */
  FA_PRECISION_TF32 = 1,
  FA_PRECISION_FORCE_INT = 0x7fffffff /* as FA_TYPE_FORCE_INT */
} faPrecision;

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
  const char *bias;  /* one of b h q k or 1 for each dimension, or null */
  int32_t hasPrefix; /* keys j < prefix are seen by all queries */
  int64_t prefix;
  int32_t hasDocuments; /* a query sees keys first <= j < last of its own */
  int32_t hasSink;      /* one more score a head, without a value */
  /* Code of the caller's for one element, or null: operations in MLIR's textual
   * form. `scoreMod` defines %score : f32 from %s : f32, the score after
   * everything above but masks, and %b, %h, %i, %j : index, batch, query head,
   * query and key; `maskMod` defines %keep : i1 from these four, and a key is
   * seen that it and all other masks let pass. */
  const char *scoreMod, *maskMod;
  faPrecision precision;
  /* A launch that the plan is for, or null: any. The plan then has those
   * kernels alone that such a launch may run, with workspace or without, and is
   * compiled in a fraction of the time. Sizes, strides and the scale are looked
   * at, and addresses: null stands for one as the driver's allocation gives,
   * any other for one of its alignment. Other launches are legal where these
   * kernels take them, and FA_ERROR_INVALID_ARGUMENT says why they do not. */
  const faArgument *launch;
  size_t launchCount; /* of the arguments */
  /* Sequences of different lengths lie one behind the other ("varlen"): of
   * queries, and of keys and values. Sequence b has the rows offsets[b] to
   * offsets[b + 1] - 1, and sq and sk above are its own numbers of them. */
  int32_t hasOffsets, hasKeyOffsets;
  /* K and V lie in pages of any number of keys, which is a size of a launch, no
   * part of the plan; asks for hasLengths. A causal mask, a window and ALiBi
   * have the length of each sequence for sk. No bias along the keys. */
  int32_t hasPages;
  /* The probability that one of the attention's probabilities is dropped,
   * rounded to a multiple of 2^-16 above 0 and below 1; 0: no dropout. Which
   * ones follows from a seed and an offset in the device's memory, which each
   * launch reads: docs/numerics.md, line 14. */
  double dropout;
  /* Of k and v, where it is not `type`: FA_F8E4M3 or FA_F8E5M2 beside F16 and
   * BF16; 0: as `type`. Their numbers are widened to `type` without rounding.
   */
  faType kvType;
  /* k and v are multiplied with numbers of each batch (or sequence) and KV
   * head, which a launch reads on the device; asks for kvType. */
  int32_t hasScales;
  /* Batch invariance. Not 0: where keys are split, each split has so many keys,
   * so that the bits of a sequence's results follow from its own sizes, numbers
   * and memory layout alone, never from the batch, the number of heads or what
   * is free of a card. Such a plan chooses by nothing else, and a launch
   * without the workspace that it needs fails. */
  int64_t splitKeys;
  /* Not 0: v is the first headDimV columns of k, and no argument. */
  int32_t valuesInKeys;
  /* Which of the last sq keys each query sees is given in bits, as drafts of
   * speculative decoding ask for; it sees all keys before them. */
  int32_t hasDraft;
  /* Of q, where it is not `type`: the same, beside such keys and values; 0: as
   * `type`, which is then that of the output and of what is computed with, F16
   * or BF16. */
  faType qType;
  /* q is multiplied with a number of each batch (or sequence) and KV head,
   * which a launch reads on the device; asks for qType. */
  int32_t hasQueryScales;
  /* Not 0: the numbers that hasScales asks for are each for so many keys that
   * follow each other, f32 [b, hkv, n]: those of key j of a sequence are number
   * j / scaleKeys, wherever it lies. */
  int64_t scaleKeys;
} faAttentionDesc;

/* The arguments of a launch, in order: q [b, hq, sq, d], k [b, hkv, sk, d],
 * v [b, hkv, sk, dv] unless it is in k, then as asked for bias (of `type`),
 * slopes (f32 [hq]), lengths (i32 [b]), of documents first and last (i32 [b,
 * sq] both), sinks (f32 [hq]), of dropout seed and offset (i64 [2]), offsets of
 * queries and of keys (i32 [b + 1] each), the table of pages, scales of keys
 * and of values, and then of queries (f32 [b, hkv] each, any strides, 0
 * included; with scaleKeys those of keys and values [b, hkv, n]), the words of
 * drafts (i32 [b, sq, w], w at least sq / 32 rounded up; of packed queries
 * [rows, w]: of query i bit n % 32 of word n / 32 is whether it sees key sk -
 * sq + n), then the scale (f32), the output [b, hq, sq, dv], and if asked for
 * the log-sum-exp (f32 [b, hq, sq]). With offsets, q is [hq, rows, d], the
 * output [hq, rows, dv] and the log-sum-exp [hq, rows]; with those of keys, k
 * is [hkv, rows, d] and v [hkv, rows, dv]. Offsets are read on the device
 * alone: they ascend from 0 or more to at most the rows, and rows that belong
 * to no sequence are neither read nor written. With pages k is [pages, hkv,
 * page, d], v [pages, hkv, page, dv], with any strides, and the pages of each
 * sequence are a row of the table, i32 [b, m]. Of sequence n the launch reads
 * the first ceil(lengths[n] / page) entries, at the time that it runs; they
 * must be pages that there are, and lengths are 0 to m * page. FA_ERROR_COMPILE
 * is a problem that is not supported. The same problem is compiled and loaded
 * once a context, however many threads ask; where the compilation fails, each
 * fails by itself. The caller destroys the plan. */
FA_API faStatus faPlanCreateFromAttention(faContext context,
                                          const faAttentionDesc *desc,
                                          faPlan *plan) FA_NOEXCEPT;

/* How a kernel that Triton printed and that provably is attention runs. */
typedef enum faRaise {
  FA_RAISE_OFF = 0,  /* as it is written */
  FA_RAISE_AUTO = 1, /* as attention, in launches that the proof holds for */
  FA_RAISE_ONLY = 2, /* likewise, and else it is an error */
  FA_RAISE_FORCE_INT = 0x7fffffff /* as FA_TYPE_FORCE_INT */
} faRaise;

/* A module in MLIR's textual form at S0 or S3. The arguments of a launch are
 * those of the function or kernel, then, at S0, its results as buffers. */
typedef struct faModuleDesc {
  size_t size; /* sizeof(faModuleDesc) */
  /* MLIR, not necessarily ending with 0; or what Triton printed of a kernel
   * (TTIR, 3.2 to 3.9). Such a kernel takes its arguments in Triton's order,
   * pointers as tensors of one dimension, and one more: a tensor of FA_F32 with
   * data of 4 bytes, strides 0 and as sizes the grid. */
  const char *text;
  size_t length;     /* bytes of text */
  const char *entry; /* name of the program; null: the only one */
  /* Not 0: `text` may be MLIR bytecode, which is for files that the caller
   * trusts: upstream's reader of it was not written for others. */
  int32_t allowBytecode;
  /* As of faAttentionDesc. */
  const faArgument *launch;
  size_t launchCount;
  /* Of what Triton printed. With FA_RAISE_AUTO, a launch that breaks a
   * condition of the proof, whose tensors would leave their memory or whose
   * output shares memory with something else, runs the kernel as it is written,
   * and so do all where there is no proof or the attention does not compile,
   * which `log` is warned of. The kernel is compiled when a launch first needs
   * it. With FA_RAISE_ONLY these are errors: FA_ERROR_COMPILE of the plan, and
   * FA_ERROR_INVALID_ARGUMENT of a launch, which say where the proof ends or
   * what the launch breaks. faPlanDescribe says what was proved ("raised") or
   * why nothing was ("not_raised"), faLaunchInfo.notRaised what becomes of a
   * launch; what else is said of the plan is said of the attention. */
  faRaise raiseAttention;
} faModuleDesc;

FA_API faStatus faPlanCreateFromModule(faContext context,
                                       const faModuleDesc *desc,
                                       faPlan *plan) FA_NOEXCEPT;

/* Null is fine. The code is unloaded with the last plan that has it. */
FA_API void faPlanDestroy(faPlan plan) FA_NOEXCEPT;

/* Whether a plan could be made, by the compiler's passes up to where code is
 * generated, and no further: FA_SUCCESS, or FA_ERROR_COMPILE with the reasons
 * as the message. `arch`: "host", or what a card has ("sm_90a"); no card is
 * needed. */
FA_API faStatus faAttentionIsSupported(const char *arch,
                                       const faAttentionDesc *desc) FA_NOEXCEPT;
FA_API faStatus faModuleIsSupported(const char *arch,
                                    const faModuleDesc *desc) FA_NOEXCEPT;

/* What the attentions of a module are, without compiling it, as JSON:
 * {"attentions": [{"function": its name, "mask": "none", "intervals" or
 * "elements", "has_lower_bound": whether there is one in each interval,
 * "has_upper_bound", and "queries", "has_lower_query_bound" and
 * "has_upper_query_bound" of the queries that see a key}, ...]}. Where a mask
 * is intervals of keys, no others are walked; else its elements are looked at
 * one by one, in keys between what bounds there are or in the blocks of
 * tile.block_lists. The same holds of queries for gradients of keys and values,
 * and of tile.query_lists. Owned by the thread, until its next call of this
 * function. */
FA_API faStatus faModuleDescribe(const faModuleDesc *desc,
                                 const char **description) FA_NOEXCEPT;

/*===--- What a plan is ---------------------------------------------------===*/

/* The plan as JSON: target, architecture, kernels with tiles and scratch,
 * milliseconds of compilation. Owned by the plan. */
FA_API const char *faPlanDescribe(faPlan plan) FA_NOEXCEPT;

typedef enum faCacheOutcome {
  FA_CACHE_OFF = 0,
  FA_CACHE_MISS = 1, /* compiled, and kept */
  FA_CACHE_HIT = 2
} faCacheOutcome;

typedef struct faPlanInfo {
  size_t size;           /* sizeof(faPlanInfo), set by the caller */
  const char *target;    /* "cpu", "cuda" or "hip"; owned by the plan, as all */
  const char *arch;      /* "znver5", "sm_90a", "gfx942" */
  const char *llvm;      /* version */
  const char *assembler; /* version; "": none ran */
  uint32_t numKernels;
  faCacheOutcome cache;
  /* Milliseconds; of a plan from the cache, `compileMs` is the time of finding
   * it and the others are 0. What launches compile is not in it, nor in
   * `codeSize`. */
  double compileMs, passesMs, llvmMs, assemblerMs;
  size_t codeSize;
  /* Scratch that a launch at work on all threads takes; 0 on a card. */
  size_t workspaceSize;
} faPlanInfo;

FA_API faStatus faPlanGetInfo(faPlan plan, faPlanInfo *info) FA_NOEXCEPT;

typedef struct faKernelInfo {
  size_t size;           /* sizeof(faKernelInfo), set by the caller */
  const char *name;      /* owned by the plan */
  int32_t unfused;       /* one program on whole tensors: slow */
  int64_t tileQ, tileKv; /* 0: unknown */
  int64_t scratchBytes;  /* CPU: of one running program */
  /* On a card; registers, stack and spills are of one thread, -1: not known,
   * as of a kernel that no launch has taken yet (faCompileMode). */
  int64_t threads, sharedBytes, stages, registers, stackBytes, spillBytes;
} faKernelInfo;

/* Of kernel `index` < numKernels; a launch takes the first that fits. */
FA_API faStatus faPlanGetKernelInfo(faPlan plan, uint32_t index,
                                    faKernelInfo *info) FA_NOEXCEPT;

/*===--- Launch -----------------------------------------------------------===*/

/* Runs and returns when the outputs are written. Outputs must not overlap with
 * anything. Allocates only the first time that so many threads are at work or a
 * launch has so many splits. On a card, tensors are in its memory; launches as
 * faPlanEnqueue on the default stream and waits for it. */
FA_API faStatus faPlanLaunch(faPlan plan, const faArgument *arguments,
                             size_t count) FA_NOEXCEPT;

/* What this thread's last launch counted, as JSON: "counters" of fa-run --json
 * (docs/emulator.md), bank conflicts by their place in the program among them.
 * "" if it counted nothing (faContextOptions.counters) or failed. Valid until
 * this thread's next launch. */
FA_API const char *faGetLastCounters(void) FA_NOEXCEPT;

/* Of a card's plan: enqueues a launch on `stream`, a CUstream of the card's
 * primary context or a hipStream_t (null: the default stream), and returns.
 * What wants workspace has it of the context (workspacePoolBytes), else runs
 * without splits. Nothing is opened or waited for, and nothing allocated but
 * workspace, where a stream's is smaller than the launch wants: legal while a
 * graph is captured. What the caller has as current context or device stays
 * so. A kernel that the context left uncompiled (faCompileMode) is compiled and
 * loaded first, which is legal then as well and no part of the graph; a driver
 * that does not let the thread is FA_ERROR_DEVICE, breaks no capture, and
 * faPlanPrepare helps. FA_ERROR_COMPILE: it does not compile. */
FA_API faStatus faPlanEnqueue(faPlan plan, void *stream,
                              const faArgument *arguments,
                              size_t count) FA_NOEXCEPT;

/* What a launch with certain arguments runs. Where queries are few and keys are
 * many, a plan can split the keys over more programs: a launch then runs a
 * kernel on the splits and one that merges their results, always in the same
 * order. On a card it does so if it has workspace, the caller's or the
 * context's; on the CPU it has its own. */
typedef struct faLaunchInfo {
  size_t size;          /* sizeof(faLaunchInfo), set by the caller */
  size_t workspaceSize; /* 0: it wants none */
  int64_t splits;       /* of the keys; 1: none */
  uint32_t numKernels;  /* that run one after the other */
  /* Why a kernel that may run as attention (faModuleDesc.raiseAttention) runs
   * as it is written; null: it runs as attention, or is none that may. Owned by
   * the thread, until its next call of faPlanGetLaunchInfo. */
  const char *notRaised;
} faLaunchInfo;

/* Of a launch with as much workspace as it wants. The number of splits depends
 * on sizes, variant and card alone; on the CPU not on threads either, on
 * which the kernels of gradients depend there, but not their bits. Tensors'
 * addresses are looked at: a variant may ask for alignment. */
FA_API faStatus faPlanGetLaunchInfo(faPlan plan, const faArgument *arguments,
                                    size_t count,
                                    faLaunchInfo *info) FA_NOEXCEPT;

typedef struct faLaunchOptions {
  size_t size;     /* sizeof(faLaunchOptions) */
  void *stream;    /* as of faPlanEnqueue */
  void *workspace; /* of the card's memory, at a multiple of 16 bytes; null:
                    * as faPlanEnqueue */
  size_t workspaceSize; /* bytes; at least what faPlanGetLaunchInfo says */
} faLaunchOptions;

/* Compiles and loads what launches with these arguments run, with workspace or
 * without, and enqueues nothing: such a launch compiles and loads nothing then.
 * For who measures, and for a capture that shall not wait. Sizes, strides and
 * addresses are looked at as of faAttentionDesc.launch. What was compiled when
 * the plan was created is not again; errors are those of faPlanCreate... and,
 * of the arguments, of faPlanEnqueue. */
FA_API faStatus faPlanPrepare(faPlan plan, const faArgument *arguments,
                              size_t count) FA_NOEXCEPT;

/* faPlanEnqueue with workspace, which the launch uses until it is done:
 * launches at the same time need one each. What is in it does not matter. Too
 * little of it is FA_ERROR_INVALID_ARGUMENT and nothing was launched. */
FA_API faStatus faPlanEnqueueWith(faPlan plan, const faLaunchOptions *options,
                                  const faArgument *arguments,
                                  size_t count) FA_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#include "fa/backward.h"
#include "fa/serving.h"

#endif /* FA_FA_H */
