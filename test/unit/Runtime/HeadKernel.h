//===- HeadKernel.h - an attention that Triton printed ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_TEST_HEADKERNEL_H
#define FA_TEST_HEADKERNEL_H

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

/// What Triton prints of one head of attention, 16 columns, whose keys
/// are 16 a step and not masked behind the last: N is a multiple of 16.
inline constexpr const char *kHeadKernel = R"(
tt.func public @head(%q: !tt.ptr<f32>, %k: !tt.ptr<f32>, %v: !tt.ptr<f32>, %out: !tt.ptr<f32>, %scale: f32, %step: i32, %N: i32, %kn: i32, %vn: i32) {
  %c0 = arith.constant 0 : i32
  %c16 = arith.constant 16 : i32
  %zero = arith.constant dense<0.0> : tensor<16x16xf32>
  %none = arith.constant dense<0.0> : tensor<16xf32>
  %least = arith.constant dense<0xFF800000> : tensor<16xf32>
  %pid = tt.get_program_id x : i32
  %pair = tt.get_program_id y : i32
  %head = arith.muli %pair, %step : i32
  %first = arith.muli %pid, %c16 : i32
  %range = tt.make_range {end = 16 : i32, start = 0 : i32} : tensor<16xi32>
  %first_s = tt.splat %first : i32 -> tensor<16xi32>
  %rows = arith.addi %first_s, %range : tensor<16xi32>
  %rows_e = tt.expand_dims %rows {axis = 1 : i32} : tensor<16xi32> -> tensor<16x1xi32>
  %cols_e = tt.expand_dims %range {axis = 0 : i32} : tensor<16xi32> -> tensor<1x16xi32>
  %width = arith.constant dense<16> : tensor<16x1xi32>
  %rows_m = arith.muli %rows_e, %width : tensor<16x1xi32>
  %rows_b = tt.broadcast %rows_m : tensor<16x1xi32> -> tensor<16x16xi32>
  %cols_b = tt.broadcast %cols_e : tensor<1x16xi32> -> tensor<16x16xi32>
  %at = arith.addi %rows_b, %cols_b : tensor<16x16xi32>
  %N_s = tt.splat %N : i32 -> tensor<16x1xi32>
  %inside = arith.cmpi slt, %rows_e, %N_s : tensor<16x1xi32>
  %inside_b = tt.broadcast %inside : tensor<16x1xi1> -> tensor<16x16xi1>
  %q_head = tt.addptr %q, %head : !tt.ptr<f32>, i32
  %q_s = tt.splat %q_head : !tt.ptr<f32> -> tensor<16x16x!tt.ptr<f32>>
  %q_at = tt.addptr %q_s, %at : tensor<16x16x!tt.ptr<f32>>, tensor<16x16xi32>
  %queries = tt.load %q_at, %inside_b, %zero : tensor<16x16x!tt.ptr<f32>>
  %k_head = tt.addptr %k, %head : !tt.ptr<f32>, i32
  %k_s = tt.splat %k_head : !tt.ptr<f32> -> tensor<16x16x!tt.ptr<f32>>
  %v_head = tt.addptr %v, %head : !tt.ptr<f32>, i32
  %v_s = tt.splat %v_head : !tt.ptr<f32> -> tensor<16x16x!tt.ptr<f32>>
  %scale_s = tt.splat %scale : f32 -> tensor<16x16xf32>
  %r:3 = scf.for %start = %c0 to %N step %c16 iter_args(%top = %least, %total = %none, %acc = %zero) -> (tensor<16xf32>, tensor<16xf32>, tensor<16x16xf32>) : i32 {
    %start_s = tt.splat %start : i32 -> tensor<16xi32>
    %keys_n = arith.addi %start_s, %range : tensor<16xi32>
    %keys_e = tt.expand_dims %keys_n {axis = 1 : i32} : tensor<16xi32> -> tensor<16x1xi32>
    %kn_s = tt.splat %kn : i32 -> tensor<16x1xi32>
    %k_m = arith.muli %keys_e, %kn_s : tensor<16x1xi32>
    %k_b = tt.broadcast %k_m : tensor<16x1xi32> -> tensor<16x16xi32>
    %k_in = arith.addi %k_b, %cols_b : tensor<16x16xi32>
    %k_at = tt.addptr %k_s, %k_in : tensor<16x16x!tt.ptr<f32>>, tensor<16x16xi32>
    %vn_s = tt.splat %vn : i32 -> tensor<16x1xi32>
    %v_m = arith.muli %keys_e, %vn_s : tensor<16x1xi32>
    %v_b = tt.broadcast %v_m : tensor<16x1xi32> -> tensor<16x16xi32>
    %v_in = arith.addi %v_b, %cols_b : tensor<16x16xi32>
    %v_at = tt.addptr %v_s, %v_in : tensor<16x16x!tt.ptr<f32>>, tensor<16x16xi32>
    %keys = tt.load %k_at : tensor<16x16x!tt.ptr<f32>>
    %values = tt.load %v_at : tensor<16x16x!tt.ptr<f32>>
    %keys_t = tt.trans %keys {order = array<i32: 1, 0>} : tensor<16x16xf32> -> tensor<16x16xf32>
    %products = tt.dot %queries, %keys_t, %zero, inputPrecision = ieee : tensor<16x16xf32> * tensor<16x16xf32> -> tensor<16x16xf32>
    %scores = arith.mulf %products, %scale_s : tensor<16x16xf32>
    %here = "tt.reduce"(%scores) <{axis = 1 : i32}> ({
    ^bb0(%x: f32, %y: f32):
      %m = arith.maxnumf %x, %y : f32
      tt.reduce.return %m : f32
    }) : (tensor<16x16xf32>) -> tensor<16xf32>
    %new = arith.maxnumf %top, %here : tensor<16xf32>
    %fall = arith.subf %top, %new : tensor<16xf32>
    %alpha = math.exp %fall : tensor<16xf32>
    %new_e = tt.expand_dims %new {axis = 1 : i32} : tensor<16xf32> -> tensor<16x1xf32>
    %new_b = tt.broadcast %new_e : tensor<16x1xf32> -> tensor<16x16xf32>
    %below = arith.subf %scores, %new_b : tensor<16x16xf32>
    %p = math.exp %below : tensor<16x16xf32>
    %sum = "tt.reduce"(%p) <{axis = 1 : i32}> ({
    ^bb0(%x: f32, %y: f32):
      %m = arith.addf %x, %y : f32
      tt.reduce.return %m : f32
    }) : (tensor<16x16xf32>) -> tensor<16xf32>
    %kept = arith.mulf %total, %alpha : tensor<16xf32>
    %total_new = arith.addf %kept, %sum : tensor<16xf32>
    %alpha_e = tt.expand_dims %alpha {axis = 1 : i32} : tensor<16xf32> -> tensor<16x1xf32>
    %alpha_b = tt.broadcast %alpha_e : tensor<16x1xf32> -> tensor<16x16xf32>
    %acc_kept = arith.mulf %acc, %alpha_b : tensor<16x16xf32>
    %acc_new = tt.dot %p, %values, %acc_kept, inputPrecision = ieee : tensor<16x16xf32> * tensor<16x16xf32> -> tensor<16x16xf32>
    scf.yield %new, %total_new, %acc_new : tensor<16xf32>, tensor<16xf32>, tensor<16x16xf32>
  }
  %total_e = tt.expand_dims %r#1 {axis = 1 : i32} : tensor<16xf32> -> tensor<16x1xf32>
  %total_b = tt.broadcast %total_e : tensor<16x1xf32> -> tensor<16x16xf32>
  %o = arith.divf %r#2, %total_b : tensor<16x16xf32>
  %o_head = tt.addptr %out, %head : !tt.ptr<f32>, i32
  %o_s = tt.splat %o_head : !tt.ptr<f32> -> tensor<16x16x!tt.ptr<f32>>
  %o_at = tt.addptr %o_s, %at : tensor<16x16x!tt.ptr<f32>>, tensor<16x16xi32>
  tt.store %o_at, %o, %inside_b : tensor<16x16x!tt.ptr<f32>>
  tt.return
}
)";

/// A launch of it: heads that are `kHeadStep` elements apart, rows of Q, K and
/// the output one behind the other, of V with a gap.
inline constexpr int64_t kHeads = 2, kRows = 32, kColumns = 16, kValueStep = 24,
                         kHeadStep = kRows * kValueStep;
inline constexpr float kScale = 0.25f;

/// Its memory.
struct HeadMemory {
  std::vector<float> q, k, v, out;

  HeadMemory() {
    uint32_t state = 1;
    for (std::vector<float> *each : {&q, &k, &v}) {
      each->resize(kHeads * kHeadStep);
      for (float &x : *each) {
        state = state * 1664525 + 1013904223;
        x = static_cast<float>(state >> 8) / (1 << 22) - 2;
      }
    }
    clear();
  }
  void clear() { out.assign(kHeads * kHeadStep, std::nanf("")); }

  /// The largest difference from what float64 gives of `rows` rows and `keys`
  /// keys, whose values are `valueStep` apart; a NaN where one was not written,
  /// or something else was.
  double errorOf(int64_t rows, int64_t keys,
                 int64_t valueStep = kValueStep) const {
    double worst = 0;
    for (int64_t h = 0; h < kHeads; ++h)
      for (int64_t i = 0; i < kHeadStep / kColumns; ++i) {
        std::vector<double> p(keys);
        double sum = 0;
        for (int64_t j = 0; j < keys; ++j) {
          double s = 0;
          for (int64_t d = 0; d < kColumns; ++d)
            s += double(q[h * kHeadStep + i * kColumns + d]) *
                 k[h * kHeadStep + j * kColumns + d];
          sum += p[j] = std::exp(s * kScale);
        }
        for (int64_t d = 0; d < kColumns; ++d) {
          double exact = 0;
          for (int64_t j = 0; j < keys; ++j)
            exact += p[j] / sum * v[h * kHeadStep + j * valueStep + d];
          double found = out[h * kHeadStep + i * kColumns + d];
          if (std::isnan(found) != (i >= rows))
            return std::nan("");
          if (i < rows)
            worst = std::max(worst, std::abs(found - exact));
        }
      }
    return worst;
  }
};

#endif // FA_TEST_HEADKERNEL_H
