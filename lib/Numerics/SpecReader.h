//===- SpecReader.h - the words of a SPEC -----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_NUMERICS_SPECREADER_H
#define FA_LIB_NUMERICS_SPECREADER_H

#include "fa/Numerics/ElementType.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"

namespace fa {

/// Reads `key[=value]` separated by spaces: each key is asked for once, in any
/// order; `finish` has the first thing that was wrong.
class SpecReader {
public:
  /// `kind` is what the problem is, for messages: "merge".
  SpecReader(llvm::StringRef kind, llvm::StringRef spec);

  /// An integer; true if it is given.
  bool readSize(llvm::StringRef key, int64_t &result);
  /// A key without a value.
  void readFlag(llvm::StringRef key, bool &result);
  /// One of `choices`, whose number is the result.
  template <typename T>
  void readChoice(llvm::StringRef key, llvm::ArrayRef<llvm::StringRef> choices,
                  T &result) {
    int64_t number = static_cast<int64_t>(result);
    choose(key, choices, number);
    result = static_cast<T>(number);
  }
  /// f32, f16 or bf16.
  void readType(llvm::StringRef key, ElementType &result);

  /// The first error; a key that nobody asked for is one.
  llvm::Error finish();

private:
  void choose(llvm::StringRef key, llvm::ArrayRef<llvm::StringRef> choices,
              int64_t &number);
  /// The value of `key`, if it is given.
  std::optional<llvm::StringRef> take(llvm::StringRef key);
  void fail(const llvm::Twine &message);

  std::string kind, known, problem;
  llvm::StringMap<llvm::StringRef> words;
};

} // namespace fa

#endif // FA_LIB_NUMERICS_SPECREADER_H
