//===- Products.h - the running products of a warp --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// wgmma.mma_async: each warp of a warpgroup computes the 16 rows of which it
// has the accumulators. A product reads its operands when it is waited for: the
// last moment at which a card may. Until then its results are marks, NaNs that
// say whose they are and that no arithmetic makes.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_EMULATOR_PRODUCTS_H
#define FA_LIB_EMULATOR_PRODUCTS_H

#include "ProductOperands.h"

#include <deque>
#include <map>
#include <memory>
#include <vector>

namespace fa::emu {

class Block;
struct Thread;
struct Warp;

class Products {
public:
  void fence() { needsFence = false; }
  void commit() { ++committed; }
  /// Takes operands from the lanes' slots and leaves marks there.
  void begin(Warp &warp, int32_t site);
  /// Ends all groups but the last `pending`; marks of ended products that are
  /// among the first `count` slots become their values.
  void wait(Warp &warp, int32_t site, uint32_t pending, unsigned count);
  /// Reports that something reads `value`, if it is a mark.
  void checkRead(Thread &thread, int32_t site, uint32_t value) const;
  /// Reports that something writes a register that a product reads.
  void checkWrite(Thread &thread, int32_t site, int32_t registers) const;
  void checkEnd(Thread &thread) const;

  uint32_t begun() const { return numBegun; }
  int32_t lastSite() const { return newestSite; }

private:
  /// 16 rows of the accumulators of a chain of products.
  struct Accumulators {
    unsigned columns = 0;
    std::vector<float> values;
    uint32_t newest = 0;  ///< the mark that is valid
    unsigned running = 0; ///< products that have not ended
    int32_t site = -1;    ///< of the first
  };

  struct Product {
    int32_t site = -1;
    uint32_t group = 0;
    uint64_t a = 0, b = 0; ///< descriptors
    Fragment words = {};   ///< of a in registers
    bool fromRegisters = false, isTransposed = false, isLeftTransposed = false;
    Factor left = Factor::BF16, right = Factor::BF16;
    int32_t registers = -1; ///< the number of those in which a is
    std::shared_ptr<Accumulators> result;
    std::shared_ptr<const Horizon> seen; ///< when it began
  };

  Product openProduct(Warp &warp, int32_t site) const;
  static std::shared_ptr<Accumulators> makeAccumulators(int32_t site,
                                                        unsigned columns);
  std::shared_ptr<Accumulators> openAccumulators(Warp &warp, int32_t site,
                                                 unsigned columns,
                                                 unsigned firstSlot);
  std::shared_ptr<Accumulators> find(uint32_t value) const;
  void end(Warp &warp, const Product &product);

  std::deque<Product> running;
  std::map<uint32_t, std::shared_ptr<Accumulators>> marks;
  std::deque<uint32_t> order; ///< of marks, the oldest first
  uint32_t committed = 0, numBegun = 0;
  int32_t newestSite = -1;
  bool needsFence = true;
};

} // namespace fa::emu

#endif // FA_LIB_EMULATOR_PRODUCTS_H
