"""Runs fa-run with a cache and says what came of it."""
import glob
import json
import os
import shutil
import subprocess
import sys

SPEC = "b=1 hq=2 sq=40 d=32 type=f32"


def start(cache, spec=SPEC, prefix=(), **how):
    command = [*prefix, "fa-run", "--attention", spec, "--cache=" + cache, "--json", "--check"]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **how)


def finish(process):
    """The outcome ("hit", "miss", "off") and what was said; the run is right."""
    out, err = process.communicate()
    assert process.returncode == 0, (process.returncode, err)
    report = json.loads(out)
    assert report["pass"], report
    return report["cache"], err


def run(cache, spec=SPEC, **how):
    return finish(start(cache, spec, **how))


def expect(found, outcome, *said):
    """`said` are the messages, one a line, in parts."""
    assert found[0] == outcome, found
    lines = found[1].splitlines()
    assert len(lines) == len(said), found
    for line, part in zip(lines, said):
        assert line.startswith("fa-run: note: cache: ") and part in line, (line, part)


def _files(cache, lists):
    found = [f for f in glob.glob(cache + "/llvmcache-*") if len(os.path.basename(f)) == 10 + 64]
    return [f for f in found if (b"kernels without code" in open(f, "rb").read()) == lists]


def entries(cache):
    """Files of compiled programs."""
    return _files(cache, lists=False)


def lists(cache):
    """Files of what kernels a program has."""
    return _files(cache, lists=True)


def fresh(path):
    shutil.rmtree(path, ignore_errors=True)
    os.makedirs(path)
    return path
