"""Checks each folder's #includes against the rule of which folder may include which. Prints every violation, and exits with 1 if there is
any.

    include_rule.py ROOT
"""
import os
import re
import sys

OURS = ("dialects", "passes", "compiler", "runtime", "tools", "test", "examples")
FOREIGN = {"llvm": "LLVM", "llvm-c": "LLVM", "mlir": "MLIR", "mlir-c": "MLIR", "lld": "LLVM",
           "google": "protobuf", "onnx": "ONNX", "fmt": "fmt", "nlohmann": "nlohmann-json", "CLI": "CLI11"}
# Folder -> (own folders and headers, foreign libraries) that it may include; the longest matching folder applies.
RULES = {
    "dialects": (("dialects",), ("MLIR", "LLVM")),
    "passes": (("passes", "dialects", "runtime/include/gradc/entries.h", "runtime/include/gradc/roles.h"), ("MLIR", "LLVM")),
    "compiler": (("compiler", "dialects", "passes", "runtime/include"),
                 ("MLIR", "LLVM", "protobuf", "fmt", "nlohmann-json")),
    "runtime": (("runtime",), ()),
    "runtime/include": (("runtime/include",), ()),
    "tools": (OURS[:5], tuple(set(FOREIGN.values()))),
    "examples": (("runtime/include",), ()),
}
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]')


def under(path, folders):
    return any(path.startswith(folder + "/") or path == folder for folder in folders)


def violations(root):
    for top in RULES:
        for folder, _, files in os.walk(os.path.join(root, top)):
            relative = os.path.relpath(folder, root)
            rule = max((r for r in RULES if relative == r or under(relative, (r,))), key=len)
            if rule != top:
                continue  # counted under its own, longer rule
            ours, foreign = RULES[rule]
            for name in files:
                if not name.endswith((".h", ".cpp", ".c", ".td")):
                    continue
                path = os.path.join(relative, name)
                with open(os.path.join(root, path)) as file:
                    for number, line in enumerate(file, 1):
                        match = INCLUDE.match(line)
                        if not match:
                            continue
                        target = match[1]
                        library = FOREIGN.get(target.split("/")[0]) if "/" in target else None
                        if (under(target, OURS) and not under(target, ours)) or (
                                library and library not in foreign):
                            yield f"{path}:{number}: {rule}/ may not include {target}"


def main():
    found = list(violations(sys.argv[1]))
    print("\n".join(found) or "the include rule holds")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
