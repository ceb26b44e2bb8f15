//===- ModifyAttention.cpp - a mask or score of one's own -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Frontend/ModifyAttention.h"

#include "OneAttention.h"

#include "Tile/Tile.h"
#include "fa/Fusion/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace fa;

namespace {

/// One of the two texts, and the region that it goes to.
struct Modification {
  StringRef name;   ///< "score" or "mask"
  StringRef result; ///< "score" or "keep"
  StringRef type;   ///< of the result
  StringRef text;
  bool takesScore;

  /// The text in a function, in front of its first line.
  std::string function() const {
    return ("func.func @" + name + "(" + (takesScore ? "%s: f32, " : "") +
            "%b: index, %h: index, %i: index, %j: index) -> " + type + " { " +
            text + "\nfunc.return %" + result + " : " + type + "\n}\n")
        .str();
  }
};

} // namespace

static llvm::Expected<OwningOpRef<ModuleOp>>
parse(const Modification &modification, MLIRContext *context) {
  std::string problems;
  llvm::raw_string_ostream out(problems);
  ScopedDiagnosticHandler handler(context, [&](Diagnostic &diagnostic) {
    out << diagnostic.getLocation() << ": " << diagnostic << "\n";
    return success();
  });
  auto module = parseSourceString<ModuleOp>(modification.function(), context,
                                            modification.name);
  if (!module)
    return llvm::createStringError(
        "expected operations that define %" + modification.result + " : " +
        modification.type + ", found\n" + StringRef(problems).rtrim());
  auto function =
      dyn_cast<func::FuncOp>(module->getBody()->getOperations().front());
  bool isOneBlock = function && function.getBody().hasOneBlock() &&
                    module->getBody()->getOperations().size() == 1;
  if (!isOneBlock)
    return llvm::createStringError(modification.name +
                                   ": expected operations of one block, found "
                                   "more than that");
  return module;
}

Block &fa::openRegion(tile::AttentionOp op, Region &region, bool takesScore) {
  if (!region.empty())
    return region.front();
  OpBuilder b(op.getContext());
  SmallVector<Type> types;
  if (takesScore)
    types.push_back(b.getF32Type());
  types.append(4, b.getIndexType());
  llvm::append_range(types, op.getCaptures().getTypes());
  SmallVector<Location> locations(types.size(), op.getLoc());
  Block *block = b.createBlock(&region, region.end(), types, locations);
  Value result =
      takesScore
          ? Value(block->getArgument(0))
          : Value(arith::ConstantOp::create(b, op.getLoc(), b.getBoolAttr(true))
                      .getResult());
  tile::YieldOp::create(b, op.getLoc(), result);
  return *block;
}

/// Puts the code of `function` in front of the terminator of `block`.
static void splice(func::FuncOp function, Block &block, bool takesScore) {
  Operation *yield = block.getTerminator();
  Value before = yield->getOperand(0);
  IRMapping mapping;
  Block &code = function.getBody().front();
  mapping.map(code.getArguments(),
              block.getArguments().take_front(code.getNumArguments()));
  if (takesScore)
    mapping.map(code.getArgument(0), before);
  OpBuilder b(yield);
  for (Operation &op : code.without_terminator())
    b.clone(op, mapping);
  Value after = mapping.lookup(code.getTerminator()->getOperand(0));
  if (!takesScore)
    after = arith::AndIOp::create(b, yield->getLoc(), before, after);
  yield->setOperand(0, after);
}

llvm::Expected<tile::AttentionOp> fa::findAttention(ModuleOp module) {
  PassManager pm(module.getContext());
  // Gradients are those of the attention with the code in it.
  buildFusionPipeline(pm, {.differentiate = false});
  if (failed(pm.run(module)))
    return llvm::createStringError("the program is not one attention");
  SmallVector<tile::AttentionOp> found;
  module.walk([&](tile::AttentionOp op) { found.push_back(op); });
  if (found.size() != 1)
    return llvm::createStringError("expected one attention, found " +
                                   Twine(found.size()));
  return found.front();
}

llvm::Error fa::modifyAttention(ModuleOp module, StringRef score,
                                StringRef mask) {
  auto op = findAttention(module);
  if (!op)
    return op.takeError();
  Modification modifications[] = {{"score", "score", "f32", score, true},
                                  {"mask", "keep", "i1", mask, false}};
  for (const Modification &modification : modifications) {
    if (modification.text.empty())
      continue;
    auto parsed = parse(modification, module.getContext());
    if (!parsed)
      return parsed.takeError();
    Region &region = modification.takesScore ? op->getScore() : op->getMask();
    splice(*(*parsed)->getOps<func::FuncOp>().begin(),
           openRegion(*op, region, modification.takesScore),
           modification.takesScore);
  }
  return llvm::Error::success();
}
