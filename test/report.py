#!/usr/bin/env python3
"""report.py FILE: what lit's JSON report says, for a person: the ten slowest tests,
what was skipped and why, and a line that counts. Exit code 1 if a test failed or
none ran."""
import json
import sys


def name(test):
    return test["name"].split(" :: ")[-1]


def main(path):
    try:
        with open(path) as file:
            tests = json.load(file)["tests"]
    except (OSError, ValueError) as error:
        print(f"report.py: expected lit's report, found none: {error}", file=sys.stderr)
        tests = []
    tests = [test for test in tests if test["code"] != "EXCLUDED"]
    passed = sum(test["code"] == "PASS" for test in tests)
    skipped = [test for test in tests if test["code"] == "UNSUPPORTED"]
    failed = len(tests) - passed - len(skipped)
    print("the slowest, in seconds:")
    for test in sorted(tests, key=lambda test: -(test["elapsed"] or 0))[:10]:
        print(f"{test['elapsed'] or 0:8.1f} {name(test)}")
    for test in skipped:
        print("skipped", name(test) + ":", " ".join(test["output"].split()))
    print(f"{passed} passed, {failed} failed, {len(skipped)} skipped")
    return 0 if passed and not failed else 1


sys.exit(main(sys.argv[1]))
