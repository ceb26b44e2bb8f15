//===- PrintAttributes.h - the tables of attributes and facts ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_OPT_PRINTATTRIBUTES_H
#define FA_OPT_PRINTATTRIBUTES_H

#include "llvm/Support/raw_ostream.h"

namespace fa::opt {

/// Writes docs/generated/attributes.md: the discardable attributes of both
/// dialects, and the facts of a launch with their members in bundle.json.
void printAttributes(llvm::raw_ostream &out);

} // namespace fa::opt

#endif // FA_OPT_PRINTATTRIBUTES_H
