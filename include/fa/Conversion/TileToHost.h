//===- TileToHost.h - the pipelines of the host target ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The ABI of a host kernel:
//   void f(i64 pid0, i64 pid1, i64 pid2, const i64 *words, void *scratch)
// with, in `words`, the three extents of the grid and then the arguments in
// order: of a memref the pointer to its element 0, its sizes and its strides in
// elements; of a scalar its bits, zero-extended. `scratch` is 64-byte aligned
// and as large as the function's attribute `fa.scratch_bytes` says; programs
// that run at the same time have different ones.
//
//===----------------------------------------------------------------------===//

#ifndef FA_CONVERSION_TILETOHOST_H
#define FA_CONVERSION_TILETOHOST_H

#include "fa/Plan/Machine.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"

namespace fa {

/// Options of `fa-cpu` and of its two halves.
struct HostPipelineOptions
    : public mlir::PassPipelineOptions<HostPipelineOptions> {
  Option<std::string> constraints{
      *this, "constraints",
      llvm::cl::desc("what is asked of plans, as for tile-to-kernel"),
      llvm::cl::init("")};
  Option<int64_t> vectorBits{*this, "vector-bits",
                             llvm::cl::desc("width of a vector register"),
                             llvm::cl::init(512)};
  Option<int64_t> vectorRegisters{*this, "vector-registers",
                                  llvm::cl::desc("number of vector registers"),
                                  llvm::cl::init(32)};
  Option<bool> pairDots{
      *this, "pair-dots",
      llvm::cl::desc("bf16 by AVX512_BF16's products of pairs"),
      llvm::cl::init(false)};
  Option<bool> tileDots{
      *this, "tile-dots",
      llvm::cl::desc(
          "bf16, f16 and f32 by AMX's products of tiles; needs pair-dots"),
      llvm::cl::init(false)};
  Option<bool> emulatesTiles{
      *this, "emulates-tiles",
      llvm::cl::desc("products of tiles by vector instructions"),
      llvm::cl::init(false)};
  Option<bool> unfused{*this, "unfused",
                       llvm::cl::desc("there may be programs on whole tensors"),
                       llvm::cl::init(true)};
  Option<bool> assumeNoEmptyRows{
      *this, "assume-no-empty-rows",
      llvm::cl::desc("every row keeps a key: finite sentinels are masks"),
      llvm::cl::init(false)};
  Option<bool> allowNoMax{
      *this, "allow-no-max",
      llvm::cl::desc("exp(x) divided by its sum is a softmax as well"),
      llvm::cl::init(false)};
};

/// S0 to S3: fusion, online softmax, kernels with the tiles of the host.
void buildHostKernelPipeline(mlir::OpPassManager &pm,
                             const HostPipelineOptions &options);

/// S3 to the LLVM dialect.
void buildHostLoweringPipeline(mlir::OpPassManager &pm,
                               const HostPipelineOptions &options);

/// Registers `fa-cpu` (S0 to the LLVM dialect).
void registerHostPipelines();

} // namespace fa

#endif // FA_CONVERSION_TILETOHOST_H
