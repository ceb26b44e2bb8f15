"""Folders that cannot be used, a full disk."""
import os
import sys

from runs import entries, expect, fresh, run

folder = fresh(sys.argv[1])
full = [sys.executable, os.path.join(os.path.dirname(__file__), "../../Tools/Inputs/full_disk.py")]

cache = folder + "/full"
expect(run(cache, prefix=full), "miss", "cannot write into '" + cache + "'")
assert not os.listdir(cache) or all(f.startswith("lock-") for f in os.listdir(cache)), os.listdir(cache)
expect(run(cache), "miss")  # the twin: a disk that is not full
expect(run(cache), "hit")

with open(folder + "/file", "w"):
    pass
expect(run(folder + "/file"), "off", "expected a folder")
expect(run(folder + "/file/inside"), "off", "cannot create")
os.makedirs(folder + "/shared", exist_ok=True)
os.chmod(folder + "/shared", 0o777)
expect(run(folder + "/shared"), "off", "expected that its owner alone can write it")

# A folder that may be read: what is there is used, more does not go in. (The
# superuser's process gives up its right to write everywhere.)
strict = ["setpriv", "--bounding-set", "-dac_override,-dac_read_search"] if os.geteuid() == 0 else []
cache = folder + "/read"
expect(run(cache), "miss")
os.chmod(cache, 0o500)
expect(run(cache, prefix=strict), "hit")
expect(run(cache, "b=1 hq=2 sq=40 d=64 type=f32", prefix=strict), "miss", "cannot write into")
os.chmod(cache, 0o700)

# Another user's folder.
if os.geteuid() == 0:
    os.chown(cache, 65534, 65534)
    expect(run(cache), "off", "expected the owner 0, found 65534")
