"""tuning_table.py ARCH CLASS < PLANS: a tuning table of one entry, as if measured where the driver assembles."""
import json
import sys

arch, problem = sys.argv[1:]
entry = {"arch": arch, "assembler": "driver", "problem": problem, "asked": "", "plans": sys.stdin.read().splitlines()}
print(json.dumps({"flashtile_tuning": 2, "entries": [{**entry, "ms": 1, "rules_ms": 1, "device": ""}]}, indent=1))
