//===- BlockReports.cpp - what the threads of a block do wrong ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Block.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ErrorHandling.h"

#include <map>

using namespace llvm;
using namespace fa;
using namespace fa::emu;

void Block::report(FaultKind kind, const Thread &thread, int32_t site,
                   const Twine &detail) {
  if (log.has(kind))
    return;
  const EmulatorSite &at = this->site(site);
  log.add(kind, (at.location + ": " + name(kind) + ": " + at.op +
                 " in thread " + Twine(thread.index) + " of block " +
                 Twine(indexFor(thread)) + ": " + detail)
                    .str());
}

/// .aligned: all threads of the warp must execute the same instruction.
bool Block::requireAllLanes(Warp &warp, uint32_t lanes) {
  if (lanes == ~0u)
    return true;
  const Thread &first = warp.lanes[countr_zero(lanes)];
  report(FaultKind::DivergentWarp, first, first.waitsAt,
         "expected all lanes of the warp, found 0x" + utohexstr(lanes));
  return false;
}

/// PTX ISA, "griddepcontrol": .wait ends when all grids before have completed
/// and what they did to memory is seen.
bool Block::requireKernelBefore(const Thread &thread, int32_t site) {
  if (!launch->beginsEarly || thread.hasAwaited)
    return true;
  report(FaultKind::MissingWait, thread, site,
         "no griddepcontrol.wait has waited for the kernel before this one");
  return false;
}

/// PTX ISA, "bar, barrier": with .aligned, all threads in the warp must execute
/// the same barrier instruction.
void Block::reportDivergentBarrier(unsigned rank) {
  for (Warp &warp : warpsOf(rank))
    for (unsigned lane = 0; lane < kWarpSize; ++lane) {
      Thread &thread = warp.lanes[lane];
      if (thread.exited)
        continue;
      if (warp.exited)
        report(FaultKind::DivergentBarrier, thread, thread.waitsAt,
               "of its warp, lanes 0x" + utohexstr(warp.exited) +
                   " have exited");
      if (thread.waitsAt != warp.lanes[0].waitsAt && !warp.lanes[0].exited)
        report(FaultKind::DivergentBarrier, thread, thread.waitsAt,
               "thread " + Twine(warp.lanes[0].index) +
                   " of its warp came to the barrier at " +
                   site(warp.lanes[0].waitsAt).location);
    }
}

//===----------------------------------------------------------------------===//
// Ends
//===----------------------------------------------------------------------===//

/// "0-31, 64"
static std::string formatRanges(ArrayRef<unsigned> numbers) {
  std::string text;
  for (size_t n = 0; n < numbers.size();) {
    size_t end = n + 1;
    while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1)
      ++end;
    text += (text.empty() ? "" : ", ") + std::to_string(numbers[n]);
    if (end > n + 1)
      text += "-" + std::to_string(numbers[end - 1]);
    n = end;
  }
  return text;
}

static std::string describeWait(Block &block, const Thread &thread) {
  switch (thread.waitsFor) {
  case WaitsFor::Lanes:
    return "for lanes of their warps";
  case WaitsFor::Block:
    return "for the whole block";
  case WaitsFor::Cluster:
    return "for the whole cluster";
  case WaitsFor::NamedBarrier:
    return "for the others of the barrier";
  case WaitsFor::Phase:
    return "for " + block.describePhase(thread);
  case WaitsFor::Registers:
    return ("for registers, of which " +
            Twine(block.member(thread).registers.left) + " are left")
        .str();
  }
  llvm_unreachable("every wait is for something");
}

void Block::reportDeadlock() {
  std::map<int32_t, SmallVector<unsigned>> waiting;
  SmallVector<unsigned> gone;
  for (unsigned n = 0; n < created; ++n) {
    if (threads[n].exited)
      gone.push_back(n);
    else
      waiting[threads[n].waitsAt].push_back(n);
  }
  std::string text,
      threadsOf = launch->cluster > 1 ? "threads of the cluster " : "threads ";
  for (auto &[at, numbers] : waiting)
    text += (text.empty() ? "" : "; ") + (threadsOf + formatRanges(numbers)) +
            " wait at " + site(at).op + " (" + site(at).location + ") " +
            describeWait(*this, threads[numbers[0]]);
  if (!gone.empty())
    text += "; " + threadsOf + formatRanges(gone) + " have exited";
  auto &[at, numbers] = *waiting.begin();
  report(FaultKind::Deadlock, threads[numbers.front()], at, text);
}

/// PTX ISA, "mapa": shared memory of a block is there until it has exited. So
/// what others do to it comes before something that its threads have seen.
void Block::checkRemote() {
  for (auto [rank, member] : enumerate(members)) {
    Horizon seen;
    for (const Warp &warp : warpsOf(rank))
      seen.join(warp.clock.seen);
    for (const Warp &warp : warps)
      if (uint32_t last = member.remote[warp.index];
          last && last >= seen.all[warp.index])
        report(FaultKind::MissingWait, warp.lanes[0], member.remoteSite,
               "block " + Twine(indexFor(warpsOf(rank)[0].lanes[0])) +
                   ", whose shared memory it reaches, may have ended: no "
                   "barrier.cluster lies between");
  }
}

/// What is under way when a block ends goes to memory that is another block's.
/// A warpgroup has exchanged registers as a whole (setmaxnreg.sync.aligned).
void Block::checkEnd() {
  if (numExited == created) {
    bulk.checkEnd();
    checkRemote();
  }
  // The grid would count as complete before the one before it.
  if (launch->beginsEarly &&
      none_of(ArrayRef(threads.get(), created),
              [](const Thread &thread) { return thread.hasAwaited; }))
    log.add(FaultKind::MissingWait,
            (name(FaultKind::MissingWait) + ": block " +
             Twine(clusterIndex * launch->cluster) +
             " ended before a griddepcontrol.wait for the kernel before it")
                .str());
  for (Warp &warp : warps) {
    Thread &thread = warp.lanes[0];
    if (numExited == created)
      warp.products.checkEnd(thread);
    const Warp &first = warps[warp.index / 4 * 4];
    if (warp.registerExchanges != first.registerExchanges)
      report(FaultKind::IllegalRegisters, thread,
             std::max(warp.registerSite, first.registerSite),
             "warp " + Twine(first.index) + " of its warpgroup executed " +
                 Twine(first.registerExchanges) + " of them, warp " +
                 Twine(warp.index) + " " + Twine(warp.registerExchanges));
    if (warp.products.begun() != first.products.begun())
      report(FaultKind::DivergentWarp, thread,
             std::max(warp.products.lastSite(), first.products.lastSite()),
             "warp " + Twine(first.index) + " of its warpgroup began " +
                 Twine(first.products.begun()) + " products, warp " +
                 Twine(warp.index) + " " + Twine(warp.products.begun()));
  }
}
