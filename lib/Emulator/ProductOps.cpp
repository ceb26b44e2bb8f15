//===- ProductOps.cpp - what emulated code calls for products -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Block.h"
#include "Functions.h"

using namespace llvm;
using namespace fa;
using namespace fa::emu;

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

static void fenceProducts(Thread *thread, int32_t site) {
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
      {"fa_emu_product_fence", fenceProducts},
      {"fa_emu_product_commit", commit},
      {"fa_emu_product_wait", wait},
      {"fa_emu_read_register", readRegister},
      {"fa_emu_write_register", writeRegister}};
  return functions;
}
