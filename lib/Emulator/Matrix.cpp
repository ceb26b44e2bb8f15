//===- Matrix.cpp - what a warp does with matrices ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Block.h"
#include "Functions.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <cmath>

using namespace llvm;
using namespace fa;
using namespace fa::emu;

//===----------------------------------------------------------------------===//
// mma.sync
//===----------------------------------------------------------------------===//

/// Matrix Fragments for mma.m16n8k16 with floating point type (PTX ISA): with g
/// = lane / 4 and t = lane % 4, pair i of A is at row g + 8 (i % 2), columns
/// 2 t + 8 (i / 2); pair i of B at column g, rows 2 t + 8 i; element i of C and
/// D at row g + 8 (i / 2), column 2 t + i % 2.
/// Operands: four pairs of A, two of B, as f32; four elements of C.
static void multiply(Warp &warp, const EmulatorSite &, uint32_t lanes) {
  if (!warp.block->requireAllLanes(warp, lanes))
    return;
  ++warp.block->counter().mma;
  float a[16][16], b[16][8], c[16][8];
  for (unsigned lane = 0; lane < kWarpSize; ++lane) {
    const Thread &thread = warp.lanes[lane];
    unsigned g = lane / 4, t = 2 * (lane % 4);
    for (unsigned i = 0; i < 4; ++i) {
      std::memcpy(&a[g + 8 * (i % 2)][t + 8 * (i / 2)], &thread.slots[i], 8);
      c[g + 8 * (i / 2)][t + i % 2] = thread.get<float>(6 + i);
    }
    for (unsigned i = 0; i < 2; ++i) {
      auto pair = thread.get<std::array<float, 2>>(4 + i);
      b[t + 8 * i][g] = pair[0];
      b[t + 8 * i + 1][g] = pair[1];
    }
  }
  for (auto [aRow, cRow] : zip(a, c))
    for (unsigned k = 0; k < 16; ++k)
      for (unsigned n = 0; n < 8; ++n)
        cRow[n] += aRow[k] * b[k][n];
  for (unsigned lane = 0; lane < kWarpSize; ++lane)
    for (unsigned i = 0; i < 4; ++i)
      warp.lanes[lane].set(i,
                           c[lane / 4 + 8 * (i / 2)][2 * (lane % 4) + i % 2]);
}

static void mma(Thread *thread, int32_t site) {
  thread->block->meetWarp(*thread, site, kAllLanes, multiply);
}

/// The tf32 in slot `n`. How 32 bits hold one is the machine's own affair (PTX
/// ISA, "Alternate Floating-Point Data Formats"): only cvt makes one.
static float takeTf32(const Thread &thread, unsigned n) {
  float value = thread.get<float>(n);
  if (thread.get<uint32_t>(n) & 0x1fff && !std::isnan(value))
    thread.block->report(FaultKind::IllegalOperand, thread, thread.waitsAt,
                         "operand " + Twine(n) +
                             " is no tf32 number: no cvt.rna.tf32 gave it");
  return value;
}

/// Matrix Fragments for mma.m16n8k8 (PTX ISA), tf32: element i of A is at row g
/// + 8 (i % 2), column t + 4 (i / 2); element i of B at column g, row t + 4 i;
/// C and D as above.
/// Operands: four elements of A, two of B, four of C.
static void multiplyTf32(Warp &warp, const EmulatorSite &, uint32_t lanes) {
  if (!warp.block->requireAllLanes(warp, lanes))
    return;
  ++warp.block->counter().mmaTf32;
  float a[16][8], b[8][8], c[16][8];
  for (unsigned lane = 0; lane < kWarpSize; ++lane) {
    const Thread &thread = warp.lanes[lane];
    unsigned g = lane / 4, t = lane % 4;
    for (unsigned i = 0; i < 4; ++i) {
      a[g + 8 * (i % 2)][t + 4 * (i / 2)] = takeTf32(thread, i);
      c[g + 8 * (i / 2)][2 * t + i % 2] = thread.get<float>(6 + i);
    }
    for (unsigned i = 0; i < 2; ++i)
      b[t + 4 * i][g] = takeTf32(thread, 4 + i);
  }
  for (auto [aRow, cRow] : zip(a, c))
    for (unsigned k = 0; k < 8; ++k)
      for (unsigned n = 0; n < 8; ++n)
        cRow[n] += aRow[k] * b[k][n];
  for (unsigned lane = 0; lane < kWarpSize; ++lane)
    for (unsigned i = 0; i < 4; ++i)
      warp.lanes[lane].set(i,
                           c[lane / 4 + 8 * (i / 2)][2 * (lane % 4) + i % 2]);
}

static void mmaTf32(Thread *thread, int32_t site) {
  thread->block->meetWarp(*thread, site, kAllLanes, multiplyTf32);
}

//===----------------------------------------------------------------------===//
// ldmatrix
//===----------------------------------------------------------------------===//

/// Passes through the banks beyond the first for one 8x8 matrix, whose rows of
/// 16 bytes are read together.
static unsigned conflictsOf(ArrayRef<uint32_t> rows) {
  std::array<SmallVector<uint32_t, 8>, 8> lines; // of each 16 bytes of banks
  size_t passes = 1;
  for (uint32_t row : rows) {
    auto &bank = lines[row / 16 % 8];
    if (!is_contained(bank, row / 128))
      bank.push_back(row / 128);
    passes = std::max(passes, bank.size());
  }
  return passes - 1;
}

/// PTX ISA, "Warp Level Matrix Instructions: ldmatrix": lanes 8 n to 8 n + 7
/// have the addresses of the rows of matrix n; of a row, lane 4 r + c gets
/// elements 2 c and 2 c + 1; with .trans, those of its column r.
/// Operands: the address. Attributes: matrices, transposed.
static void loadMatrices(Warp &warp, const EmulatorSite &site, uint32_t lanes) {
  if (!warp.block->requireAllLanes(warp, lanes))
    return;
  Block &block = *warp.block;
  ++block.counter().matrixLoads;
  ++block.counter().sharedRequests;
  auto [count, transposed, unused, none] = site.attributes;
  uint16_t matrices[4][8][8];
  for (int32_t n = 0; n < count; ++n) {
    std::array<uint32_t, 8> rows;
    for (unsigned row = 0; row < 8; ++row) {
      Thread &thread = warp.lanes[8 * n + row];
      rows[row] = thread.get<uint32_t>(0);
      block.shared().readForWarp(thread, thread.waitsAt, rows[row], 16,
                                 matrices[n][row]);
    }
    block.countConflicts(site, conflictsOf(rows));
  }
  for (unsigned lane = 0; lane < kWarpSize; ++lane)
    for (int32_t n = 0; n < count; ++n) {
      unsigned r = lane / 4, c = 2 * (lane % 4);
      auto &matrix = matrices[n];
      uint32_t low = transposed ? matrix[c][r] : matrix[r][c];
      uint32_t high = transposed ? matrix[c + 1][r] : matrix[r][c + 1];
      warp.lanes[lane].set<uint32_t>(n, low | high << 16);
    }
}

static void loadMatrix(Thread *thread, int32_t site) {
  thread->block->meetWarp(*thread, site, kAllLanes, loadMatrices);
}

ArrayRef<EmulatorFunction> fa::emu::matrixFunctions() {
  static const EmulatorFunction functions[] = {
      {"fa_emu_mma", mma},
      {"fa_emu_mma_tf32", mmaTf32},
      {"fa_emu_load_matrix", loadMatrix}};
  return functions;
}
