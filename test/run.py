"""Runs lit over a build's tests and ends with the line `N passed, N failed`; exits 1 when any failed."""
import json
import os
import subprocess
import sys

LIT = os.environ.get("LIT", "/usr/lib/llvm-22/bin/lit")
FAILED = {"FAIL", "XPASS", "UNRESOLVED", "TIMEOUT"}


def main():
    tests, options = sys.argv[1], sys.argv[2:]
    results = os.path.join(tests, "results.json")
    if os.path.exists(results):
        os.remove(results)
    subprocess.run([LIT, "-sv", "-o", results, *options, tests, f"{tests}/unit"])
    if not os.path.exists(results):
        print("0 passed, 1 failed")  # lit itself could not run
        return 1
    with open(results) as file:
        codes = [(test["code"], test["name"]) for test in json.load(file)["tests"]]
    skipped = [name for code, name in codes if code in ("UNSUPPORTED", "SKIPPED")]
    if skipped:
        print(f"{len(skipped)} skipped: {', '.join(skipped)}")
    failed = sum(code in FAILED for code, _ in codes)
    passed = len(codes) - failed - len(skipped)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
