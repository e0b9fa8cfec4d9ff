"""Runs lit over a build's tests, and prints `N passed, N failed` last; exits with 1 if any test failed."""
import fcntl
import json
import os
import shutil
import subprocess
import sys

LIT = os.environ.get("LIT", "/usr/lib/llvm-22/bin/lit")
FAILED = {"FAIL", "XPASS", "UNRESOLVED", "TIMEOUT"}


def alone(path):
    """The open file that keeps other runs waiting, because runs write to the same files."""
    lock = open(path, "w")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        print(f"waiting for another run, which holds {path}", flush=True)
        fcntl.flock(lock, fcntl.LOCK_EX)
    return lock


def temporary(folder):
    """An empty folder for temporary files, even if /tmp is small or does not allow loading code."""
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder, exist_ok=True)
    return os.path.abspath(folder)


def main():
    tests, options = sys.argv[1], sys.argv[2:]
    results = os.path.join(tests, "results.json")
    with alone(os.path.join(tests, ".lock")):
        if os.path.exists(results):
            os.remove(results)
        subprocess.run([LIT, "-sv", "-o", results, *options, tests, f"{tests}/unit"],
                       env=os.environ | {"TMPDIR": temporary(os.path.join(tests, "tmp"))})
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
