//===- NarrowFloatsTest.cpp - conversions beside APFloat's ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NarrowFloats.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/TargetSelect.h"
#include <gtest/gtest.h>

#include <cmath>

using namespace llvm;
using namespace fa;

namespace {

/// A CPU that has neither kind of conversion.
HostInfo plainHost() {
  InitializeNativeTarget();
  InitializeNativeTargetAsmPrinter();
  HostInfo host = cantFail(getHostInfo("host"));
  host.convertsHalf = host.convertsBfloat = false;
  return host;
}

/// `text` after the expansion, as native code. The process is not asked for
/// symbols: code that calls anything is not loaded.
class Compiled {
public:
  explicit Compiled(StringRef text) {
    HostInfo host = plainHost();
    auto context = std::make_unique<LLVMContext>();
    SMDiagnostic problem;
    auto module = parseAssemblyString(text, problem, *context);
    EXPECT_TRUE(module) << problem.getMessage().str();
    expandNarrowFloats(*module, host);
    EXPECT_FALSE(verifyModule(*module, &errs()));
    for (Function &function : *module)
      for (Instruction &instruction : instructions(function))
        expectNoNarrow(instruction);
    orc::JITTargetMachineBuilder machine{Triple(host.triple)};
    machine.setCPU("x86-64"); // of x86 the one with the least
    machine.setCodeGenOptLevel(CodeGenOptLevel::None); // as the emulator does
    jit = cantFail(orc::LLJITBuilder()
                       .setJITTargetMachineBuilder(std::move(machine))
                       .setPlatformSetUp(orc::setUpInactivePlatform)
                       .setLinkProcessSymbolsByDefault(false)
                       .create());
    cantFail(jit->addIRModule(
        orc::ThreadSafeModule(std::move(module), std::move(context))));
  }
  template <typename Function> Function *get(StringRef name) {
    return cantFail(jit->lookup(name)).toPtr<Function *>();
  }

private:
  static void expectNoNarrow(Instruction &instruction) {
    if (instruction.isBinaryOp() ||
        isa<FPTruncInst, FPExtInst, FCmpInst>(instruction))
      for (Value *operand : instruction.operands()) {
        Type *type = operand->getType()->getScalarType();
        EXPECT_FALSE(type->isHalfTy() || type->isBFloatTy());
      }
  }

  std::unique_ptr<orc::LLJIT> jit;
};

const fltSemantics &half = APFloat::IEEEhalf(), &bfloat = APFloat::BFloat();

/// The nearest, ties to even.
uint16_t rounded(APFloat number, const fltSemantics &to) {
  bool losesInfo;
  number.convert(to, APFloat::rmNearestTiesToEven, &losesInfo);
  return number.bitcastToAPInt().getZExtValue();
}

bool isNan(uint16_t bits, const fltSemantics &in) {
  return APFloat(in, APInt(16, bits)).isNaN();
}

void expectSame(uint16_t found, uint16_t expected, const fltSemantics &in,
                uint64_t from) {
  if (isNan(expected, in))
    EXPECT_TRUE(isNan(found, in)) << from;
  else
    EXPECT_EQ(found, expected) << from;
}

TEST(NarrowFloats, Floats) {
  Compiled code(R"(
    define i16 @half(float %x) {
      %y = fptrunc float %x to half
      %z = bitcast half %y to i16
      ret i16 %z
    }
    define i16 @bfloat(float %x) {
      %y = fptrunc float %x to bfloat
      %z = bitcast bfloat %y to i16
      ret i16 %z
    })");
  auto *toHalf = code.get<uint16_t(float)>("half");
  auto *toBfloat = code.get<uint16_t(float)>("bfloat");
  // All of the bits that stay, and each side of a tie below them.
  for (auto [kept, fn, semantics] :
       {std::tuple(13, toHalf, &half), std::tuple(16, toBfloat, &bfloat)})
    for (uint64_t top = 0; top < 1ull << (32 - kept); ++top)
      for (uint32_t low : {0u, 1u, (1u << (kept - 1)) - 1, 1u << (kept - 1),
                           (1u << (kept - 1)) + 1, (1u << kept) - 1}) {
        auto bits = static_cast<uint32_t>(top << kept | low);
        expectSame(fn(bit_cast<float>(bits)),
                   rounded(APFloat(bit_cast<float>(bits)), *semantics),
                   *semantics, bits);
        if (testing::Test::HasFailure())
          return;
      }
}

/// A double between two narrow numbers, or as near to the middle as doubles
/// are: rounding to float on the way would be wrong.
TEST(NarrowFloats, DoublesAreRoundedOnce) {
  Compiled code(R"(
    define i16 @half(double %x) {
      %y = fptrunc double %x to half
      %z = bitcast half %y to i16
      ret i16 %z
    }
    define i16 @bfloat(double %x) {
      %y = fptrunc double %x to bfloat
      %z = bitcast bfloat %y to i16
      ret i16 %z
    })");
  for (auto [name, semantics] :
       {std::pair("half", &half), std::pair("bfloat", &bfloat)}) {
    auto *fn = code.get<uint16_t(double)>(name);
    for (unsigned bits = 0; bits < 0x7fff; ++bits) {
      double a = APFloat(*semantics, APInt(16, bits)).convertToDouble();
      double b = APFloat(*semantics, APInt(16, bits + 1)).convertToDouble();
      double middle = (a + b) / 2;
      for (double x :
           {a, middle, std::nextafter(middle, a), std::nextafter(middle, b),
            -middle, -std::nextafter(middle, b)}) {
        expectSame(fn(x), rounded(APFloat(x), *semantics), *semantics, bits);
        if (testing::Test::HasFailure())
          return;
      }
    }
  }
}

TEST(NarrowFloats, Widens) {
  Compiled code(R"(
    define float @half(i16 %x) {
      %y = bitcast i16 %x to half
      %z = fpext half %y to float
      ret float %z
    }
    define double @bfloat(i16 %x) {
      %y = bitcast i16 %x to bfloat
      %z = fpext bfloat %y to double
      ret double %z
    })");
  auto *fromHalf = code.get<float(uint16_t)>("half");
  auto *fromBfloat = code.get<double(uint16_t)>("bfloat");
  for (unsigned bits = 0; bits < 0x10000; ++bits) {
    APInt word(16, bits);
    float wide = APFloat(half, word).convertToFloat();
    double wider = APFloat(bfloat, word).convertToDouble();
    if (std::isnan(wide))
      EXPECT_TRUE(std::isnan(fromHalf(bits)));
    else
      EXPECT_EQ(bit_cast<uint32_t>(fromHalf(bits)), bit_cast<uint32_t>(wide));
    if (std::isnan(wider))
      EXPECT_TRUE(std::isnan(fromBfloat(bits)));
    else
      EXPECT_EQ(fromBfloat(bits), wider);
  }
}

/// Arithmetic, comparisons, functions and integers, of vectors, too.
TEST(NarrowFloats, Computes) {
  Compiled code(R"(
    define i16 @add(i16 %a, i16 %b) {
      %x = bitcast i16 %a to half
      %y = bitcast i16 %b to half
      %s = fadd half %x, %y
      %n = fneg half %s
      %r = bitcast half %n to i16
      ret i16 %r
    }
    define i1 @less(i16 %a, i16 %b) {
      %x = bitcast i16 %a to bfloat
      %y = bitcast i16 %b to bfloat
      %r = fcmp olt bfloat %x, %y
      ret i1 %r
    }
    define i16 @larger(i16 %a, i16 %b) {
      %x = bitcast i16 %a to bfloat
      %y = bitcast i16 %b to bfloat
      %m = call bfloat @llvm.maxnum.bf16(bfloat %x, bfloat %y)
      %r = bitcast bfloat %m to i16
      ret i16 %r
    }
    define i16 @convert(i32 %a) {
      %x = sitofp i32 %a to bfloat
      %r = bitcast bfloat %x to i16
      ret i16 %r
    }
    define i32 @truncate(i16 %a) {
      %x = bitcast i16 %a to half
      %r = fptosi half %x to i32
      ret i32 %r
    }
    define void @vector(ptr %p) {
      %v = load <8 x half>, ptr %p
      %s = fmul <8 x half> %v, %v
      store <8 x half> %s, ptr %p
      ret void
    }
    define i16 @choose(i16 %a, i1 %c) {
    entry:
      %x = bitcast i16 %a to bfloat
      br i1 %c, label %other, label %end
    other:
      br label %end
    end:
      %y = phi bfloat [ %x, %entry ], [ 0xR3f80, %other ]
      %r = bitcast bfloat %y to i16
      ret i16 %r
    }
    define void @pass(ptr %p, i1 %c) {
    entry:
      %v = load <4 x i32>, ptr %p
      %x = bitcast <4 x i32> %v to <8 x bfloat>
      br i1 %c, label %other, label %end
    other:
      %w = bitcast <8 x bfloat> %x to <8 x i16>
      %d = add <8 x i16> %w, %w
      store <8 x i16> %d, ptr %p
      br label %end
    end:
      ret void
    }
    declare bfloat @llvm.maxnum.bf16(bfloat, bfloat))");
  // 1.5, 2.25 and -3.75 in half; 1, 2 in bfloat.
  EXPECT_EQ(code.get<uint16_t(uint16_t, uint16_t)>("add")(0x3e00, 0x4080),
            0xc380);
  EXPECT_TRUE(code.get<bool(uint16_t, uint16_t)>("less")(0x3f80, 0x4000));
  EXPECT_FALSE(code.get<bool(uint16_t, uint16_t)>("less")(0x7fc0, 0x4000));
  EXPECT_EQ(code.get<uint16_t(uint16_t, uint16_t)>("larger")(0x3f80, 0x4000),
            0x4000);
  // 2^24 + 2^16 + 1 is above the middle of two bfloats; as float it is not.
  EXPECT_EQ(code.get<uint16_t(int32_t)>("convert")((1 << 24) + (1 << 16) + 1),
            0x4b81);
  EXPECT_EQ(code.get<int32_t(uint16_t)>("truncate")(0xc380), -3);
  auto *choose = code.get<uint16_t(uint16_t, bool)>("choose");
  EXPECT_EQ(choose(0x4000, false), 0x4000);
  EXPECT_EQ(choose(0x4000, true), 0x3f80);
  uint16_t numbers[8] = {0x3e00, 0,      0x8000, 0x7c00,
                         0x0001, 0x3c00, 0xc000, 0x7bff};
  code.get<void(uint16_t *)>("vector")(numbers);
  uint16_t squares[8] = {0x4080, 0, 0, 0x7c00, 0, 0x3c00, 0x4400, 0x7c00};
  for (int n = 0; n < 8; ++n)
    EXPECT_EQ(numbers[n], squares[n]) << n;
  // Words that pass through numbers, and through a branch between.
  uint16_t words[8] = {1, 2, 0x7f81, 4, 0x3f80, 6, 7, 0x7fff};
  code.get<void(uint16_t *, bool)>("pass")(words, true);
  uint16_t doubled[8] = {2, 4, 0xff02, 8, 0x7f00, 12, 14, 0xfffe};
  for (int n = 0; n < 8; ++n)
    EXPECT_EQ(words[n], doubled[n]) << n;
}

/// Where the CPU has the instructions nothing changes.
TEST(NarrowFloats, LeavesWhatTheHostHas) {
  LLVMContext context;
  SMDiagnostic problem;
  auto module = parseAssemblyString(
      "define half @f(float %x) {\n  %y = fptrunc float %x to half\n"
      "  ret half %y\n}\n",
      problem, context);
  HostInfo host = plainHost();
  host.convertsHalf = true;
  expandNarrowFloats(*module, host);
  EXPECT_EQ(module->getFunction("f")->getInstructionCount(), 2u);
}

} // namespace
