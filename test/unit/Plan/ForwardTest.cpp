//===- ForwardTest.cpp ----------------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Plan/Forward.h"

#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"

using namespace llvm;
using namespace fa;

/// "NAME ROWSxCOLUMNS" of each kernel, with spaces between; a "+" behind those
/// that have one on splits of the keys.
static std::string planOf(const AttentionFacts &facts, StringRef machine,
                          StringRef asked = "splits=0") {
  auto kernels =
      planForward(facts, forwardRules(cantFail(findMachine(machine)),
                                      cantFail(parseConstraints(asked))));
  if (!kernels)
    return toString(kernels.takeError());
  std::string text;
  raw_string_ostream out(text);
  for (const PlannedKernel &kernel : *kernels)
    out << (text.empty() ? "" : " ") << "attention" << kernel.suffix << ' '
        << kernel.shape.rows << 'x' << kernel.shape.columns
        << (kernel.split ? "+" : "");
  return text;
}

static AttentionFacts ofHalves(int64_t dim) {
  AttentionFacts facts;
  facts.headDim = facts.valueDim = dim;
  facts.element = AttentionFacts::BF16;
  facts.hasFoldableScale = true;
  return facts;
}

static MaskFacts causal() {
  MaskFacts mask;
  mask.growsWithQuery = true;
  mask.hasLengthsAlone = false;
  return mask;
}

TEST(Forward, HasVariantsInTheOrderOfLaunches) {
  EXPECT_EQ(planOf(ofHalves(128), "sm_90a"),
            "attention_decode_parts 16x32+ attention_decode 16x32+ "
            "attention_packed 64x64+ attention_roles_fetched 128x128 "
            "attention_roles_packed 128x128+ attention_roles_few 64x128+ "
            "attention_roles_paired 64x64 attention_roles 128x128+ "
            "attention_roles_clusters 128x128 attention_roles 128x128 "
            "attention 128x64 attention_strided 64x64");
  AttentionFacts packed = ofHalves(128);
  packed.isPacked = true;
  EXPECT_EQ(planOf(packed, "sm_90a"),
            "attention_roles_fetched 128x128 attention_roles_few 64x128 "
            "attention_roles_dynamic 128x128 attention_roles 128x128 "
            "attention 128x64 attention_strided 64x64");
  EXPECT_EQ(planOf(ofHalves(128), "sm_80"),
            "attention_decode 16x32+ attention_packed 64x64+ "
            "attention 128x32 attention_strided 64x64");
  EXPECT_EQ(planOf(ofHalves(128), "cpu-512x32-tiles"),
            "attention_decode 16x32+ attention_packed 64x256+ "
            "attention 256x256 attention_strided 128x64");
}

/// Nothing is chosen by how many programs there are, and what is split has no
/// kernel without splits.
TEST(Forward, DoesNotDependOnTheBatchWhereSplitsHaveAFixedNumberOfKeys) {
  AttentionFacts facts = ofHalves(128);
  facts.splitKeys = 512;
  EXPECT_EQ(planOf(facts, "sm_90a"),
            "attention_decode 16x32+ attention_packed 64x64+ "
            "attention_roles_fetched 128x128 attention_roles 128x128 "
            "attention 128x64 attention_strided 64x64");
  EXPECT_EQ(planOf(facts, "sm_90a", "splits=3"),
            "expected no number of splits where each has 512 keys "
            "(tile.batch_invariant), found 3");
  auto kernels = cantFail(planForward(
      facts, forwardRules(cantFail(findMachine("sm_80")), PlanConstraints())));
  for (const PlannedKernel &kernel : kernels) {
    EXPECT_EQ(kernel.isSplitAlone, kernel.split.has_value());
    EXPECT_EQ(kernel.shape.fewPrograms, 0);
    if (kernel.split)
      EXPECT_EQ(kernel.split->keysOfSplit, 512);
  }
}

/// Programs of packed sequences are taken in turn, if there are many; others
/// where that is asked for.
TEST(Forward, TakesProgramsInTurn) {
  auto programsOf = [](const AttentionFacts &facts, StringRef asked) {
    auto rules = forwardRules(cantFail(findMachine("sm_90a")),
                              cantFail(parseConstraints(asked)));
    int64_t least = 0;
    for (const PlannedKernel &kernel : cantFail(planForward(facts, rules))) {
      EXPECT_EQ(kernel.shape.hasCounter, kernel.shape.manyPrograms > 0);
      least = std::max(least, kernel.shape.manyPrograms);
    }
    return least;
  };
  AttentionFacts facts = ofHalves(128);
  EXPECT_EQ(programsOf(facts, ""), 0);
  EXPECT_EQ(programsOf(facts, "schedule=dynamic"), 1);
  facts.isPacked = true;
  EXPECT_EQ(programsOf(facts, ""), 4);
  EXPECT_EQ(programsOf(facts, "schedule=dynamic"), 1);
  EXPECT_EQ(programsOf(facts, "schedule=persistent"), 0);
  EXPECT_EQ(programsOf(facts, "schedule=roles"), 0);
}

/// Clusters pay where all queries see the same keys.
TEST(Forward, HasClustersForFullAttentionAlone) {
  AttentionFacts facts = ofHalves(128);
  EXPECT_NE(planOf(facts, "sm_90a").find("_clusters"), std::string::npos);
  facts.mask = causal();
  EXPECT_EQ(planOf(facts, "sm_90a").find("_clusters"), std::string::npos);
}

/// The rule for splits has costs of programs that are equally long, or evenly
/// longer the later their rows are.
TEST(Forward, SplitsManyProgramsWhereTheirLengthsAreKnown) {
  auto isSplit = [](const AttentionFacts &facts, StringRef asked = "splits=0") {
    return planOf(facts, "sm_90a", asked).find("_roles 128x128+") !=
           std::string::npos;
  };
  AttentionFacts facts = ofHalves(128);
  EXPECT_TRUE(isSplit(facts));
  EXPECT_TRUE(isSplit(facts, "splits=3"));
  EXPECT_FALSE(isSplit(facts, "splits=1"));
  EXPECT_NE(planOf(ofHalves(160), "sm_90a").find("_roles 128x96+"),
            std::string::npos);
  EXPECT_NE(planOf(ofHalves(256), "sm_90a").find("_roles 128x64+"),
            std::string::npos);
  facts.mask.lengths = 1;
  EXPECT_TRUE(isSplit(facts));
  facts.mask = causal();
  EXPECT_TRUE(isSplit(facts));
  facts.mask.hasLowerBound = true;
  EXPECT_FALSE(isSplit(facts));
  facts.mask = causal();
  facts.mask.readsRows = true;
  EXPECT_FALSE(isSplit(facts));
  EXPECT_NE(planOf(ofHalves(64), "sm_90a").find("_roles 192x128+"),
            std::string::npos);
  // Nothing of it where there are no warpgroups.
  EXPECT_EQ(planOf(facts, "sm_90").find("_roles"), std::string::npos);
}

/// Three warpgroups where a thread has registers for it.
TEST(Forward, HasMoreRowsWhereLittleIsDoneToScores) {
  AttentionFacts facts = ofHalves(64);
  facts.mask = causal();
  EXPECT_NE(planOf(facts, "sm_90a").find("_roles 192x128"), std::string::npos);
  facts.modifiesScores = true;
  EXPECT_NE(planOf(facts, "sm_90a").find("_roles 128x128"), std::string::npos);
  facts.hasShortCap = true;
  EXPECT_NE(planOf(facts, "sm_90a").find("_roles 192x128"), std::string::npos);
}

/// Rows of all heads of a group, in tiles of as many as those of one head and
/// of 128, where these are not the same.
TEST(Forward, PacksRowsInTilesOfTwoSizes) {
  auto hasMany = [](const AttentionFacts &facts) {
    std::string plan = planOf(facts, "sm_90a");
    EXPECT_NE(plan.find("_roles_packed 128x"), std::string::npos) << plan;
    return plan.find("_roles_packed_many 192x") != std::string::npos;
  };
  EXPECT_TRUE(hasMany(ofHalves(64)));
  EXPECT_TRUE(hasMany(ofHalves(112)));
  EXPECT_FALSE(hasMany(ofHalves(128)));
  AttentionFacts facts = ofHalves(64);
  facts.dropsProbabilities = true;
  EXPECT_FALSE(hasMany(facts));
}

/// Beside who widens tiles, three that compute have registers for nothing else.
TEST(Forward, HasFewerRowsOfNarrowKeysWhereMoreIsToDo) {
  AttentionFacts plain = ofHalves(64);
  plain.hasNarrowKeys = true;
  auto hasMany = [](const AttentionFacts &facts) {
    return planOf(facts, "sm_90a").find("_roles 192x96") != std::string::npos;
  };
  EXPECT_TRUE(hasMany(plain));
  AttentionFacts facts = plain;
  facts.results = 2;
  EXPECT_FALSE(hasMany(facts));
  facts = plain;
  facts.isPacked = true;
  EXPECT_FALSE(hasMany(facts));
  facts = plain;
  facts.modifiesScores = true;
  EXPECT_FALSE(hasMany(facts));
  facts = plain;
  facts.mask.hasLowerBound = true;
  EXPECT_FALSE(hasMany(facts));
  // Two have as many keys as they have elsewhere.
  facts = plain;
  facts.beginsInside = true;
  EXPECT_NE(planOf(facts, "sm_90a").find("_roles 128x128"), std::string::npos);
  EXPECT_NE(planOf(plain, "sm_90a", "consumers=2").find("_roles 128x128"),
            std::string::npos);
  EXPECT_NE(planOf(plain, "sm_90a", "consumers=3").find("_roles 192x96"),
            std::string::npos);
}

/// The softmax applies the magnitude of a scale whose sign the device knows, in
/// kernels with specialized warps alone.
TEST(Forward, FoldsTheMagnitudeOfAScaleWithSpecializedWarps) {
  auto kernelsThatFold = [](const AttentionFacts &facts) {
    auto kernels =
        planForward(facts, forwardRules(cantFail(findMachine("sm_90a")), {}));
    std::string names;
    for (const PlannedKernel &kernel : cantFail(std::move(kernels)))
      if (kernel.shape.foldsMagnitude)
        names += (kernel.suffix + " ").str();
    return names;
  };
  AttentionFacts facts = ofHalves(128);
  EXPECT_EQ(kernelsThatFold(facts), "");
  facts.hasFoldableScale = false;
  facts.hasFoldableMagnitude = facts.hasNarrowKeys = true;
  EXPECT_EQ(kernelsThatFold(facts), "_roles _roles ");
  facts.modifiesScores = true;
  EXPECT_EQ(kernelsThatFold(facts), "");
}

/// What random numbers take leaves registers for two.
TEST(Forward, HasFewerRowsWithDropout) {
  AttentionFacts facts = ofHalves(64);
  EXPECT_NE(planOf(facts, "sm_90a").find("_roles 192x128"), std::string::npos);
  facts.dropsProbabilities = true;
  EXPECT_NE(planOf(facts, "sm_90a").find("_roles 128x128"), std::string::npos);
}

TEST(Forward, HasWhatIsAskedForAndNothingBeside) {
  EXPECT_EQ(
      planOf(ofHalves(64), "sm_90a", "consumers=1 schedule=roles").find("_few"),
      std::string::npos);
  EXPECT_EQ(
      planOf(ofHalves(64), "sm_90a", "tile=64x32 splits=1 schedule=plain"),
      "attention_decode 16x32 attention 64x32 attention_strided 64x32");
}

TEST(Forward, RefusesWhatHasNoRoom) {
  EXPECT_EQ(planOf(ofHalves(10000), "sm_80"),
            "expected head dimensions of which a tile of 16 queries and 16 "
            "keys fits into 166912 bytes of shared memory, found 10000 and "
            "10000, which take 960000");
}

/// Launches of few programs at D 96, causal, have tiles of 128 keys; others,
/// and those of other head dimensions, as many as before.
TEST(Forward, HasMoreKeysInFewCausalProgramsOfMiddleDepth) {
  auto fewOf = [](int64_t dim, MaskFacts mask, StringRef asked = "") {
    AttentionFacts facts = ofHalves(dim);
    facts.mask = mask;
    std::string plan = planOf(facts, "sm_90a", asked);
    StringRef few = StringRef(plan).split("_few ").second;
    return few.split(' ').first.str();
  };
  EXPECT_EQ(fewOf(96, causal()), "64x128+");
  EXPECT_EQ(fewOf(88, causal()), "64x128+");
  EXPECT_EQ(fewOf(96, {}), "64x64+");
  EXPECT_EQ(fewOf(80, causal()), "64x64+");
  EXPECT_EQ(fewOf(112, causal()), "64x64+");
  EXPECT_EQ(fewOf(96, causal(), "tile=0x32"), "64x32+");
  MaskFacts documents = causal();
  documents.readsRows = true;
  EXPECT_EQ(fewOf(96, documents), "64x64+");
}

/// Boxes of rows that are found through a table begin where tiles do that are
/// counted from the first key.
TEST(Forward, FetchesKeysInPagesOfOneInterval) {
  AttentionFacts facts = ofHalves(128);
  facts.hasPages = true;
  std::string specialized =
      "attention_decode_parts 16x32+ attention_decode 16x32+ "
      "attention_packed 64x64+ attention_roles_fetched 128x128 "
      "attention_roles 128x128 attention 128x64 attention_strided 64x64";
  EXPECT_EQ(planOf(facts, "sm_90a"), specialized);
  AttentionFacts window = facts;
  window.mask.hasLowerBound = true;
  EXPECT_EQ(planOf(window, "sm_90a"), specialized);
  window.mask.intervals = 2;
  EXPECT_EQ(planOf(window, "sm_90a"),
            "attention_decode_parts 16x32+ attention_decode 16x32+ "
            "attention_packed 64x64+ attention 128x64 "
            "attention_strided 64x64");
  EXPECT_EQ(planOf(facts, "sm_80"), planOf(ofHalves(128), "sm_80"));
}

/// Parts of a block have no room for products of f32.
TEST(Forward, HasNoPartsOfWideProbabilities) {
  AttentionFacts facts = ofHalves(64);
  auto hasParts = [&] {
    return planOf(facts, "sm_90a").find("_decode_parts") != std::string::npos;
  };
  EXPECT_TRUE(hasParts());
  facts.hasWideProbabilities = true;
  EXPECT_FALSE(hasParts());
}

/// Tiles are parts of listed blocks, and no kernel has rows of several heads or
/// splits of the keys.
TEST(Forward, TilesAreThoseOfListedBlocks) {
  AttentionFacts listed = ofHalves(64);
  listed.mask = MaskFacts();
  listed.mask.isComplete = listed.mask.hasLengthsAlone = false;
  listed.mask.hasLowerBound = listed.mask.readsRows = true;
  listed.keyLists = {128, 128};
  EXPECT_EQ(planOf(listed, "sm_90a"),
            "attention_roles_fetched 128x128 attention_roles_few 64x128 "
            "attention_roles_dynamic 128x128 attention_roles 128x128 "
            "attention 128x64 attention_strided 64x64");
  EXPECT_EQ(planOf(listed, "cpu-512x32-tiles"),
            "attention 128x128 attention_strided 128x64");
  listed.keyLists.keys = 64;
  EXPECT_EQ(planOf(listed, "sm_90a"),
            "attention_roles_fetched 128x64 attention_roles_few 64x64 "
            "attention_roles_dynamic 128x64 attention_roles 128x64 "
            "attention 128x64 attention_strided 64x64");
  listed.keyLists.queries = 384;
  EXPECT_EQ(planOf(listed, "sm_80"),
            "attention 128x64 attention_strided 64x64");
}

TEST(Forward, SpecializesWarpsForManyQueriesOfNarrowKeys) {
  auto rolesOf = [](int64_t dim, bool hasNarrowQueries) {
    AttentionFacts facts = ofHalves(dim);
    facts.hasNarrowKeys = true;
    facts.hasNarrowQueries = hasNarrowQueries;
    std::string all = planOf(facts, "sm_90a", "splits=0");
    StringRef text = all;
    EXPECT_FALSE(text.contains("_roles_few")) << text.str();
    EXPECT_FALSE(text.contains("_roles_clusters")) << text.str();
    return text.substr(text.rfind("_roles ")).split(" attention").first.str();
  };
  for (bool hasNarrowQueries : {false, true}) {
    EXPECT_EQ(rolesOf(64, hasNarrowQueries), "_roles 192x96");
    EXPECT_EQ(rolesOf(96, hasNarrowQueries), "_roles 128x128");
    EXPECT_EQ(rolesOf(128, hasNarrowQueries), "_roles 128x128");
    EXPECT_EQ(rolesOf(256, hasNarrowQueries), "_roles 64x64");
  }
}

TEST(Forward, HasFewKeysInTilesOfShortWindows) {
  auto hasTile = [](const AttentionFacts &facts, const char *tile) {
    return planOf(facts, "sm_90a").find(tile) != std::string::npos;
  };
  AttentionFacts facts = ofHalves(64);
  facts.mask.hasLowerBound = facts.mask.growsWithQuery = true;
  facts.mask.width = 256;
  EXPECT_TRUE(hasTile(facts, "attention_roles 192x64 "));
  facts.mask.width = 257;
  EXPECT_TRUE(hasTile(facts, "attention_roles 192x128 "));
  // Tiles of pages begin before the window does.
  facts.hasPages = true;
  EXPECT_TRUE(hasTile(facts, "attention_roles 192x128 "));
  facts.mask.width = 256;
  EXPECT_TRUE(hasTile(facts, "attention_roles 128x64 "));
  facts = ofHalves(128);
  facts.mask.hasLowerBound = facts.mask.growsWithQuery = true;
  facts.mask.width = 128;
  EXPECT_TRUE(hasTile(facts, "attention_roles 128x64 "));
  facts.mask.width = 129;
  EXPECT_TRUE(hasTile(facts, "attention_roles 128x128 "));
}

TEST(Forward, HasTwoConsumersForCutKeysInsideOfAnArgument) {
  auto hasTile = [](const AttentionFacts &facts, const char *tile) {
    return planOf(facts, "sm_90a").find(tile) != std::string::npos;
  };
  AttentionFacts facts = ofHalves(64);
  facts.keys = 1000;
  EXPECT_TRUE(hasTile(facts, "attention_roles 192x128 "));
  facts.beginsInside = true;
  EXPECT_TRUE(hasTile(facts, "attention_roles 128x128 "));
  facts.keys = 1024;
  EXPECT_TRUE(hasTile(facts, "attention_roles 192x128 "));
  facts.keys = 0; // it is not known that none is cut
  EXPECT_TRUE(hasTile(facts, "attention_roles 128x128 "));
}

/// Of values with more columns than a warpgroup's dot, rows of a consumer are
/// those of both, and keys as many as there is room for.
TEST(Forward, SharesRowsWhereValuesAreWide) {
  AttentionFacts facts = ofHalves(576);
  facts.valueDim = 512;
  facts.sharesTiles = true;
  const char *shared = "attention_roles_packed 64x64+ attention_roles 64x64 "
                       "attention 64x64 attention_strided 64x64";
  EXPECT_EQ(planOf(facts, "sm_90a"), shared);
  facts.hasPages = true;
  EXPECT_EQ(planOf(facts, "sm_90a"), shared);
  facts.sharesTiles = false;
  facts.headDim = 128;
  EXPECT_EQ(planOf(facts, "sm_90a"),
            "attention_roles_packed 64x64+ attention_roles 64x64 "
            "attention 64x64 attention_strided 64x64");
  // Columns of a consumer are blocks of 64.
  facts.valueDim = 320;
  EXPECT_EQ(planOf(facts, "sm_90a").substr(0, 27),
            "attention_decode 16x16+ att");
  facts.valueDim = 640;
  EXPECT_EQ(planOf(facts, "sm_90a").substr(0, 27),
            "attention_decode 16x16+ att");
}

/// What launches of few keys are predicted to take: of plain scores and one
/// shape, none with others.
TEST(Forward, PricesFewKeys) {
  auto priceOf = [](const AttentionFacts &facts, StringRef suffix) {
    auto kernels = cantFail(
        planForward(facts, forwardRules(cantFail(findMachine("sm_90a")),
                                        cantFail(parseConstraints("")))));
    auto found = find_if(kernels, [&](const PlannedKernel &kernel) {
      return kernel.suffix == suffix && kernel.shape.price;
    });
    return found == kernels.end() ? FewKeysPrice() : *found->shape.price;
  };
  AttentionFacts facts = ofHalves(64);
  EXPECT_EQ(priceOf(facts, "_roles_paired"),
            (FewKeysPrice{.launch = 1500,
                          .program = 1032,
                          .tile = 884,
                          .lastTile = 778,
                          .blocks = 2,
                          .alonePercent = 84}));
  EXPECT_EQ(
      priceOf(facts, "_roles"),
      (FewKeysPrice{
          .launch = 3400, .program = 1425, .tile = 1327, .lastTile = 1204}));
  // Rows of several heads, and rows that begin anywhere.
  EXPECT_EQ(priceOf(facts, "_roles_packed_many").program, 2993);
  EXPECT_EQ(priceOf(ofHalves(72), "_roles_paired").tile, 1495);
  EXPECT_EQ(priceOf(ofHalves(80), "_roles_paired").tile, 884);
  // Twice as many bytes in half of the rows.
  EXPECT_EQ(
      priceOf(ofHalves(256), "_roles"),
      (FewKeysPrice{
          .launch = 3400, .program = 3604, .tile = 688, .lastTile = 712}));
  facts.modifiesScores = true;
  EXPECT_EQ(priceOf(facts, "_roles"), FewKeysPrice());
  facts = ofHalves(64);
  facts.splitKeys = 64;
  EXPECT_EQ(priceOf(facts, "_roles"), FewKeysPrice());
  facts = ofHalves(64);
  facts.isPacked = true;
  EXPECT_EQ(priceOf(facts, "_roles"), FewKeysPrice());
}
