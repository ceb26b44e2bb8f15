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

namespace fa::raise {

/// Keys [first, end), in tiles; what is visited of them from `end` on is to be
/// masked.
struct KeyRange {
  mlir::scf::ForOp loop; ///< null: one tile
  Number counter, first;
  std::vector<Number> ends; ///< the least of them
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
  std::string print(const Number &number) const {
    return numbers.print(number);
  }
  /// Without the grid's.
  unsigned numArguments() { return kernel.getNumArguments() - 1; }
  bool isOfAllPrograms(const Number &number) {
    return bool(numbers.toAffine(number, numArguments(), kernel.getContext()));
  }
  /// What stands for keys in a report: their loop, or the store of the output.
  mlir::Operation *placeOf(mlir::scf::ForOp loop) {
    tile::StoreOp store = proven.output;
    return loop ? loop.getOperation() : store.getOperation();
  }

  //===--- What is read (in the order in which it is looked at) ---===//
  bool isLaunchScalar(mlir::Value value);
  bool readScoresOf(const Stage &stage, Scores &scores);
  bool readStages();
  bool readElements();
  bool readMask(const Stage &stage, const Scores &scores, KeyRange &range);
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
  Number dropRounding(const Number &first) const;
  bool coverStart(const KeyRange &range);
  bool implies(const KeyRange &range, const Condition &condition);
  bool isSurelyAtLeastZero(Number number);
  bool isAtLeastZero(const Number &number);
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
  tile::KernelOp kernel;
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
};

} // namespace fa::raise

#endif // FA_LIB_CONVERSION_RAISEATTENTION_PLACEMENT_H
