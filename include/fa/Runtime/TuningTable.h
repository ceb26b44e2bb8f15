//===- TuningTable.h - plans that measurements chose ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A table says which plans were the fastest for a class of launches, on an
// architecture, by an assembler: docs/tuning.md. It chooses between programs
// that compute the same. `fa-run --tune` writes it, preparing a plan for a
// known launch reads it (Tuning.h).
//
//===----------------------------------------------------------------------===//

#ifndef FA_RUNTIME_TUNINGTABLE_H
#define FA_RUNTIME_TUNINGTABLE_H

#include "fa/Launch/LaunchArgument.h"
#include "fa/Numerics/AttentionProblem.h"
#include "fa/Target/Compile.h"

#include <map>

namespace fa {

/// What an entry is for.
struct TuningKey {
  /// "sm_90a", "gfx942", or "cpu:" and LLVM's name of the CPU.
  std::string arch;
  std::string assembler; ///< as `assemblerVersion` gives it
  std::string problem;   ///< a class of launches, `tuningClass`

  auto operator<=>(const TuningKey &) const = default;
};

struct TuningEntry {
  PlanConstraints asked; ///< which has kernels with the tiles of `plans`
  std::string plans;     ///< of the launch's kernels, lines "@KERNEL plan<...>"
  double ms = 0, rulesMs = 0; ///< measured, so and by the rules
  std::string device;         ///< where

  /// The SHA-256 of what the entry chooses and for what, in hexadecimal: what
  /// the key of a cached program has.
  std::string digest(const TuningKey &key) const;
};

/// The class of a launch, as a SPEC (docs/fa-run.md): types, head dims, masks
/// and modifications of `problem`, whose sizes do not matter, the query heads
/// that share a KV head, lengths and the sizes of windows and prefixes rounded
/// up to powers of two. Nothing for arguments that are not those of such a
/// launch, and for rows that do not begin as those of dense tensors do: they
/// take other kernels.
std::optional<std::string> tuningClass(AttentionProblem problem,
                                       llvm::ArrayRef<LaunchArgument> launch);

/// How a key names `arch`, as in CompileOptions.
llvm::Expected<std::string> tuningArch(llvm::StringRef arch);

class TuningTable {
public:
  static constexpr int64_t version = 2;

  /// Reads a file, which is not trusted: what is damaged, of another version or
  /// of an architecture that is not known is an error that says where, what was
  /// found and what was expected.
  static llvm::Expected<TuningTable> read(llvm::StringRef path);
  static llvm::Expected<TuningTable> parse(llvm::StringRef text,
                                           llvm::StringRef name);

  /// Replaces the file at once: who reads it finds the old table or the new.
  llvm::Error write(llvm::StringRef path) const;

  void set(const TuningKey &key, TuningEntry entry) {
    entries[key] = std::move(entry);
  }
  /// Null: there is none.
  const TuningEntry *find(const TuningKey &key) const;
  /// The assemblers of the entries of `arch`, each once.
  std::vector<std::string> assemblersOf(llvm::StringRef arch) const;
  size_t size() const { return entries.size(); }

private:
  std::map<TuningKey, TuningEntry> entries;
};

} // namespace fa

#endif // FA_RUNTIME_TUNINGTABLE_H
