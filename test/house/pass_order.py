"""Checks that the .td files of the phases declare their passes in the order in which compiler/Pipeline.cpp first runs them, and that each
pass has a .cpp of its name. Prints every fault, and exits with 1 if there is any.

    pass_order.py ROOT
"""
import os
import re
import sys

PHASES = {"Graph": "buildGraphPhase", "Kernel": "buildKernelPhase", "Level": "buildLevelPhase"}
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
    declared = {phase: DEFINITION.findall(read(root, f"passes/{phase}Passes.td")) for phase in PHASES}
    ours, seen = {name for names in declared.values() for name in names}, set()
    for phase, function in PHASES.items():
        path = f"passes/{phase}Passes.td"
        run = [name for name in dict.fromkeys(passes_of(function, bodies)) if name in ours and name not in seen]
        seen.update(run)
        for name, expected in zip(declared[phase], run):
            if name != expected:
                yield f"{path}: declares {name} where {function} first runs {expected}"
                break
        else:
            for name in declared[phase][len(run):]:
                yield f"{path}: declares {name}, which {function} does not run first"
            for name in run[len(declared[phase]):]:
                yield f"{path}: lacks {name}, which {function} runs first"
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
