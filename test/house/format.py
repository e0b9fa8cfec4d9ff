"""Checks that every C and C++ file is formatted by clang-format-22 according to .clang-format.

    format.py ROOT
"""
import os
import subprocess
import sys

FOLDERS = ("dialects", "passes", "compiler", "runtime", "tools", "test", "examples")


def main():
    root = sys.argv[1]
    files = [os.path.join(folder, name) for top in FOLDERS for folder, _, names in os.walk(os.path.join(root, top))
             for name in names if name.endswith((".h", ".cpp", ".c")) and "/Inputs/" not in folder + "/"]
    result = subprocess.run(["clang-format-22", "--dry-run", "-Werror", *files], cwd=root, capture_output=True, text=True)
    wrong = sorted({line.split(":")[0] for line in result.stderr.splitlines() if "error:" in line})
    for path in wrong:
        print(f"{os.path.relpath(path, root)} is not formatted: clang-format-22 -i")
    return 1 if wrong or result.returncode else 0


if __name__ == "__main__":
    sys.exit(main())
