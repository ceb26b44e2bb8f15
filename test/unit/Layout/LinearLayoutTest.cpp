//===- LinearLayoutTest.cpp -----------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Layout/LinearLayout.h"
#include "fa/Layout/NamedLayouts.h"
#include "fa/Layout/PrintLayout.h"

#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"

using namespace fa;

static LinearLayout makeExample() {
  LinearLayout layout({16, 8});
  layout.addSteps(Axis::Register, 1, 1, 1).addSteps(Axis::Register, 0, 8, 1);
  layout.addSteps(Axis::Lane, 1, 2, 2).addSteps(Axis::Lane, 0, 1, 3);
  return layout;
}

TEST(LinearLayout, AppliesByXor) {
  LinearLayout layout = makeExample();
  EXPECT_EQ(layout.apply(Place::registers(3, 5, 0)), (Coord{9, 3}));
  EXPECT_EQ(layout.size(0), 16);
  EXPECT_EQ(layout.count(Axis::Lane), 32);
  EXPECT_EQ(layout.basis(Axis::Register, 1), (Coord{8, 0}));
}

TEST(LinearLayout, CoversTheTile) {
  LinearLayout layout = makeExample();
  EXPECT_TRUE(layout.isSurjective());
  EXPECT_TRUE(layout.isInjective());
  layout.addCopies(Axis::Warp, 1);
  EXPECT_TRUE(layout.isSurjective());
  EXPECT_FALSE(layout.isInjective());
  // Twin: a base left out is an element that nobody holds.
  LinearLayout holes({16, 8});
  holes.addSteps(Axis::Lane, 1, 1, 3).addSteps(Axis::Lane, 0, 1, 2);
  EXPECT_FALSE(holes.isSurjective());
}

TEST(LinearLayout, ChangesDimensions) {
  LinearLayout layout = makeExample();
  LinearLayout rows = layout.dropDim(1);
  EXPECT_EQ(rows.rank(), 1u);
  EXPECT_EQ(rows.apply(Place::registers(3, 5, 0)), (Coord{9}));
  LinearLayout column = rows.addUnitDim(1);
  EXPECT_EQ(column.apply(Place::registers(3, 5, 0)), (Coord{9, 0}));
  LinearLayout turned = layout.permuted({1, 0});
  EXPECT_EQ(turned.apply(Place::registers(3, 5, 0)), (Coord{3, 9}));
}

TEST(LinearLayout, Repeats) {
  TileLayout layout{makeExample(), 3};
  EXPECT_EQ(layout.size(1), 24);
  EXPECT_EQ(layout.numRegisters(), 12);
  EXPECT_EQ(layout.apply(4 + 3, 5, 0), (Coord{9, 11}));
}

TEST(LinearLayout, Prints) {
  std::string text;
  llvm::raw_string_ostream out(text);
  makeExample().print(out);
  EXPECT_EQ(text, "register = [[0, 1], [8, 0]], "
                  "lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]]");
}

TEST(LinearLayout, Draws) {
  LinearLayout small({2, 2});
  small.addSteps(Axis::Register, 1, 1, 1).addSteps(Axis::Lane, 0, 1, 1);
  std::string text, svg;
  llvm::raw_string_ostream out(text), picture(svg);
  printLayoutText({small, 1}, out);
  EXPECT_EQ(text, "w0 t0 r0 | w0 t0 r1\nw0 t1 r0 | w0 t1 r1\n");
  printLayoutSvg({small, 1}, 2, picture);
  EXPECT_NE(svg.find(">w0 t1 r1</text>"), std::string::npos);
  EXPECT_EQ(svg.substr(svg.size() - 7), "</svg>\n");
}
