//===- JoinKernels.h - kernels of one launch --------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels that were built for functions of their own become those of a caller:
// all have its arguments, its results and, in workspace, what they hand over.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_FUSION_JOINKERNELS_H
#define FA_LIB_FUSION_JOINKERNELS_H

#include "SizeNames.h"
#include "UnfusedKernel.h"

#include "Tile/Tile.h"

namespace fa {

/// The arguments that the kernels of a launch have in common: those of a
/// function, its results, and tensors that they hand over.
class CommonArguments {
public:
  /// Of `function`, at S2, of whose values `sizes` says what their sizes are.
  CommonArguments(mlir::func::FuncOp function, const ArgumentSizes &sizes);

  /// The number of `value`, an argument of the function or a result of a call,
  /// which gets workspace if the function does not return it.
  unsigned numberOf(mlir::Value value);
  /// Of the tensor of a kernel's own that is `n`th in its workspace.
  unsigned addOwn(mlir::Type type, mlir::ArrayRef<mlir::AffineExpr> sizes);
  bool hasWorkspace() const { return all.size() > numGiven; }

  bool isGiven(unsigned number) const { return number < numGiven; }
  /// Tensors between two kernels, of no kernel's own.
  bool isHanded(unsigned number) const {
    return !isGiven(number) && all[number].value;
  }
  mlir::RankedTensorType tensorOf(unsigned number) const {
    return mlir::cast<mlir::RankedTensorType>(all[number].value.getType());
  }
  /// What the size of a dimension of a tensor is called: a number, or that of
  /// an argument of the function.
  mlir::AffineExpr sizeOf(unsigned number, int64_t dim);

  struct Argument {
    mlir::Value value; ///< null: of a kernel's own
    mlir::Type type;   ///< of a kernel that does not use it
    bool isResult;
    mlir::SmallVector<mlir::AffineExpr> sizes; ///< in workspace
  };
  mlir::SmallVector<Argument> all;
  SizeNames names;

private:
  mlir::func::FuncOp function;
  const ArgumentSizes &sizes;
  unsigned numGiven;
  llvm::DenseMap<mlir::Value, unsigned> numbers;
};

/// A kernel, and which of the common arguments each of its own is.
struct BoundKernel {
  tile::KernelOp kernel;
  mlir::SmallVector<unsigned> numbers;
  /// The one behind it takes its place unless its warps can be specialized.
  bool isAlternative = false;
};

/// Adds the numbers of what `bound` has in workspace by itself: `own`, which is
/// made if it is empty. Kernels that hand over something of their own share it.
void bindOwn(BoundKernel &bound, CommonArguments &common,
             mlir::SmallVectorImpl<unsigned> &own);

/// How many programs `bound` has, where that is known.
std::optional<int64_t> programsOf(const BoundKernel &bound,
                                  CommonArguments &common);

/// Whether what `bound` promises of its arguments holds for those in workspace,
/// which are row-major, at multiples of 16 bytes.
bool fitsWorkspace(const BoundKernel &bound, CommonArguments &common);

/// Whether `bound` promises of an argument that a launch is given what not
/// every launch gives: strides, alignment, a scalar above 0.
bool demandsOfGiven(const BoundKernel &bound, CommonArguments &common);

/// Makes `bound` kernels of one launch of program `entry`, in order: a launch
/// takes them if what any of them promises of its arguments holds. `rules` are
/// those of the program.
void joinKernels(mlir::MutableArrayRef<BoundKernel> bound,
                 CommonArguments &common, mlir::StringRef entry,
                 mlir::ArrayRef<mlir::Attribute> rules);

} // namespace fa

#endif // FA_LIB_FUSION_JOINKERNELS_H
