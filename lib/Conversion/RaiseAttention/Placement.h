//===- Placement.h - the steps of finding places ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_CONVERSION_RAISEATTENTION_PLACEMENT_H
#define FA_LIB_CONVERSION_RAISEATTENTION_PLACEMENT_H

#include "Access.h"
#include "Places.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/Support/raw_ostream.h"

namespace fa::raise {

/// Keys [first, end), in tiles; what is visited of them from `end` on is to be
/// masked.
struct KeyRange {
  mlir::scf::ForOp loop;            ///< null: one tile
  std::optional<unsigned> variable; ///< the loop's counter
  int64_t keysOfOne = 1;            ///< how many keys it counts at once
  Number counter;                   ///< the first key of a step
  Number first;
  Number end;
  std::vector<Number> ends; ///< whose least it is
  int64_t tile = 0;
  std::vector<Condition> mask;
};

/// Goes from what is read to coordinates, tensors, keys and elements, in this
/// order; the first step that fails sets the refusal.
class Placement {
public:
  Placement(const ProvenLoops &proven, ExponentialSums &sums,
            LaunchNumbers &numbers, tile::KernelOp kernel, Refusal &refusal)
      : proven(proven), sums(sums), numbers(numbers), kernel(kernel),
        refusal(refusal) {}

  bool run();
  PlacedAttention placed;

private:
  bool refuse(mlir::Operation *op, const llvm::Twine &why) {
    refusal = {op, why.str()};
    return false;
  }
  void require(const Number &number, bool isZero, const llvm::Twine &text);
  void requireAtLeast(const Number &x, const Number &y);
  void requireMultiple(const Number &x, const Number &y);
  mlir::Type elementOf(unsigned argument) const {
    return mlir::getElementTypeOrSelf(
        kernel.getBody().front().getArgument(argument).getType());
  }
  std::string print(const Number &number) const {
    return numbers.print(number);
  }
  static std::string print(mlir::Type type) {
    std::string text;
    llvm::raw_string_ostream(text) << type;
    return text;
  }
  /// Without the grid's.
  unsigned numArguments() const { return kernel.getNumArguments() - 1; }
  bool isOfAllPrograms(const Number &number) const {
    return bool(numbers.toAffine(number, numArguments(), kernel.getContext()));
  }
  /// What stands for keys in a report: their loop, or the store of the output.
  mlir::Operation *placeOf(mlir::scf::ForOp loop) {
    tile::StoreOp store = proven.output;
    return loop ? loop.getOperation() : store.getOperation();
  }

  /// Whether it is none of the sizes that follow from memory.
  bool isOfAllLaunches(const Number &number) const {
    return !numbers.mentions(number, [&](unsigned n) {
      return numbers.variable(n).kind == Variable::Open;
    });
  }

  //===--- What is read (in the order in which it is looked at) ---===//
  bool isLaunchScalar(mlir::Value value);
  bool readScoresOf(const Stage &stage, Scores &scores);
  bool readStages();
  /// Whether `store` leaves out all elements of which `choices` give others.
  bool leavesOut(mlir::ArrayRef<TileReader::Choice> choices,
                 const Access &store);
  bool readElements();
  bool readMask(const Stage &stage, const Scores &scores, KeyRange &range);
  void appendEnds(const Number &end, std::vector<Number> &ends);
  void splitPrograms();

  //===--- Which coordinates there are ---===//
  bool isCoordinate(unsigned variable) const;
  std::vector<unsigned> coordinatesIn(const Number &number) const;
  bool findCoordinates();
  bool findExtents();
  bool isCovered(unsigned variable, mlir::ArrayRef<unsigned> all) const;
  bool coverWhole(unsigned part, mlir::ArrayRef<unsigned> all);
  Number extentOf(unsigned coordinate);
  /// `number` at its least, if `least`, or greatest over all programs.
  std::optional<Number> boundOf(Number number, bool least);

  //===--- Pages (PlacePages.cpp) ---===//
  bool readPages(Access &access, const KeyRange &range, const char *what);
  bool readPageSize(const Number &index, const KeyRange &range,
                    const Access &access, const char *what);
  Number rewriteByPages(const Number &number, const KeyRange &range,
                        bool &isOfWholeTiles);
  bool placePages();
  bool checkLoads();

  //===--- Numbers of sequences (PlacePages.cpp) ---===//
  std::optional<unsigned> findSequence() const;
  std::optional<ElementPlace> placeSequenceNumber(unsigned variable) const;
  /// Where `condition` ends the keys of each batch, if an element of an
  /// argument says so.
  std::optional<Number> lengthsOf(const Condition &condition) const;
  void placeSequenceNumbers();

  //===--- Tensors ---===//
  bool placeTensor(const Access &access, int rowAxis, int columnAxis,
                   const char *what, TensorPlace &place);
  bool placeKeys(const Access &access, const KeyRange &range, int columnAxis,
                 const char *what, TensorPlace &place);
  bool placeTensors();
  bool requireLimits(const Access &access, int axis, const Number &least,
                     const char *what);

  //===--- Keys ---===//
  Number moveToTensor(const Number &number, const KeyRange &range);
  bool isOfTensor(const Number &number) const;
  bool coverKeys();
  bool coverEnd(const KeyRange &range);
  bool endPages();
  Number leastOf(const Number &end) const;
  Number dropRounding(const Number &first) const;
  bool coverStart(const KeyRange &range);
  bool implies(const KeyRange &range, const Condition &condition);
  bool isSurelyAtLeastZero(Number number);
  bool isAtLeastZero(const Number &number);
  bool passesAllRows(const Condition &condition);
  bool finishMask();

  //===--- Assertions ---===//
  /// Whether what is asserted is a condition for the launch now, or always so.
  bool requireAsserted(mlir::Value condition);
  void readAssertions();

  //===--- Elements ---===//
  bool placeElement(const Access &access, ElementPlace &place);
  bool placeElements();

  const ProvenLoops &proven;
  ExponentialSums &sums;
  LaunchNumbers &numbers;
  mutable tile::KernelOp kernel; ///< accessors are not const
  Refusal &refusal;

  Scores scores; ///< of the last stage
  Access q, output;
  std::optional<Access> lse, sink;
  std::map<unsigned, Access> elements; ///< by factor of the scores
  std::vector<Access> keys, values;    ///< of each stage
  std::vector<KeyRange> ranges;
  std::vector<Condition> mask; ///< of the last range
  unsigned row = 0;            ///< the coordinate of tiles of rows
  int64_t rowTile = 0;
  bool hasRow = false;
  std::vector<unsigned> others;  ///< coordinates of batches and heads
  std::optional<unsigned> group; ///< head ÷ group size, for keys
  Number groupSize;
  std::map<unsigned, Number> extents;
  Number queryCount, keyCount;
  bool hasKeyCount = false;
  Number queryNumber, keyNumber; ///< in masks
  Number pageSize;               ///< 0: keys lie one behind the other
  /// What must be at least 0 for a page's number to be read, by range.
  std::vector<std::pair<unsigned, Number>> loadConditions;
};

} // namespace fa::raise

#endif // FA_LIB_CONVERSION_RAISEATTENTION_PLACEMENT_H
