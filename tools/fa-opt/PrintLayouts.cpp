//===- PrintLayouts.cpp - pictures of who holds what ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PrintLayouts.h"

#include "TileGPU/TileGPU.h"
#include "fa/Layout/PrintLayout.h"

#include "mlir/Pass/Pass.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace fa::tgpu;

/// The layout that a value of `type` has, and the type of its elements.
static std::pair<LayoutAttr, Type> layoutOfType(Type type) {
  if (auto running = dyn_cast<RunningType>(type))
    type = running.getTile();
  if (auto channel = dyn_cast<ChannelType>(type))
    type = channel.getBuffer();
  if (auto buffer = dyn_cast<BufferType>(type))
    return {buffer.getLayout(), buffer.getElementType()};
  if (auto tile = dyn_cast<RankedTensorType>(type))
    return {dyn_cast_if_present<LayoutAttr>(tile.getEncoding()),
            tile.getElementType()};
  return {};
}

namespace {

class LayoutPrinter final : public PassInstrumentation {
public:
  explicit LayoutPrinter(StringRef directory) : directory(directory) {}

  void runAfterPass(Pass *pass, Operation *op) override {
    if (pass->getArgument() != "tgpu-verify-stage")
      return;
    op->walk([&](Operation *inner) {
      for (Type type : inner->getResultTypes())
        show(type);
    });
  }

private:
  void show(Type type) {
    auto [layout, element] = layoutOfType(type);
    // Of tiles of three dimensions and of vectors there is no table.
    if (!layout || layout.getLayout().rank() != 2 ||
        !shown.insert(layout).second)
      return;
    llvm::raw_ostream &err = llvm::errs();
    err << "// " << layout;
    if (directory.empty()) {
      err << '\n';
      fa::printLayoutText(layout.getLayout(), err);
      return;
    }
    SmallString<128> path(directory);
    llvm::sys::path::append(path, "layout-" + Twine(shown.size()) + ".svg");
    err << ": " << path << '\n';
    int64_t bytes = element.isIntOrFloat()
                        ? std::max(element.getIntOrFloatBitWidth() / 8, 1u)
                        : 8;
    llvm::Error error = llvm::writeToOutput(path, [&](llvm::raw_ostream &out) {
      fa::printLayoutSvg(layout.getLayout(), bytes, out);
      return llvm::Error::success();
    });
    if (error)
      err << "fa-opt: error: " << toString(std::move(error)) << '\n';
  }

  std::string directory;
  llvm::DenseSet<Attribute> shown;
};

} // namespace

llvm::Expected<std::unique_ptr<PassInstrumentation>>
fa::opt::createLayoutPrinter(StringRef form) {
  StringRef directory = form;
  if (form.empty() || form == "text")
    return std::make_unique<LayoutPrinter>("");
  if (!directory.consume_front("svg:") || directory.empty())
    return llvm::createStringError(
        "--fa-print-layout: expected text or svg:DIR, found '" + form + "'");
  if (std::error_code code = llvm::sys::fs::create_directories(directory))
    return llvm::createStringError("cannot make the folder '" + directory +
                                   "': " + code.message());
  return std::make_unique<LayoutPrinter>(directory);
}
