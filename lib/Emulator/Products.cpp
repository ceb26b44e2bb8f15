//===- Products.cpp - the running products of a warp ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Products.h"

#include "Block.h"

using namespace llvm;
using namespace fa;
using namespace fa::emu;

//===----------------------------------------------------------------------===//
// Marks
//===----------------------------------------------------------------------===//

// A signalling NaN: sign, exponent, a zero, 15 bits of the product's number, 7
// of the register's.
static constexpr uint32_t kMark = 0xff800000;

/// The products whose marks are known; fewer than numbers of products.
static constexpr size_t kRemembered = 1024;

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
  if (!isMark(value))
    return;
  Block &block = *thread.block;
  auto of = find(value);
  if (!of)
    return block.report(FaultKind::MissingWait, thread, site,
                        "reads an accumulator to which a later product adds");
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

std::shared_ptr<Products::Accumulators>
Products::makeAccumulators(int32_t site, unsigned columns) {
  auto made = std::make_shared<Accumulators>();
  made->columns = columns;
  made->values.resize(size_t(kRows) * columns);
  made->site = site;
  return made;
}

/// Those that the marks in the slots speak of, or new ones with the slots'
/// values.
std::shared_ptr<Products::Accumulators>
Products::openAccumulators(Warp &warp, int32_t site, unsigned columns,
                           unsigned firstSlot) {
  auto known = find(warp.lanes[0].get<uint32_t>(firstSlot));
  auto result = known;
  if (!known)
    result = makeAccumulators(site, columns);
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

/// Takes the factors from the slots.
Products::Product Products::openProduct(Warp &warp, int32_t site) const {
  const auto &[columns, flags, registers, factors] =
      warp.block->site(site).attributes;
  Product product;
  product.site = site;
  product.group = committed;
  product.fromRegisters = flags & 1;
  product.isTransposed = flags & 4;
  product.isLeftTransposed = flags & 16;
  product.left = Factor(factors & 3);
  product.right = Factor(factors >> 2);
  product.registers = registers;
  product.seen = std::make_shared<const Horizon>(warp.clock.seen);
  const Thread &first = warp.lanes[0];
  product.b = first.get<uint64_t>(product.fromRegisters ? 4 : 1);
  if (!product.fromRegisters)
    product.a = first.get<uint64_t>(0);
  else
    for (unsigned lane = 0; lane < kWarpSize; ++lane)
      for (unsigned n = 0; n < 4; ++n)
        product.words[lane][n] = warp.lanes[lane].get<uint32_t>(n);
  return product;
}

/// PTX ISA 9.7.15.5.2, "wgmma.mma_async". Operands: a (a descriptor or four
/// words), b, the accumulators. Attributes: columns; whether a is in registers,
/// (bit 2) b is transposed, there are accumulators, a is transposed, as bits;
/// the number of a's registers; the types of a and, from bit 2 on, of b.
void Products::begin(Warp &warp, int32_t site) {
  Block &block = *warp.block;
  const auto &[columns, flags, registers, unused] = block.site(site).attributes;
  Product product = openProduct(warp, site);
  if (flags & 8)
    product.result =
        openAccumulators(warp, site, columns, product.fromRegisters ? 5 : 2);
  else
    product.result = makeAccumulators(site, columns);
  if (needsFence)
    block.report(FaultKind::MissingFence, warp.lanes[0], site,
                 "no wgmma.fence lies between the last access to its registers "
                 "and this product");
  uint32_t mark = markOf(numBegun++);
  newestSite = site;
  marks.erase(product.result->newest);
  product.result->newest = mark;
  ++product.result->running;
  marks[mark] = product.result;
  order.push_back(mark);
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
  OperandReader reader{first, product.site, *product.seen};
  LeftFactor a;
  RightFactor b;
  if (product.fromRegisters)
    OperandReader::spread(product.words, product.left, a);
  else
    reader.readLeft(left, product.left, product.isLeftTransposed, a);
  reader.readRight(right, product.right, product.isTransposed, result.columns,
                   b);
  for (unsigned row = 0; row < kRows; ++row) {
    float *sums = &result.values[size_t(row) * result.columns];
    for (unsigned k = 0; k < depthOf(product.left); ++k)
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
  std::shared_ptr<Accumulators> of;
  uint32_t found = 0; // the mark that `of` belongs to
  for (unsigned lane = 0; lane < kWarpSize; ++lane)
    for (unsigned n = 0; n < count; ++n) {
      Thread &thread = warp.lanes[lane];
      auto value = thread.get<uint32_t>(n);
      if (!isMark(value))
        continue;
      // Neighbours are of one product, most often.
      if ((value & ~0x7fu) != found) {
        found = value & ~0x7fu;
        of = find(value);
      }
      unsigned reg = value & 0x7f;
      if (!of)
        checkRead(thread, site, value);
      else if (of->running)
        warp.block->report(
            FaultKind::MissingWait, thread, site,
            "the product at " + warp.block->site(of->site).location +
                " is still running: its group is one of the last " +
                Twine(pending) + ", or not committed");
      else
        thread.set(n, of->values[placeOf(lane, reg, of->columns)]);
    }
  needsFence = true;
  // Values that were not asked for here may be at one of the next waits.
  while (order.size() > kRemembered) {
    marks.erase(order.front());
    order.pop_front();
  }
}
