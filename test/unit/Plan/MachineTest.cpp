//===- MachineTest.cpp ----------------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Plan/Machine.h"

#include "gtest/gtest.h"

using namespace llvm;
using namespace fa;

TEST(Machine, HasTheFactsOfItsArchitecture) {
  Machine hopper = cantFail(findMachine("sm_90a"));
  EXPECT_TRUE(hopper.hasWarpgroups());
  EXPECT_TRUE(hopper.hasEarlyLaunch);
  EXPECT_EQ(hopper.sharedBytes, 232448);
  EXPECT_FALSE(cantFail(findMachine("sm_90")).hasWarpgroups());
  Machine cdna = cantFail(findMachine("gfx942"));
  EXPECT_TRUE(cdna.isAmd());
  EXPECT_FALSE(cdna.hasDirectLoads);
  EXPECT_TRUE(cantFail(findMachine("gfx950")).hasDirectLoads);
}

/// What a launch on a card counts with.
TEST(Machine, HasProcessorsAndCosts) {
  Machine hopper = cantFail(findGpuMachine("sm_90a"));
  EXPECT_EQ(hopper.processors, 132);
  EXPECT_EQ(hopper.costs, LaunchCosts());
  EXPECT_EQ(cantFail(findGpuMachine("gfx942")).processors, 304);
  // Hosts have a rule without costs.
  EXPECT_EQ(cantFail(findMachine("cpu-512x32")).processors, 0);
  for (StringRef name : {"any", "cpu-512x32"}) {
    auto machine = findGpuMachine(name);
    EXPECT_FALSE(machine) << name.str();
    consumeError(machine.takeError());
  }
}

/// A pass is given a host by its name alone.
TEST(Machine, IsAHostByName) {
  for (VectorUnit unit :
       {VectorUnit{512, 32, true, true}, VectorUnit{512, 32, true, false},
        VectorUnit{256, 16, false, false}}) {
    Machine host = cantFail(findMachine(hostMachine(unit).name));
    EXPECT_TRUE(host.isHost());
    EXPECT_EQ(host.vectors.bits, unit.bits);
    EXPECT_EQ(host.vectors.registers, unit.registers);
    EXPECT_EQ(host.vectors.pairDots, unit.pairDots);
    EXPECT_EQ(host.vectors.tileDots, unit.tileDots);
  }
}

TEST(Machine, IsRefusedByNamingWhatThereIs) {
  auto problemOf = [](StringRef name) {
    auto machine = findMachine(name);
    return machine ? "" : toString(machine.takeError());
  };
  EXPECT_EQ(problemOf("sm_70"), "unknown architecture 'sm_70', expected sm_80, "
                                "sm_86, sm_89, sm_90, sm_90a");
  EXPECT_EQ(problemOf("gfx1100"),
            "unknown architecture 'gfx1100', expected gfx90a, gfx942, gfx950");
  for (StringRef name :
       {"cpu-", "cpu-512", "cpu-100x32", "cpu-512x0", "cpu-512x32-squares"})
    EXPECT_EQ(problemOf(name),
              ("expected a host as cpu-512x32, cpu-512x32-pairs or "
               "cpu-512x32-tiles, found '" +
               name + "'")
                  .str());
}
