"""Checks that the include guard of each header is its path: DIALECTS_GRAD_HOSTTENSOR_H for dialects/grad/HostTensor.h, and GRADC_DATA_H for
runtime/include/gradc/data.h, as users include it. Headers that are only precompiled have none. Prints every wrong guard, and exits with 1 if
there is any.

    guards.py ROOT [--write]

`--write` mends the guards.
"""
import os
import re
import sys

FOLDERS = ("dialects", "passes", "compiler", "runtime", "tools", "test", "examples")
PUBLIC = "runtime/include/"
GUARD = re.compile(r"^#ifndef (\w+)\n#define \1\n", re.M)


def headers(root):
    for top in FOLDERS:
        for folder, _, names in os.walk(os.path.join(root, top)):
            for name in sorted(names):
                path = os.path.relpath(os.path.join(folder, name), root)
                if name.endswith(".h") and name != "Pch.h" and "/Inputs/" not in path:
                    yield path


def guard_of(path):
    return re.sub(r"\W", "_", path.removeprefix(PUBLIC)).upper()


def main():
    root, wrong = sys.argv[1], []
    for path in headers(root):
        with open(os.path.join(root, path), encoding="utf-8") as file:
            text = file.read()
        found, expected = GUARD.search(text), guard_of(path)
        if found and found[1] == expected:
            continue
        if found and "--write" in sys.argv:
            with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                file.write(re.sub(rf"\b{found[1]}\b", expected, text))
        else:
            wrong.append(f"{path}: expected the guard {expected}, found {found[1] if found else 'none'}")
    print("\n".join(wrong) or "guards are paths")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
