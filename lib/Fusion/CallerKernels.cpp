//===- CallerKernels.cpp - a function that calls its parts ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CallerKernels.h"

#include "BackwardKernels.h"
#include "DescribeAttention.h"
#include "JoinKernels.h"
#include "KernelSignature.h"
#include "KeyDistances.h"
#include "TensorPart.h"
#include "UnfusedKernel.h"

#include "fa/Fusion/MaskAnalysis.h"
#include "fa/Plan/Forward.h"

using namespace mlir;
using namespace fa;
using namespace fa::tile;

bool fa::callsParts(func::FuncOp function) {
  return !function.isDeclaration() &&
         !function.getBody().getOps<func::CallOp>().empty();
}

bool fa::isOfTensors(func::FuncOp function) {
  return !function
              .walk([](Operation *op) {
                return isa<OnlineAttentionOp, AttentionBackwardOp>(op)
                           ? WalkResult::interrupt()
                           : WalkResult::advance();
              })
              .wasInterrupted();
}

using Kernels = SmallVector<KernelOp>;

namespace {

/// A call, and the kernels that may do what it does.
struct Part {
  func::CallOp call;
  func::FuncOp callee;
  SmallVector<Kernels> alternatives; ///< the last one asks for the least
  /// Those whose warps are specialized, if the schedule finds that they can be.
  SmallVector<KernelOp> specialized;
};

class CallerBuilder {
public:
  CallerBuilder(func::FuncOp function, const ForwardRules &rules,
                llvm::function_ref<std::string(StringRef)> unusedName)
      : function(function), rules(rules), unusedName(unusedName),
        name(function.getSymName()) {}

  LogicalResult build() {
    if (failed(findParts()))
      return failure();
    FailureOr<SmallVector<Attribute>> found =
        collectSizeRules(function, &sizes);
    if (failed(found))
      return failure();
    sizeRules = *found;
    function.setSymName(name + "_s2");
    bool noAttention = llvm::all_of(
        parts, [](const Part &part) { return isOfTensors(part.callee); });
    for (Part &part : parts)
      if (failed(buildPart(part)))
        return failure();
    CommonArguments common(function, sizes);
    SmallVector<BoundKernel> first = choose(common, /*demands=*/true);
    SmallVector<BoundKernel> second;
    CommonArguments others(function, sizes);
    if (llvm::any_of(first, [&](const BoundKernel &each) {
          return demandsOfGiven(each, common);
        }))
      second = choose(others, /*demands=*/false);
    copyShared(first, second);
    eraseOthers(first, second);
    joinKernels(first, common, name, sizeRules);
    if (!second.empty())
      joinKernels(second, others, name, sizeRules);
    if (noAttention)
      for (auto *chain : {&first, &second})
        if (!chain->empty())
          chain->front().kernel->setAttr(KernelOp::noAttentionAttrName,
                                         UnitAttr::get(function.getContext()));
    for (auto *chain : {&first, &second})
      for (BoundKernel &bound : *chain)
        bound.kernel->moveBefore(function);
    eraseFunctions();
    return success();
  }

private:
  LogicalResult findParts() {
    Block &body = function.getBody().front();
    for (Operation &op : body.without_terminator()) {
      auto call = dyn_cast<func::CallOp>(op);
      auto callee = call ? SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
                               call, call.getCalleeAttr())
                         : func::FuncOp();
      if (!callee || callee.isDeclaration() || !callee.isPrivate() ||
          llvm::any_of(parts,
                       [&](const Part &p) { return p.callee == callee; }))
        return op.emitOpError("expected a function of calls alone, each of a "
                              "private function with a body, called one time");
      parts.push_back({call, callee, {}, {}});
    }
    for (Value result : body.getTerminator()->getOperands())
      if (!result.getDefiningOp() || !result.hasOneUse())
        return body.getTerminator()->emitOpError(
            "expected results of calls, each read by nothing else");
    return success();
  }

  LogicalResult buildPart(Part &part) {
    std::string own = part.callee.getSymName().str();
    part.callee.setSymName(unusedName(own + "_s2"));
    Block &body = part.callee.getBody().front();
    if (!body.getOps<AttentionBackwardOp>().empty())
      return buildGradients(part, own);
    std::string reason;
    if (!body.getOps<OnlineAttentionOp>().empty()) {
      AttentionFunction match = matchFunction(part.callee, reason);
      if (reason.empty())
        return buildAttention(part, match, own);
    }
    if (isOfTensors(part.callee)) {
      FailureOr<TensorPart> tensors = matchTensorPart(part.callee, reason);
      if (succeeded(tensors)) {
        for (bool promises : {true, false})
          part.alternatives.push_back({buildTensorKernel(
              *tensors, unusedName(own + (promises ? "" : "_strided")),
              promises, rules)});
        return success();
      }
    }
    std::string symbol = unusedName(own);
    if (failed(buildUnfusedKernel(part.callee, symbol)))
      return failure();
    if (!reason.empty())
      kernelNamed(symbol)->setAttr(
          TileDialect::notFusedAttrName,
          StringAttr::get(function.getContext(), reason));
    part.alternatives.push_back({kernelNamed(symbol)});
    return success();
  }

  KernelOp kernelNamed(StringRef symbol) {
    return function->getParentOfType<ModuleOp>().lookupSymbol<KernelOp>(symbol);
  }

  /// Kernels that a launch would choose by something else than what they
  /// promise of their arguments, and those with splits, are left out: such
  /// choices are made of the first kernel of a launch.
  static bool isSuited(const AttentionFunction &match,
                       const PlannedKernel &plan) {
    const KernelShape &shape = plan.shape;
    bool isOfHeads = shape.pack == KernelShape::Heads;
    return !plan.isSplitAlone && !shape.maxQueries && !shape.maxKeys &&
           !shape.fewerRows && !shape.halfRows && shape.parts == 1 &&
           shape.cluster == 1 && !shape.hasCounter &&
           shape.pack != KernelShape::Queries &&
           (!isOfHeads || match.q.dims[2].isUnit()) && hasVariant(match, shape);
  }

  /// Whether a launch has as few programs as `bound` is for, if it is for few.
  bool suitsPrograms(const BoundKernel &bound, CommonArguments &common) const {
    KernelOp kernel = bound.kernel;
    auto few =
        kernel->getAttrOfType<IntegerAttr>(KernelOp::fewProgramsAttrName);
    std::optional<int64_t> programs = programsOf(bound, common);
    return !few || (programs && *programs <= few.getInt() * rules.processors);
  }

  /// Rows may begin and end inside of what another kernel wrote.
  static AttentionFacts describePart(AttentionFunction &match) {
    AttentionFacts facts = describeAttention(match);
    facts.beginsInside = true;
    int64_t keys = tile::typeOf(match.attention.getK()).getDimSize(2);
    facts.keys = ShapedType::isDynamic(keys) ? 0 : keys;
    return facts;
  }

  LogicalResult buildAttention(Part &part, AttentionFunction &match,
                               StringRef own) {
    simplifyMask(match.attention.getMask());
    dropSignsOfDistances(match.attention);
    auto plans = planForward(describePart(match), rules);
    if (!plans)
      return emitError(part.callee.getLoc(), toString(plans.takeError()));
    OpBuilder b(function);
    for (const PlannedKernel &plan : *plans) {
      if (!isSuited(match, plan))
        continue;
      KernelOp kernel = buildKernel(
          b, match, plan.shape, unusedName((own + plan.suffix).str()), name);
      if (plan.isAlternative)
        part.specialized.push_back(kernel);
      else
        part.alternatives.push_back({kernel});
    }
    if (part.alternatives.empty())
      return emitError(part.callee.getLoc(),
                       "expected a plan with a kernel that takes every launch");
    return success();
  }

  LogicalResult buildGradients(Part &part, StringRef own) {
    part.callee.setSymName(own);
    if (failed(buildBackwardKernels(part.callee, rules, unusedName)))
      return failure();
    part.callee = {};
    for (auto kernel : function->getParentOfType<ModuleOp>().getOps<KernelOp>())
      if (kernel.getEntryName() == own) {
        if (!kernel->hasAttr(KernelOp::followsAttrName))
          part.alternatives.emplace_back();
        part.alternatives.back().push_back(kernel);
      }
    return success();
  }

  /// For each call the first kernels whose promises hold for what is handed
  /// over; without `demands`, that ask for nothing of what is given. Before
  /// them the one with specialized warps, whose alternative they are.
  SmallVector<BoundKernel> choose(CommonArguments &common, bool demands) {
    SmallVector<BoundKernel> chosen;
    for (Part &part : parts) {
      SmallVector<unsigned> numbers, own;
      for (ValueRange values : {ValueRange(part.call.getOperands()),
                                ValueRange(part.call.getResults())})
        for (Value value : values)
          numbers.push_back(common.numberOf(value));
      auto isGood = [&](KernelOp kernel) {
        BoundKernel bound = {kernel, numbers};
        return fitsWorkspace(bound, common) && suitsPrograms(bound, common) &&
               (demands || !demandsOfGiven(bound, common));
      };
      auto found =
          llvm::find_if(part.alternatives, [&](const Kernels &kernels) {
            return llvm::all_of(kernels, isGood);
          });
      if (found == part.alternatives.end())
        found = std::prev(found);
      auto *special = llvm::find_if(part.specialized, isGood);
      Kernels kernels = *found;
      bool isSpecial = special != part.specialized.end();
      if (isSpecial)
        kernels.insert(kernels.begin(), *special);
      for (KernelOp kernel : kernels) {
        chosen.push_back({kernel, numbers, isSpecial && kernel == *special});
        bindOwn(chosen.back(), common, own);
      }
    }
    return chosen;
  }

  /// A kernel is of one launch.
  void copyShared(ArrayRef<BoundKernel> first,
                  MutableArrayRef<BoundKernel> second) {
    llvm::StringMap<StringAttr> names;
    SmallVector<KernelOp> copies;
    for (BoundKernel &bound : second) {
      if (llvm::none_of(first, [&](const BoundKernel &other) {
            return other.kernel == bound.kernel;
          }))
        continue;
      KernelOp copy = bound.kernel.clone();
      StringRef symbol = bound.kernel.getSymName();
      copy.setSymName(unusedName((symbol + "_strided").str()));
      names[symbol] = copy.getSymNameAttr();
      OpBuilder(function).insert(copy);
      bound.kernel = copy;
      copies.push_back(copy);
    }
    for (KernelOp copy : copies)
      if (auto other = copy->getAttrOfType<FlatSymbolRefAttr>(
              KernelOp::alternativeAttrName);
          other && names.contains(other.getValue()))
        copy->setAttr(KernelOp::alternativeAttrName,
                      FlatSymbolRefAttr::get(names[other.getValue()]));
  }

  void eraseOthers(ArrayRef<BoundKernel> first, ArrayRef<BoundKernel> second) {
    auto isIn = [](ArrayRef<BoundKernel> chosen, KernelOp kernel) {
      return llvm::any_of(chosen, [&](const BoundKernel &bound) {
        return bound.kernel == kernel;
      });
    };
    auto eraseUnused = [&](Kernels &kernels) {
      for (KernelOp kernel : kernels)
        if (!isIn(first, kernel) && !isIn(second, kernel))
          kernel.erase();
    };
    for (Part &part : parts) {
      llvm::for_each(part.alternatives, eraseUnused);
      eraseUnused(part.specialized);
    }
  }

  void eraseFunctions() {
    function.erase();
    for (Part &part : parts)
      if (part.callee)
        part.callee.erase();
  }

  ArgumentSizes sizes;
  func::FuncOp function;
  const ForwardRules &rules;
  llvm::function_ref<std::string(StringRef)> unusedName;
  std::string name;
  SmallVector<Attribute> sizeRules;
  std::vector<Part> parts;
};

} // namespace

LogicalResult
fa::buildCallerKernels(func::FuncOp function, const ForwardRules &rules,
                       llvm::function_ref<std::string(StringRef)> unusedName) {
  return CallerBuilder(function, rules, unusedName).build();
}
