"""Checks that the .td files of the phases declare their passes in the order in which compiler/Pipeline.cpp first runs them, and that each
pass has a .cpp of its name. Prints every fault, and exits with 1 if there is any.

    pass_order.py ROOT
"""
import os
import re
import sys

# The files that declare what each phase first runs, in this order.
PHASES = {"buildGraphPhase": ("Graph", "Step"), "buildKernelPhase": ("Kernel",), "buildLevelPhase": ("Level",)}
DEFINITION = re.compile(r"^def (\w+) : Pass<", re.M)
FUNCTION = re.compile(r"^(?:static )?void (?:gradc::)?(\w+)\(OpPassManager &pm[^{]*\{(.*?)^\}", re.M | re.S)
# A pass that is added, or a function that adds some.
STEP = re.compile(r"\bcreate(\w+)\(|\b(\w+)\(pm\b")


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8") as file:
        return file.read()


def passes_of(function, bodies):
    """The passes that a function of the pipeline adds, in order."""
    for created, called in STEP.findall(bodies[function]):
        if created:
            yield created
        elif called in bodies:
            yield from passes_of(called, bodies)


def faults(root):
    bodies = dict(FUNCTION.findall(re.sub(r"//[^\n]*", "", read(root, "compiler/Pipeline.cpp"))))
    files = {function: [f"passes/{part}Passes.td" for part in parts] for function, parts in PHASES.items()}
    # The pairs of a file and a pass, in order.
    declared = {function: [(path, name) for path in paths for name in DEFINITION.findall(read(root, path))]
                for function, paths in files.items()}
    ours, seen = {name for pairs in declared.values() for _, name in pairs}, set()
    for function, pairs in declared.items():
        run = [name for name in dict.fromkeys(passes_of(function, bodies)) if name in ours and name not in seen]
        seen.update(run)
        for (path, name), expected in zip(pairs, run):
            if name != expected:
                yield f"{path}: declares {name} where {function} first runs {expected}"
                break
        else:
            for path, name in pairs[len(run):]:
                yield f"{path}: declares {name}, which {function} does not run first"
            for name in run[len(pairs):]:
                yield f"{files[function][-1]}: lacks {name}, which {function} runs first"
    for name in sorted(ours | set(DEFINITION.findall(read(root, "passes/Passes.td")))):
        if not os.path.exists(os.path.join(root, f"passes/{name}.cpp")):
            yield f"passes/{name}.cpp: expected the pass {name}"
        elif f"#define GEN_PASS_DEF_{name.upper()}\n" not in read(root, f"passes/{name}.cpp"):
            yield f"passes/{name}.cpp: does not define the pass {name}"


def main():
    found = list(faults(sys.argv[1]))
    print("\n".join(found) or "the passes are declared in the pipeline's order")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
