//===- ReadProgram.cpp - the C interface's programs as modules ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Runtime/ReadProgram.h"

#include "Triton/Triton.h"
#include "fa/Frontend/BuildAppend.h"
#include "fa/Frontend/BuildAttention.h"
#include "fa/Frontend/BuildMerge.h"
#include "fa/Frontend/ModifyAttention.h"
#include "fa/Launch/ConvertArgument.h"
#include "fa/Runtime/TritonProgram.h"
#include "fa/Target/Compile.h"

#include "mlir/Bytecode/BytecodeReader.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/MemoryBufferRef.h"

using namespace llvm;
using namespace fa;

static std::unique_ptr<mlir::MLIRContext> createContext() {
  mlir::DialectRegistry registry;
  registerDialects(registry);
  triton::registerDialects(registry);
  auto context = std::make_unique<mlir::MLIRContext>(
      registry, mlir::MLIRContext::Threading::DISABLED);
  return context;
}

Expected<AttentionProblem> fa::readProblem(const faAttentionDesc &desc) {
  auto type = elementTypeOf(desc.type);
  if (!type || byteSize(*type) > 4 || *type == ElementType::I32)
    return createStringError(
        "faAttentionDesc: expected type FA_F32, FA_F16 or FA_BF16, found " +
        Twine(static_cast<int>(desc.type)));
  if (desc.causal < FA_CAUSAL_NONE || desc.causal > FA_CAUSAL_TOP_LEFT)
    return createStringError(
        "faAttentionDesc: expected causal between 0 and 2, found " +
        Twine(static_cast<int>(desc.causal)));
  if (desc.precision < FA_PRECISION_IEEE || desc.precision > FA_PRECISION_TF32)
    return createStringError(
        "faAttentionDesc: expected precision 0 or 1, found " +
        Twine(static_cast<int>(desc.precision)));
  AttentionProblem problem;
  problem.type = *type;
  problem.headDim = desc.headDim;
  problem.headDimV = desc.headDimV ? desc.headDimV : desc.headDim;
  problem.causal = static_cast<CausalKind>(desc.causal);
  if (desc.hasWindow) {
    problem.windowLeft = desc.windowLeft;
    problem.windowRight = desc.windowRight;
  }
  if (desc.hasPrefix) {
    if (desc.prefix < 0)
      return createStringError(
          "faAttentionDesc: expected a prefix of at least 0, found " +
          Twine(desc.prefix));
    problem.prefix = desc.prefix;
  }
  problem.softcap = desc.softcap;
  problem.alibi = desc.hasAlibi;
  problem.lengths = desc.hasLengths;
  problem.documents = desc.hasDocuments;
  problem.sink = desc.hasSink;
  problem.hasOffsets = desc.hasOffsets;
  problem.hasKeyOffsets = desc.hasKeyOffsets;
  problem.dropout = desc.dropout;
  problem.tf32 = desc.precision == FA_PRECISION_TF32;
  problem.lse = desc.hasLse;
  problem.bias = desc.bias ? desc.bias : "";
  if (desc.hasPages && !desc.hasLengths)
    return createStringError("faAttentionDesc: expected hasLengths with "
                             "hasPages, found none");
  problem.page = desc.hasPages ? 1 : 0; // of any size: a launch says it
  if (desc.kvType != 0 && desc.kvType != desc.type) {
    problem.kvType = elementTypeOf(desc.kvType);
    if (!problem.kvType)
      return createStringError(
          "faAttentionDesc: expected kvType 0, FA_F8E4M3 or FA_F8E5M2, "
          "found " +
          Twine(static_cast<int>(desc.kvType)));
  }
  problem.hasScales = desc.hasScales;
  problem.scaleKeys = desc.scaleKeys;
  if (desc.qType != 0 && desc.qType != desc.type) {
    problem.qType = elementTypeOf(desc.qType);
    if (!problem.qType)
      return createStringError(
          "faAttentionDesc: expected qType 0, FA_F8E4M3 or FA_F8E5M2, "
          "found " +
          Twine(static_cast<int>(desc.qType)));
  }
  problem.hasQueryScales = desc.hasQueryScales;
  problem.splitKeys = desc.splitKeys;
  problem.valuesInKeys = desc.valuesInKeys;
  problem.draft = desc.hasDraft;
  if (Error error = problem.verify())
    return error;
  return problem;
}

Expected<AttentionProblem> fa::readProblem(const faAttentionDesc &desc,
                                           const faBackwardDesc &backward) {
  auto problem = readProblem(desc);
  if (!problem)
    return problem;
  problem->backward = {.q = backward.wantQ != 0,
                       .k = backward.wantK != 0,
                       .v = backward.wantV != 0,
                       .bias = backward.wantBias != 0,
                       .slopes = backward.wantSlopes != 0,
                       .sink = backward.wantSink != 0,
                       .scale = backward.wantScale != 0,
                       .dlse = backward.hasDlse != 0};
  if (Error error = problem->verify())
    return error;
  return problem;
}

/// Member `member` of a description, a type of floats.
static Expected<ElementType> readFloat(StringRef member, faType type) {
  auto element = elementTypeOf(type);
  if (element != ElementType::F32 && element != ElementType::F16 &&
      element != ElementType::BF16)
    return createStringError(member + " FA_F32, FA_F16 or FA_BF16, found " +
                             Twine(static_cast<int>(type)));
  return *element;
}

Expected<MergeProblem> fa::readProblem(const faMergeDesc &desc) {
  auto type = readFloat("faMergeDesc: expected type", desc.type);
  if (!type)
    return type.takeError();
  MergeProblem problem;
  problem.type = *type;
  problem.headDim = desc.headDim;
  problem.parts = desc.parts;
  problem.lse = desc.hasLse;
  if (Error error = problem.verify())
    return error;
  return problem;
}

Expected<AppendProblem> fa::readProblem(const faAppendDesc &desc) {
  auto type = readFloat("faAppendDesc: expected type", desc.type);
  if (!type)
    return type.takeError();
  auto tables = readFloat("faAppendDesc: expected tableType", desc.tableType);
  if (!tables)
    return tables.takeError();
  if (desc.rope < FA_ROPE_NONE || desc.rope > FA_ROPE_HALVES)
    return createStringError(
        "faAppendDesc: expected rope between 0 and 2, found " +
        Twine(static_cast<int>(desc.rope)));
  AppendProblem problem;
  problem.type = *type;
  problem.tableType = *tables;
  problem.headDim = desc.headDim;
  problem.headDimV = desc.headDimV ? desc.headDimV : desc.headDim;
  problem.rope = static_cast<RopeKind>(desc.rope);
  problem.rotary = desc.rotaryDim ? desc.rotaryDim : desc.headDim;
  problem.widePositions = desc.hasWidePositions;
  problem.numHeads = desc.hasQueries ? 1 : 0; // any number: a launch says it
  problem.applyDefaults();
  if (Error error = problem.verify())
    return error;
  return problem;
}

template <typename Problem>
static Expected<Program>
buildKernels(const Problem &problem, StringRef entry,
             Expected<mlir::OwningOpRef<mlir::ModuleOp>> (*build)(
                 mlir::MLIRContext &, const Problem &, StringRef)) {
  Program program{createContext(), {}, entry.str()};
  auto module = build(*program.context, problem, entry);
  if (!module)
    return module.takeError();
  program.module = std::move(*module);
  return program;
}

Expected<Program> fa::buildProgram(const MergeProblem &problem) {
  return buildKernels(problem, "merge", buildMerge);
}

Expected<Program> fa::buildProgram(const AppendProblem &problem) {
  return buildKernels(problem, "append", buildAppend);
}

Expected<Program> fa::buildProgram(const AttentionProblem &problem,
                                   StringRef scoreMod, StringRef maskMod) {
  Program program{createContext(), {}, "attention"};
  auto module = buildAttention(*program.context, problem);
  if (!module)
    return module.takeError();
  program.module = std::move(*module);
  if (!scoreMod.empty() || !maskMod.empty())
    if (Error error = modifyAttention(*program.module, scoreMod, maskMod))
      return error;
  return program;
}

Expected<Program> fa::parseProgram(const faModuleDesc &desc) {
  // A copy: MLIR's lexer reads on until it finds a 0.
  std::string text(desc.text ? desc.text : "", desc.length);
  MemoryBufferRef buffer(text, "module");
  if (!desc.allowBytecode && mlir::isBytecode(buffer))
    return createStringError("expected MLIR's textual form, found bytecode, "
                             "which faModuleDesc.allowBytecode allows");
  Program program{createContext(), {}, desc.entry ? desc.entry : ""};
  std::string problems;
  raw_string_ostream out(problems);
  mlir::ScopedDiagnosticHandler handler(
      program.context.get(), [&](mlir::Diagnostic &diagnostic) {
        out << diagnostic.getLocation() << ": " << diagnostic << "\n";
        return mlir::success();
      });
  program.module = mlir::parseSourceString<mlir::ModuleOp>(
      text, program.context.get(), "module");
  if (!program.module)
    return createStringError(StringRef(problems).rtrim());
  program.isTriton = isTritonProgram(*program.module);
  if (program.isTriton)
    if (Error error = lowerTritonProgram(*program.module))
      return error;
  return program;
}
