"""A process that has another LLVM in it, all of whose symbols are public: that
of Mesa's drivers. Both compile and run, in the order that is asked for."""
import array
import ctypes
import math
import sys

OTHER = "libLLVM-15.so.1"


def run_other():
    """Compiles and calls a function by the other LLVM's C interface."""
    llvm = ctypes.CDLL(OTHER, mode=ctypes.RTLD_GLOBAL)
    llvm.LLVMContextCreate.restype = ctypes.c_void_p
    llvm.LLVMCreateMemoryBufferWithMemoryRangeCopy.restype = ctypes.c_void_p
    llvm.LLVMGetFunctionAddress.restype = ctypes.c_uint64
    for part in ("TargetInfo", "Target", "TargetMC", "AsmPrinter"):
        getattr(llvm, "LLVMInitializeX86" + part)()
    llvm.LLVMLinkInMCJIT()
    text = b"define i64 @mix(i64 %x, i64 %y) {\n  %a = mul i64 %x, 10\n  %b = add i64 %a, %y\n  ret i64 %b\n}\n"
    context = ctypes.c_void_p(llvm.LLVMContextCreate())
    buffer = ctypes.c_void_p(llvm.LLVMCreateMemoryBufferWithMemoryRangeCopy(text, ctypes.c_size_t(len(text)), b"mix"))
    module, engine, message = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_char_p()
    assert not llvm.LLVMParseIRInContext(context, buffer, ctypes.byref(module), ctypes.byref(message)), message.value
    assert not llvm.LLVMCreateExecutionEngineForModule(ctypes.byref(engine), module, ctypes.byref(message)), message.value
    address = llvm.LLVMGetFunctionAddress(engine, b"mix")
    mix = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)(address)
    assert mix(4, 2) == 42
    llvm.LLVMDisposeExecutionEngine(engine)


def run_ours():
    import flashtile

    size = (1, 1, 4, 16)
    ones, out = (array.array("f", [x] * 64) for x in (1.0, math.nan))
    q, o = (memoryview(x).cast("B").cast("f", size) for x in (ones, out))
    # Nothing from the cache: the compiler is what shall run.
    plan = flashtile.Context(threads=2, cache=None).attention(flashtile._structs.AttentionDesc(type=0, headDim=16))
    plan(q, q, q, 0.25, o)
    assert all(abs(x - 1) < 1e-6 for x in out), out


steps = {"other": run_other, "ours": run_ours}
for name in sys.argv[1:]:
    steps[name]()
    print(name, "compiled and ran")
loaded = {line.split()[-1].rsplit("/", 1)[-1] for line in open("/proc/self/maps") if "libLLVM" in line}
print("loaded", *sorted(loaded))
