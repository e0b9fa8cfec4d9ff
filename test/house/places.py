"""An addition only touches the files that the READMEs list: an optimizer is named in its op, its rule, and its message, an operator of ONNX
only in the ONNX importer. Prints every other place that names one, and exits with 1 if there is any.

    places.py ROOT
"""
import os
import re
import sys

TOPS = ("dialects", "passes", "compiler", "runtime", "tools")
RULES = re.compile(r"dialects/grad/training/Optimizer\w*\.(td|cpp)$")
IMPORTER = "compiler/import/onnx/"
# Other files, or folders, that name an optimizer or an operator, and the reason.
OPTIMIZERS = {
    "compiler/import/spec/training.proto": "its message",
    "compiler/import/spec/OptimizerSpec.cpp": "limits of fields that only one rule has, or that depend on each other",
    "compiler/import/spec/ScheduleSpec.cpp": "a schedule of momentum says whose",
}
OPERATORS = {
    "compiler/import/data/Preprocessing.cpp": "writes maps as nodes before an exported model",
    "compiler/import/transfer/": "edits a graph of ONNX before it is imported",
    "compiler/import/objective/Predictions.cpp": "looks for an activation at the model's end",
}


def sources(root):
    for top in TOPS:
        for folder, _, names in os.walk(os.path.join(root, top)):
            for name in sorted(names):
                if name.endswith((".h", ".cpp", ".td", ".proto")):
                    path = os.path.join(folder, name)
                    with open(path, encoding="utf-8") as file:
                        yield os.path.relpath(path, root), file.read()


def lines_with(pattern, path, text):
    for match in pattern.finditer(text):
        yield f"{path}:{text.count(chr(10), 0, match.start()) + 1}: names {match[1]}"


def main(root):
    texts = dict(sources(root))
    rules = re.findall(r"^def Grad_(\w+)Op : Grad_(?:Fixed|Variable)UpdateOp", texts["dialects/grad/training/Optimizer.td"], re.M)
    operators = set()
    for path, text in texts.items():
        if path.startswith(IMPORTER):
            operators.update(re.findall(r'\bops\["(\w+)"\]', text))
    if len(rules) < 10 or len(operators) < 100:
        sys.exit(f"found {len(rules)} optimizers and {len(operators)} operators: this test reads the tree wrongly")
    messages = "|".join(rules)
    fields = "|".join(rule.lower() for rule in rules)
    named = re.compile(rf"\b((?:{messages})Op\b|spec::(?:{messages})\b|(?:has_|mutable_)(?:{fields})\()")
    node = re.compile(rf'"({"|".join(sorted(operators))})"')
    found, used = [], set()

    def collect(pattern, path, excepted):
        lines = list(lines_with(pattern, path, texts[path]))
        exceptions = [known for known in excepted if path.startswith(known)]
        if lines:
            used.update(exceptions)
        if not exceptions:
            found.extend(lines)

    for path in texts:
        if not RULES.match(path):
            collect(named, path, OPTIMIZERS)
        if not path.startswith(IMPORTER) and path.endswith((".h", ".cpp")):
            collect(node, path, OPERATORS)
    unused = {**OPTIMIZERS, **OPERATORS}.keys() - used - {"compiler/import/spec/training.proto"}
    found += [f"{path}: is listed in places.py, but names nothing" for path in sorted(unused)]
    print("\n".join(found) or f"{len(rules)} optimizers and {len(operators)} operators are named where they belong")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
