//===- Explain.cpp - what was fused and what was not ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Explain.h"

#include "Tile/Tile.h"
#include "Triton/Triton.h"
#include "fa/Conversion/Passes.h"
#include "fa/Conversion/RaiseAttention.h"
#include "fa/Fusion/MaskAnalysis.h"
#include "fa/Fusion/Passes.h"
#include "fa/Fusion/Stage.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace fa;
using namespace fa::tile;

static raw_ostream &writeLocation(raw_ostream &out, Location loc) {
  if (auto at = loc->findInstanceOf<FileLineColLoc>())
    out << at.getFilename().getValue() << ':' << at.getLine() << ':'
        << at.getColumn() << ": ";
  return out;
}

namespace {

/// Writes the report of one module.
class Reporter {
public:
  explicit Reporter(raw_ostream &out) : out(out) {}

  void report(ModuleOp module) {
    module.walk([&](Operation *op) {
      if (auto attention = dyn_cast<AttentionOp>(op))
        reportFused(attention);
      else if (auto softmax = dyn_cast<SoftmaxOp>(op))
        reportSoftmax(softmax);
      else if (auto backward = dyn_cast<AttentionBackwardOp>(op))
        reportGradients(backward);
      else if (isa<DotOp>(op))
        dots.push_back(op);
    });
    for (Operation *dot : dots)
      begin(dot) << "a dot outside any attention\n";
    out << fused << " fused, " << refused << " not\n";
  }

private:
  raw_ostream &begin(Operation *op) { return writeLocation(out, op->getLoc()); }

  void reportFused(AttentionOp op) {
    ++fused;
    begin(op) << "fused: softmax(Q Kᵀ) V is one attention\n";
    out << "  Q " << op.getQ().getType() << ", K " << op.getK().getType()
        << ", V " << op.getV().getType() << '\n';
    FloatAttr scale;
    out << "  scale: ";
    if (matchPattern(op.getScale(), m_Constant(&scale)))
      out << scale.getValueAsDouble() << '\n';
    else
      out << "a value known at launch\n";
    out << "  score region: ";
    reportOps(op.getScore());
    out << "  mask region: ";
    reportOps(op.getMask());
    if (!op.getMask().empty())
      reportMask(analyzeMask(op.getMask()));
    for (Value capture : op.getCaptures())
      out << "  reads from outside: " << capture.getType() << '\n';
    if (op.getLse())
      out << "  also gives the log-sum-exp\n";
  }

  void reportGradients(AttentionBackwardOp op) {
    begin(op) << "gradients of an attention:";
    for (auto [value, name] :
         {std::pair(op.getDq(), " dQ"), std::pair(op.getDk(), " dK"),
          std::pair(op.getDv(), " dV"), std::pair(op.getDsink(), " dsink")})
      if (value)
        out << name;
    if (!op.getDcaptures().empty())
      out << ", " << op.getDcaptures().size() << " of what its scores read";
    out << '\n';
  }

  void reportOps(Region &region) {
    if (region.empty()) {
      out << "none\n";
      return;
    }
    llvm::interleaveComma(region.front().without_terminator(), out,
                          [&](Operation &op) { out << op.getName(); });
    out << '\n';
  }

  void reportMask(const MaskRule &rule) {
    for (const KeyInterval &interval : rule.intervals) {
      unsigned upper = llvm::count_if(
          interval.bounds, [](const KeyBound &bound) { return bound.upper; });
      out << "  an interval of keys: " << interval.bounds.size() - upper
          << " lower and " << upper << " upper bounds of the row; "
          << (interval.complete ? "nothing is evaluated between them\n"
                                : "the rest is evaluated for each element\n");
    }
  }

  void reportSoftmax(SoftmaxOp op) {
    auto reason = op->getAttrOfType<StringAttr>(TileDialect::notFusedAttrName);
    ++refused;
    begin(op) << "not fused: "
              << (reason ? reason.getValue() : "not between two dots") << '\n';
  }

  raw_ostream &out;
  SmallVector<Operation *> dots;
  unsigned fused = 0, refused = 0;
};

} // namespace

/// Says which functions are no kernels for all that was fused in them, and why:
/// what their attentions read or what is done with the results has no place in
/// one.
static void reportKernels(ModuleOp module, raw_ostream &out) {
  llvm::DenseSet<Location> fused;
  module.walk([&](AttentionOp op) {
    fused.insert(op->getParentOfType<FunctionOpInterface>().getLoc());
  });
  ScopedDiagnosticHandler handler(module.getContext(), [&](Diagnostic &d) {
    bool isError = d.getSeverity() == DiagnosticSeverity::Error;
    if (isError || fused.contains(d.getLocation()))
      writeLocation(out, d.getLocation())
          << (isError ? "refused: " : "") << d.str() << '\n';
    return success();
  });
  PassManager pm(module.getContext());
  pm.addPass(createTileOnlineSoftmax());
  pm.addPass(createTileSplitFunction());
  pm.addPass(createTileSplitTensors());
  pm.addPass(createTileToKernel());
  // What fails was reported.
  (void)pm.run(module);
}

/// Says of each of Triton's kernels whether its loop was raised, or why not.
static void explainTriton(ModuleOp module, raw_ostream &out) {
  for (auto func : module.getOps<triton::FuncOp>()) {
    if (func.isExternal() || !func.isPublic())
      continue;
    // The others would be refused with it.
    OwningOpRef<ModuleOp> alone = module.clone();
    for (auto other :
         llvm::make_early_inc_range(alone->getOps<triton::FuncOp>()))
      if (other.isPublic() && other.getSymName() != func.getSymName())
        other.erase();
    std::string problem;
    Location place = func.getLoc();
    ScopedDiagnosticHandler handler(module.getContext(), [&](Diagnostic &d) {
      if (problem.empty()) {
        problem = d.str();
        place = d.getLocation();
      }
      return success();
    });
    PassManager pm(module.getContext());
    buildTritonPipeline(pm);
    NotRaised reason{place, {}};
    std::optional<RaisedAttention> raised;
    if (failed(pm.run(*alone)))
      reason = {place, problem};
    else
      for (auto kernel : alone->getOps<KernelOp>())
        raised = raiseAttention(kernel, reason);
    place = raised ? func.getLoc() : reason.where;
    auto line = triton::sourceLineOf(place);
    writeLocation(out, line ? Location(line) : place)
        << (raised ? "raised: @" : "not raised: @") << func.getSymName() << ": "
        << (raised ? "softmax(Q K^T) V is one attention" : reason.why) << '\n';
    if (raised)
      for (const std::string &text : raised->report)
        out << "  " << text << '\n';
  }
}

LogicalResult fa::opt::explain(ModuleOp module, raw_ostream &out) {
  if (!module.getOps<triton::FuncOp>().empty()) {
    explainTriton(module, out);
    return success();
  }
  {
    // The report says what the remarks say.
    ScopedDiagnosticHandler quiet(module.getContext(), [](Diagnostic &d) {
      return success(d.getSeverity() == DiagnosticSeverity::Remark);
    });
    PassManager pm(module.getContext());
    buildFusionPipeline(pm, {});
    if (failed(pm.run(module)))
      return failure();
  }
  Reporter(out).report(module);
  reportKernels(module, out);
  return success();
}
