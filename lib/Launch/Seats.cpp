//===- Seats.cpp - a core of its own for each thread that wakes -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Seats.h"

#include <algorithm>
#include <pthread.h>

using namespace fa;

int Seats::findFree(int core, const cpu_set_t &usable) const {
  for (int n = 1; n <= CPU_SETSIZE; ++n) {
    int other = (core + n) % CPU_SETSIZE;
    if (CPU_ISSET(other, &usable) && !std::ranges::count(cores, other))
      return other;
  }
  return none;
}

int Seats::take(unsigned helper, int current, const cpu_set_t &usable) {
  cores[helper] = none;
  bool isFree = current >= 0 && !std::ranges::count(cores, current);
  return cores[helper] = isFree ? current : findFree(current, usable);
}

int Seats::change(unsigned helper, const cpu_set_t &usable) {
  if (int other = findFree(cores[helper], usable); other != none)
    cores[helper] = other;
  return cores[helper];
}

unsigned Seats::findHelper(int core) const {
  if (core == none)
    return cores.size();
  return std::ranges::find(cores, core) - cores.begin();
}

static cpu_set_t only(int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  return set;
}

void Seats::bind(pthread_t thread, int core) {
  cpu_set_t set = only(core);
  pthread_setaffinity_np(thread, sizeof set, &set);
}

void Seats::unbind(int core, const cpu_set_t &before) {
  cpu_set_t now, set = only(core);
  if (sched_getaffinity(0, sizeof now, &now) == 0 && CPU_EQUAL(&now, &set))
    sched_setaffinity(0, sizeof before, &before);
}
