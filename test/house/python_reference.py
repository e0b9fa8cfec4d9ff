"""Makes docs/python.md from the package's docstrings, and reports where the page is out of date.

    python_reference.py ROOT [--write]
"""
import ast
import difflib
import os
import re
import sys

PACKAGE = "python/gradc"
PAGE = "docs/python.md"
INTRO = """# Python

This page begins as `python/README.md` does and goes on with the docstrings of `{package}`; `test/house/python_reference.py ROOT --write` makes it again.

"""


def parse(root, module):
    with open(os.path.join(root, PACKAGE, module)) as file:
        return ast.parse(file.read())


def exported(tree):
    """The module of each name that the package exports, in the order of __all__."""
    modules = {alias.name: node.module.removeprefix("gradc.") + ".py" for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    names, = (ast.literal_eval(node.value) for node in tree.body if isinstance(node, ast.Assign) and node.targets[0].id == "__all__")
    return {name: modules[name] for name in names}


def documentation(node):
    return re.sub(r"\n[ ]+", "\n", ast.get_docstring(node) or "").strip()


def signature(function, name, isMethod):
    arguments = ast.unparse(function.args)
    if isMethod:
        arguments = re.sub(r"^self(, )?", "", arguments)
    returns = f" -> {ast.unparse(function.returns)}" if function.returns else ""
    return f"{name}({arguments}){returns}"


def entry(heading, code, text):
    return f"{heading}\n\n```python\n{code}\n```\n\n{text}\n"


def describe_class(node):
    bases = ", ".join(ast.unparse(base) for base in node.bases)
    fields = [f"    {ast.unparse(part)}" for part in node.body if isinstance(part, ast.AnnAssign)]
    out = [entry(f"## {node.name}", "\n".join([f"class {node.name}{f'({bases})' if bases else ''}", *fields]), documentation(node))]
    for part in node.body:
        if not isinstance(part, ast.FunctionDef) or (part.name.startswith("_") and part.name != "__init__") or not documentation(part):
            continue
        isProperty = any(ast.unparse(decorator) == "property" for decorator in part.decorator_list)
        name = node.name if part.name == "__init__" else f"{node.name.lower()}.{part.name}"
        code = f"{name}: {ast.unparse(part.returns)}" if isProperty and part.returns else name if isProperty else signature(part, name, True)
        out.append(entry(f"### {node.name}.{part.name}" if part.name != "__init__" else f"### {node.name}()", code, documentation(part)))
    return out


def page(root):
    with open(os.path.join(root, "python/README.md")) as file:
        begin = file.read().split("\n## Build")[0].partition("\n\n")[2]
    out = [INTRO.format(package=PACKAGE) + begin.rstrip() + "\n"]
    for name, module in exported(parse(root, "__init__.py")).items():
        node, = (part for part in parse(root, module).body if isinstance(part, (ast.FunctionDef, ast.ClassDef)) and part.name == name)
        if not documentation(node):
            sys.exit(f"{PACKAGE}/{module}: {name} has no docstring")
        out += describe_class(node) if isinstance(node, ast.ClassDef) else [entry(f"## {name}", signature(node, f"gradc.{name}", False), documentation(node))]
    return "\n".join(out)


def main():
    root = sys.argv[1]
    path, made = os.path.join(root, PAGE), page(root)
    if "--write" in sys.argv:
        with open(path, "w") as file:
            file.write(made)
    with open(path) as file:
        old = file.read()
    if old != made:
        print(*difflib.unified_diff(old.splitlines(), made.splitlines(), lineterm="", n=0), sep="\n")
        sys.exit(f"{PAGE} is out of date: test/house/python_reference.py ROOT --write")
    print(f"{PAGE} is up to date: {made.count(chr(10) + '## ')} names, {made.count(chr(10) + '### ')} methods")


main()
