"""No two files define a type of one name in one namespace: linked into one program, they would be one type to the
linker and two to the compiler, and crash without a word. Prints every such pair, exits 1 if any.

    one_definition.py ROOT
"""
import os
import re
import sys

FOLDERS = ("dialects", "passes", "compiler", "runtime", "tools")
# As clang-format leaves them: namespaces do not indent, and their ends say what ends.
OPEN = re.compile(r"^(?:inline )?namespace(?: ([\w:]+))? \{(?!.*\})")
CLOSE = re.compile(r"^\} // namespace")
TYPE = re.compile(r"^(?:class|struct|union|enum(?: class)?) (?:(?:\[\[\w+\]\]|alignas\(\w+\)) )?(\w+)(?: final)?"
                  r"(?: : .*[^;]|(?: : .*)? \{.*)?$")


def definitions(root):
    """Of each type that is not local to its file: its qualified name, and where it is defined."""
    for top in FOLDERS:
        for folder, _, files in os.walk(os.path.join(root, top)):
            for name in files:
                if not name.endswith((".h", ".cpp")):
                    continue
                scope = []
                path = os.path.join(folder, name)
                with open(path) as file:
                    for number, line in enumerate(file, 1):
                        if match := OPEN.match(line):
                            scope.append(match[1])
                        elif CLOSE.match(line):
                            scope.pop()
                        elif None not in scope and (match := TYPE.match(line)):
                            yield "::".join((*scope, match[1])), f"{os.path.relpath(path, root)}:{number}"


def main():
    places = {}
    for name, place in definitions(sys.argv[1]):
        places.setdefault(name, []).append(place)
    twice = sorted((name, where) for name, where in places.items() if len(where) > 1)
    for name, where in twice:
        print(f"{name} is defined in {' and in '.join(sorted(where))}")
    if not twice:
        print(f"{len(places)} types are defined once")
    return 1 if twice or not places else 0


if __name__ == "__main__":
    sys.exit(main())
