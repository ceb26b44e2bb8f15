//===- Products.cpp - the running products of a warp ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Products.h"

#include "Block.h"
#include "Functions.h"
#include "MatrixDescriptor.h"

using namespace llvm;
using namespace fa;
using namespace fa::emu;

/// Elements of 16 bits in the depth of one product.
static constexpr unsigned kDepth = 16;
static constexpr unsigned kRows = 16; ///< of a warp
static constexpr unsigned kMaxColumns = 256;

//===----------------------------------------------------------------------===//
// Marks
//===----------------------------------------------------------------------===//

// A signalling NaN: sign, exponent, a zero, 15 bits of the product's number, 7
// of the register's.
static constexpr uint32_t kMark = 0xff800000;

static uint32_t markOf(uint32_t product) {
  return kMark | (product % 0x7fff + 1) << 7;
}

static bool isMark(uint32_t value) {
  return (value & 0xffc00000) == kMark && (value & 0x003fff80);
}

std::shared_ptr<Products::Accumulators> Products::find(uint32_t value) const {
  auto it = isMark(value) ? marks.find(value & ~0x7fu) : marks.end();
  return it == marks.end() ? nullptr : it->second;
}

void Products::checkRead(Thread &thread, int32_t site, uint32_t value) const {
  auto of = find(value);
  if (!of)
    return;
  Block &block = *thread.block;
  block.report(FaultKind::MissingWait, thread, site,
               "reads an accumulator of the product at " +
                   block.site(of->site).location +
                   ", which has not passed through a wgmma.wait_group");
}

/// PTX ISA 9.7.15.7.3: accessing the registers before the wait, those of a
/// included, is undefined.
void Products::checkWrite(Thread &thread, int32_t site,
                          int32_t registers) const {
  for (const Product &product : running)
    if (product.registers == registers)
      thread.block->report(
          FaultKind::RegisterInFlight, thread, site,
          "writes a register that the product at " +
              thread.block->site(product.site).location +
              " reads; no wgmma.wait_group has waited for its group");
}

void Products::checkEnd(Thread &thread) const {
  if (!running.empty())
    thread.block->report(FaultKind::MissingWait, thread, running.front().site,
                         "the block ended while " + Twine(running.size()) +
                             " products of a warp were running");
}

//===----------------------------------------------------------------------===//
// What begins
//===----------------------------------------------------------------------===//

/// "Register Fragments", accumulators of m64nN: element i of register group j
/// of a lane is at row lane / 4 + 8 (i / 2), column 8 j + 2 (lane % 4) + i % 2.
static unsigned placeOf(unsigned lane, unsigned reg, unsigned columns) {
  unsigned row = lane / 4 + 8 * (reg % 4 / 2);
  return row * columns + reg / 4 * 8 + lane % 4 * 2 + reg % 2;
}

/// Those that the marks in the slots speak of, or new ones with the slots'
/// values.
std::shared_ptr<Products::Accumulators>
Products::openAccumulators(Warp &warp, int32_t site, unsigned columns,
                           unsigned firstSlot) {
  auto known = find(warp.lanes[0].get<uint32_t>(firstSlot));
  auto result = known;
  if (!known)
    result = std::make_shared<Accumulators>(
        Accumulators{columns, std::vector<float>(kRows * columns), 0, 0, site});
  for (unsigned lane = 0; lane < kWarpSize; ++lane)
    for (unsigned reg = 0; reg < columns / 2; ++reg) {
      Thread &thread = warp.lanes[lane];
      auto value = thread.get<uint32_t>(firstSlot + reg);
      // Registers in flight stay where they are, in products of one shape.
      if (known ? value != (known->newest | reg) || known->columns != columns
                : isMark(value))
        checkRead(thread, site, isMark(value) ? value : known->newest);
      if (!known)
        std::memcpy(&result->values[placeOf(lane, reg, columns)], &value, 4);
    }
  return result;
}

/// PTX ISA 9.7.15.5.2, "wgmma.mma_async". Operands: a (a descriptor or four
/// words), b, the accumulators. Attributes: columns; whether a is in registers,
/// factors are f16, b is transposed, there are accumulators, as bits; the
/// number of a's registers.
void Products::begin(Warp &warp, int32_t site) {
  Block &block = *warp.block;
  const auto &[columns, flags, registers, unused] = block.site(site).attributes;
  Thread &first = warp.lanes[0];
  Product product = {site,
                     committed,
                     0,
                     0,
                     {},
                     bool(flags & 1),
                     bool(flags & 2),
                     bool(flags & 4),
                     registers,
                     nullptr,
                     nullptr};
  unsigned slot = product.fromRegisters ? 4 : 1;
  if (product.fromRegisters)
    for (unsigned lane = 0; lane < kWarpSize; ++lane)
      for (unsigned n = 0; n < 4; ++n)
        product.words[lane][n] = warp.lanes[lane].get<uint32_t>(n);
  else
    product.a = first.get<uint64_t>(0);
  product.b = first.get<uint64_t>(slot);
  product.seen = std::make_shared<const Horizon>(warp.clock.seen);
  if (flags & 8)
    product.result = openAccumulators(warp, site, columns, slot + 1);
  else
    product.result = std::make_shared<Accumulators>(
        Accumulators{unsigned(columns),
                     std::vector<float>(size_t(kRows) * columns), 0, 0, site});
  if (needsFence)
    block.report(FaultKind::MissingFence, first, site,
                 "no wgmma.fence lies between the last access to its registers "
                 "and this product");
  uint32_t mark = markOf(numBegun++);
  newestSite = site;
  marks.erase(product.result->newest);
  product.result->newest = mark;
  ++product.result->running;
  marks[mark] = product.result;
  running.push_back(std::move(product));
  for (unsigned lane = 0; lane < kWarpSize; ++lane)
    for (int32_t reg = 0; reg < columns / 2; ++reg)
      warp.lanes[lane].set<uint32_t>(reg, mark | reg);
  if (warp.index % 4 == 0)
    ++block.counter().products[columns / 8];
}

//===----------------------------------------------------------------------===//
// What ends
//===----------------------------------------------------------------------===//

/// The 16 bits of an f16 or bf16 as f32.
static float widen(uint16_t bits, bool isHalf) {
  if (!isHalf)
    return std::bit_cast<float>(uint32_t(bits) << 16);
  uint32_t sign = uint32_t(bits & 0x8000) << 16, rest = bits & 0x7fff;
  // Exponents are biased by 15 in one, by 127 in the other; denormals are
  // exact.
  float size = std::bit_cast<float>(rest << 13) * 0x1p112f;
  uint32_t word = rest >= 0x7c00 ? 0x7f800000 | (rest & 0x3ff) << 13
                                 : std::bit_cast<uint32_t>(size);
  return std::bit_cast<float>(word | sign);
}

namespace {
/// Reads operands as they are now, if what wrote them came before `seen`.
struct OperandReader {
  Thread &thread;
  int32_t site;
  const Horizon &seen;
  bool isHalf;

  /// The eight elements at `address`.
  void read(uint32_t address, float *to, unsigned step) const {
    uint16_t elements[8];
    thread.block->shared().readForProduct(thread, site, address, seen,
                                          elements);
    for (unsigned n = 0; n < 8; ++n)
      to[size_t(n) * step] = widen(elements[n], isHalf);
  }
};
} // namespace

using Left = float[kRows][kDepth];
using Right = float[kDepth][kMaxColumns];

/// The fragment of a in registers is that of mma.m16n8k16 (Matrix.cpp).
static void spread(const std::array<std::array<uint32_t, 4>, 32> &words,
                   bool isHalf, Left &a) {
  for (unsigned lane = 0; lane < kWarpSize; ++lane)
    for (unsigned n = 0; n < 4; ++n) {
      float *to = &a[lane / 4 + 8 * (n % 2)][2 * (lane % 4) + 8 * (n / 2)];
      to[0] = widen(words[lane][n], isHalf);
      to[1] = widen(words[lane][n] >> 16, isHalf);
    }
}

static void readLeft(const OperandReader &reader, const MatrixDescriptor &from,
                     Left &a) {
  unsigned first = reader.thread.warp->index % 4 * kRows;
  for (unsigned row = 0; row < kRows; ++row)
    for (unsigned k = 0; k < kDepth; k += 8)
      reader.read(from.alongDepth(first + row, 2 * k), &a[row][k], 1);
}

static void readRight(const OperandReader &reader, const MatrixDescriptor &from,
                      bool isTransposed, unsigned columns, Right &b) {
  if (isTransposed) {
    for (unsigned k = 0; k < kDepth; ++k)
      for (unsigned n = 0; n < columns; n += 8)
        reader.read(from.acrossDepth(k, 2 * n), &b[k][n], 1);
    return;
  }
  for (unsigned n = 0; n < columns; ++n)
    for (unsigned k = 0; k < kDepth; k += 8)
      reader.read(from.alongDepth(n, 2 * k), &b[k][n], kMaxColumns);
}

void Products::end(Warp &warp, const Product &product) {
  Thread &first = warp.lanes[0];
  Accumulators &result = *product.result;
  --result.running;
  MatrixDescriptor left(product.a), right(product.b);
  if (!right.isKnown() || (!product.fromRegisters && !left.isKnown())) {
    warp.block->report(FaultKind::IllegalDescriptor, first, product.site,
                       "expected a base offset of 0");
    return;
  }
  OperandReader reader{first, product.site, *product.seen, product.isHalf};
  Left a;
  Right b;
  if (product.fromRegisters)
    spread(product.words, product.isHalf, a);
  else
    readLeft(reader, left, a);
  readRight(reader, right, product.isTransposed, result.columns, b);
  for (unsigned row = 0; row < kRows; ++row) {
    float *sums = &result.values[size_t(row) * result.columns];
    for (unsigned k = 0; k < kDepth; ++k)
      for (unsigned n = 0; n < result.columns; ++n)
        sums[n] += a[row][k] * b[k][n];
  }
}

/// PTX ISA 9.7.15.7.3, "wgmma.wait_group": at most N of the last groups are
/// still running.
void Products::wait(Warp &warp, int32_t site, uint32_t pending,
                    unsigned count) {
  while (!running.empty() && running.front().group + pending < committed) {
    end(warp, running.front());
    running.pop_front();
  }
  for (unsigned lane = 0; lane < kWarpSize; ++lane)
    for (unsigned n = 0; n < count; ++n) {
      Thread &thread = warp.lanes[lane];
      auto value = thread.get<uint32_t>(n);
      auto of = find(value);
      if (!of)
        continue;
      unsigned reg = value & 0x7f;
      if (of->running)
        warp.block->report(
            FaultKind::MissingWait, thread, site,
            "the product at " + warp.block->site(of->site).location +
                " is still running: its group is one of the last " +
                Twine(pending) + ", or not committed");
      else
        thread.set(n, of->values[placeOf(lane, reg, of->columns)]);
    }
  needsFence = true;
  // Values that were not asked for here may be at the next wait.
  while (marks.size() > 64)
    marks.erase(marks.begin());
}

//===----------------------------------------------------------------------===//
// What emulated code calls
//===----------------------------------------------------------------------===//

static constexpr uint32_t kAllLanes = ~0u;

static void beginAll(Warp &warp, const EmulatorSite &, uint32_t lanes) {
  if (warp.block->requireAllLanes(warp, lanes))
    warp.products.begin(warp, warp.lanes[0].waitsAt);
}

static void product(Thread *thread, int32_t site) {
  thread->block->meetWarp(*thread, site, kAllLanes, beginAll);
}

/// PTX ISA 9.7.15.7.1, "wgmma.fence": what was done to registers comes first.
static void fenceAll(Warp &warp, const EmulatorSite &, uint32_t lanes) {
  if (warp.block->requireAllLanes(warp, lanes))
    warp.products.fence();
}

static void fence(Thread *thread, int32_t site) {
  thread->block->meetWarp(*thread, site, kAllLanes, fenceAll);
}

/// PTX ISA 9.7.15.7.2, "wgmma.commit_group".
static void commitAll(Warp &warp, const EmulatorSite &, uint32_t lanes) {
  if (warp.block->requireAllLanes(warp, lanes))
    warp.products.commit();
}

static void commit(Thread *thread, int32_t site) {
  thread->block->meetWarp(*thread, site, kAllLanes, commitAll);
}

/// Operands: values. Attributes: pending groups, how many values.
static void waitAll(Warp &warp, const EmulatorSite &site, uint32_t lanes) {
  if (warp.block->requireAllLanes(warp, lanes))
    warp.products.wait(warp, warp.lanes[0].waitsAt, site.attributes[0],
                       site.attributes[1]);
}

static void wait(Thread *thread, int32_t site) {
  thread->block->meetWarp(*thread, site, kAllLanes, waitAll);
}

/// Operands: a value that may be a mark.
static void readRegister(Thread *thread, int32_t site) {
  thread->warp->products.checkRead(*thread, site, thread->get<uint32_t>(0));
}

/// Attributes: the number of the registers.
static void writeRegister(Thread *thread, int32_t site) {
  thread->warp->products.checkWrite(*thread, site,
                                    thread->block->site(site).attributes[0]);
}

ArrayRef<EmulatorFunction> fa::emu::productFunctions() {
  static const EmulatorFunction functions[] = {
      {"fa_emu_product", product},
      {"fa_emu_product_fence", fence},
      {"fa_emu_product_commit", commit},
      {"fa_emu_product_wait", wait},
      {"fa_emu_read_register", readRegister},
      {"fa_emu_write_register", writeRegister}};
  return functions;
}
