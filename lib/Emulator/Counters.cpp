//===- Counters.cpp - what a launch asked of the memory -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Emulator/Counters.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;

json::Object fa::toJson(const EmulatorCounters &counters) {
  json::Object all{{"shared_requests", counters.sharedRequests},
                   {"bank_conflicts", counters.bankConflicts},
                   {"global_requests", counters.globalRequests},
                   {"global_sectors", counters.globalSectors},
                   {"mma_m16n8k16", counters.mma},
                   {"mma_m16n8k8", counters.mmaTf32},
                   {"mfma", counters.mfma},
                   {"ldmatrix", counters.matrixLoads},
                   {"cp_async", counters.asyncCopies},
                   {"cp_async_lines", counters.copiedLines},
                   {"shuffles", counters.shuffles},
                   {"barriers", counters.barriers},
                   {"tma_boxes", counters.boxes},
                   {"tma_bytes", counters.boxBytes}};
  json::Object places;
  for (const auto &entry : counters.conflictsAt)
    places[entry.first()] = entry.second;
  all["bank_conflicts_at"] = std::move(places);
  for (auto [n, count] : enumerate(counters.products))
    if (count)
      all["wgmma_m64n" + std::to_string(8 * n) + "k16"] = count;
  return all;
}
