"""Writes what an installed Triton prints of the kernels in kernels.py: a text each, before or behind Triton's own passes.

usage: make_ttir.py FOLDER [--stage=raw|ttir|both] [--kernels=NAME,...] [--with-locations] [--module=FILE.py]
       make_ttir.py FILE.ttir
A file gets all that says something new: what Triton's passes leave of each kernel, and in front of them what has
operations that they remove.

Of another module's kernels, which come by its decorator, with --module. No card is needed, and no PyTorch. A kernel that this version cannot say is left out, with a line that says why.
"""
import argparse
import importlib.util
import inspect
import pathlib
import re
import sys

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

import kernels

VERSION = tuple(int(x) for x in re.match(r"(\d+)\.(\d+)", triton.__version__).groups())
CAPABILITY = 90  # older cards have no descriptors


def source_of(kernel):
    """What Triton compiles: the function with types, constants and promises of its arguments."""
    names = kernel.fn.arg_names
    signature = {name: kernel.types.get(name, "constexpr") for name in names}
    divisible = [n for n, name in enumerate(names) if signature[name].startswith("*") or name in kernel.divisible]
    if VERSION >= (3, 3):
        return ASTSource(kernel.fn, signature, {(names.index(k),): v for k, v in kernel.constants.items()},
                         {(n,): [["tt.divisibility", 16]] for n in divisible})
    from triton.backends.compiler import AttrsDescriptor
    attributes = AttrsDescriptor.from_dict({"arg_properties": {"tt.divisibility": divisible}, "cls": "AttrsDescriptor"})
    return ASTSource(kernel.fn, {k: v for k, v in signature.items() if v != "constexpr"},
                     constants={k: v for k, v in kernel.constants.items()}, attrs=attributes)


def stages_of(kernel):
    """(raw, ttir): the module as it is written and as Triton's own passes leave it."""
    from triton._C.libtriton import ir
    target = GPUTarget("cuda", CAPABILITY, 32)
    backend = triton.compiler.make_backend(target)
    options = backend.parse_options({"debug": kernel.debug})
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    functions = backend.get_codegen_implementation(options) if VERSION >= (3, 3) else backend.get_codegen_implementation()
    arguments = [options, functions, backend.get_module_map(), context]
    source = source_of(kernel)
    if "target" in inspect.signature(source.make_ir).parameters:
        arguments.insert(0, target)
    module = source.make_ir(*arguments)
    raw = str(module)
    stages = {}
    if len(inspect.signature(backend.add_stages).parameters) > 2:
        backend.add_stages(stages, options, source.language)
    else:
        backend.add_stages(stages, options)
    metadata = {}
    module = stages["ttir"](module, metadata)
    return raw, str(module)


class NoCard:
    """Some kernels ask for the card while they are compiled."""

    def get_current_target(self):
        return GPUTarget("cuda", CAPABILITY, 32)


def without_paths(text):
    """Locations name the file without the folder that it lies in."""
    return re.sub(r'"[^"\n]*/([\w.]+\.py)"', r'"\1"', text)


def without_locations(text):
    text = re.sub(r"^#loc.*\n", "", text, flags=re.MULTILINE)
    return re.sub(r" loc\((?:[^()]|\([^()]*\))*\)", "", text)


def operations_of(text):
    return set(re.findall(r"\b(?:tt|ttg|gpu|cf|ub)\.[a-z_.]+", text))


def join(texts):
    """`texts` of one kernel after the other, those before Triton's passes where they say something new."""
    seen, kept = set(), []
    for stage, text in sorted(texts, key=lambda x: x[0] == "raw"):
        operations = operations_of(text)
        if stage == "ttir" or operations - seen:
            kept.append(text)
            seen |= operations
    return "// -----\n".join(kept)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--stage", default="both")
    parser.add_argument("--kernels", default="")
    parser.add_argument("--with-locations", action="store_true")
    parser.add_argument("--module", type=pathlib.Path)
    parsed = parser.parse_args()
    if parsed.module:
        kernels.ALL.clear()
        spec = importlib.util.spec_from_file_location(parsed.module.stem, parsed.module)
        spec.loader.exec_module(importlib.util.module_from_spec(spec))
    joined = [] if parsed.folder.suffix == ".ttir" else None
    if joined is None:
        parsed.folder.mkdir(parents=True, exist_ok=True)
    wanted = set(parsed.kernels.split(",")) - {""}
    triton.runtime.driver.set_active(NoCard())
    written = 0
    for name, kernel in kernels.ALL.items():
        if wanted and name not in wanted:
            continue
        try:
            raw, ttir = stages_of(kernel)
        except Exception as error:  # what a version lacks is many kinds of errors
            lines = str(error).strip().splitlines() or [""]
            print(f"{name}: not with {triton.__version__}: {type(error).__name__}: {lines[-1]}")
            continue
        for stage, text in (("raw", raw), ("ttir", ttir)):
            if parsed.stage not in (stage, "both"):
                continue
            text = without_paths(text) if parsed.with_locations else without_locations(text)
            head = f"// triton {triton.__version__}, {'before' if stage == 'raw' else 'behind'} its own passes\n"
            written += 1
            if joined is None:
                (parsed.folder / f"{name}.{stage}.ttir").write_text(head + text)
            else:
                joined.append((stage, head + text))
    if joined:
        parsed.folder.write_text(join(joined))
    print(f"{written} texts by triton {triton.__version__}")
    sys.exit(not written)


main()
