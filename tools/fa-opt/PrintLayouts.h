//===- PrintLayouts.h - pictures of who holds what --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_TOOLS_FA_OPT_PRINTLAYOUTS_H
#define FA_TOOLS_FA_OPT_PRINTLAYOUTS_H

#include "mlir/Pass/PassInstrumentation.h"
#include "llvm/Support/Error.h"

#include <memory>

namespace fa::opt {

/// Shows each layout of the program once, in the first stage that has it:
/// `form` is "" or "text" (a table on stderr) or "svg:DIR" (a picture in DIR,
/// which is made if it is not there, and its name on stderr).
llvm::Expected<std::unique_ptr<mlir::PassInstrumentation>>
createLayoutPrinter(llvm::StringRef form);

} // namespace fa::opt

#endif // FA_TOOLS_FA_OPT_PRINTLAYOUTS_H
