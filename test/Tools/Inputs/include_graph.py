"""Includes and links between the rooms of a source tree go downwards.

A room is a folder of lib/ (in lib/Conversion, of that), dialects/ or tools/ with its public headers in include/fa. It may
include and link rooms of the layers below its own and nothing else, so that there is no cycle, and what stands in one
layer, such as fusion and schedule, does not know of each other.

usage: include_graph.py FOLDER
"""
import pathlib
import re
import sys

# From the bottom. Api is the headers that users include; Conversion the declarations of its passes.
LAYERS = [
    ["Api", "Layout", "Machine", "Support"],
    ["Launch", "Plan"],
    ["Loader", "Numerics", "Tile", "Triton"],
    ["Interpreter", "TileGPU"],
    ["Conversion", "Emulator", "Fusion", "Schedule"],
    ["Frontend", "KernelAbi", "RaiseAttention", "TileToLinalg", "TritonToTile"],
    ["TileGPUToSimt", "TileToHost"],
    ["TileGPUToNVVM", "TileGPUToROCDL"],
    ["Target"],
    ["Runtime"],
    ["tools"],
]
# Part of programs without a compiler.
WITHOUT_LLVM = {"Launch", "Loader"}

HEIGHT = {room: height for height, rooms in enumerate(LAYERS) for room in rooms}
SOURCES = {".h", ".hpp", ".cpp", ".td", ".def"}
INCLUDE = re.compile(r'^\s*#?\s*include\s*["<]([^">]+)[">]', re.MULTILINE)
LIBRARY = re.compile(r"^\s*(?:fa_add_\w+|add_library|add_executable)\((\w[\w-]*)", re.MULTILINE)
LINKED = re.compile(r"^\s*(?:fa_add_\w+|target_link_libraries)\(([^()]*(?:\$\{[^}]*\}[^()]*)*)\)", re.MULTILINE)


def room_of(parts):
    """The room of a path below the tree; None: it is in none."""
    if parts[0] == "tools":
        return "tools"
    if parts[0] == "include":
        parts = parts[1:]
        if len(parts) == 2:
            return "Api"
        stem = parts[2].split(".")[0]
        return stem if parts[1] == "Conversion" and stem in HEIGHT else parts[1]
    if parts[:2] == ("lib", "Conversion"):
        return parts[2] if len(parts) > 3 else "Conversion"
    return parts[1] if len(parts) > 2 else None


def target_of(root, file, name):
    """The path below the tree that an include means, which need not exist yet; None: it is of another project."""
    local = (file.parent / name).resolve()
    if local.is_file() and local.is_relative_to(root):
        return local.relative_to(root).parts
    first = name.split("/")[0]
    if first == "fa":
        return ("include",) + tuple(name.split("/"))
    if (root / "dialects" / first).is_dir():
        return ("dialects",) + tuple(name.split("/"))
    return None


def edges_of_sources(root):
    """(file, its room, what it includes, the room of that)"""
    for folder in ("include", "lib", "dialects", "tools"):
        for file in sorted((root / folder).rglob("*")):
            if file.suffix not in SOURCES:
                continue
            place = file.relative_to(root)
            room = room_of(place.parts)
            for name in INCLUDE.findall(file.read_text()):
                target = target_of(root, file, name)
                if target:
                    yield place, room, name, room_of(target)
                elif name.startswith(("llvm/", "mlir/")):
                    yield place, room, name, "LLVM"


def edges_of_links(root):
    """The same of libraries that the build links."""
    files = [f for x in ("lib", "dialects", "tools") for f in sorted((root / x).rglob("CMakeLists.txt"))]
    rooms = {}
    for file in files:
        for library in LIBRARY.findall(file.read_text()):
            rooms[library] = room_of(file.relative_to(root).parts)
    for file in files:
        place = file.relative_to(root)
        for call in LINKED.findall(file.read_text()):
            for library in call.split()[1:]:
                if library in rooms:
                    yield place, rooms[call.split()[0]], library, rooms[library]


def problem(room, target):
    if target == "LLVM":
        return f"{room} is part of programs without LLVM" if room in WITHOUT_LLVM else None
    for found in (room, target):
        if found not in HEIGHT:
            return f"{found} is in no layer (LAYERS of include_graph.py)"
    if room != target and HEIGHT[target] >= HEIGHT[room]:
        return f"{room} may not know {target}, which is not below it"
    return None


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    edges, problems = set(), []
    for place, room, name, target in [*edges_of_sources(root), *edges_of_links(root)]:
        if target not in (room, "LLVM"):
            edges.add((room, target))
        found = problem(room, target)
        if found:
            problems.append(f"{place}: {name}: {found}")
    print("\n".join(problems + [f"{len(edges)} edges between {len({x for e in edges for x in e})} rooms"]))
    sys.exit(bool(problems) or not edges)


main()
