"""House figures of the product's C++: lines per file, lines per function, include cycles between folders.

    figures.py ROOT

Prints the figures and each limit that does not hold; exits 1 if any.
"""
import os
import re
import sys

PRODUCT = ("dialects", "passes", "compiler", "runtime", "tools")
MAX_MEDIAN, MAX_90TH, MAX_FILE, MAX_FUNCTION = 90, 260, 450, 80
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.M)
# Comments, strings, characters, and preprocessor lines do not count as code.
NOT_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])+\'|'
                      r'^[ \t]*#(?:[^\n]*\\\n)*[^\n]*', re.M | re.S)


def product_files(root):
    """Paths of all product sources and headers, relative to `root`."""
    for top in PRODUCT:
        for folder, _, names in os.walk(os.path.join(root, top)):
            for name in names:
                if name.endswith((".cpp", ".h")):
                    yield os.path.relpath(os.path.join(folder, name), root)


def blank(match):
    return re.sub(r"[^\n]", " ", match[0])


def kind_of(head):
    """The kind of block that follows `head`, the text between the end of the last declaration and an opening brace."""
    head = re.sub(r"\[\[.*?\]\]|\balignas\([^)]*\)", "", head).strip()
    if re.match(r"(inline\s+)?namespace\b|extern\b\s*$", head):
        return "scope"
    bare = re.sub(r"^template\s*<.*?>\s*(?=class|struct|union)", "", head, flags=re.S)
    bare = re.sub(r"^(public|private|protected)\s*:\s*|^(typedef|static|constexpr|inline)\s+", "", bare)
    if re.match(r"(class|struct|union)\b", bare) and not head.endswith(")"):
        return "scope"
    if "(" not in head or re.match(r"enum\b", bare):
        return "other"
    if re.search(r"\)\s*(noexcept\s*)?:[^:]", head) and re.search(r"[\w>]$", head):
        return "initializer"  # a member's, in a constructor's list
    return "other" if re.search(r"[=,(]$", head) else "function"


def functions(text):
    """Yields (first line, number of lines) of each function; a lambda belongs to the function around it."""
    text = NOT_CODE.sub(blank, text)
    head_start, depth, inside, stack = 0, 0, None, []
    for match in re.finditer(r"[{};]", text):
        mark, at = match[0], match.start()
        if inside is not None:  # only the depth matters until the block ends
            depth += (mark == "{") - (mark == "}")
            if depth == 0:
                kind, start = inside
                inside = None
                if kind == "function":
                    first = start + len(text[start:]) - len(text[start:].lstrip())
                    line = text.count("\n", 0, first) + 1
                    yield line, text.count("\n", first, at) + 1
                if kind != "initializer":
                    head_start = at + 1
        elif mark == "{":
            kind = kind_of(text[head_start:at])
            if kind == "scope":
                stack.append(kind)
                head_start = at + 1
            else:
                inside, depth = (kind, head_start), 1
        else:
            if mark == "}" and stack:
                stack.pop()
            head_start = at + 1


def cycles(arrows):
    """The strongly connected sets of more than one folder."""
    reach = {folder: set(targets) for folder, targets in arrows.items()}
    for middle in list(reach):
        for folder in reach:
            if middle in reach[folder]:
                reach[folder] |= reach[middle]
    groups = {frozenset({folder} | {other for other in reach[folder] if folder in reach.get(other, ())})
              for folder in reach}
    return sorted(sorted(group) for group in groups if len(group) > 1)


def main():
    root = sys.argv[1]
    sizes, lengths, arrows, faults = {}, {}, {}, []
    for path in product_files(root):
        with open(os.path.join(root, path)) as file:
            text = file.read()
        sizes[path] = text.count("\n")
        for line, length in functions(text):
            lengths[f"{path}:{line}"] = length
        folder = os.path.dirname(path)
        targets = {os.path.dirname(target) for target in INCLUDE.findall(text) if target.split("/")[0] in PRODUCT}
        arrows.setdefault(folder, set()).update(targets - {folder})
    ordered = sorted(sizes.values())
    median, ninetieth = ordered[len(ordered) // 2], ordered[len(ordered) * 9 // 10]
    if median > MAX_MEDIAN:
        faults.append(f"median of {median} lines per file, expected at most {MAX_MEDIAN}")
    if ninetieth > MAX_90TH:
        faults.append(f"90th percentile of {ninetieth} lines per file, expected at most {MAX_90TH}")
    faults += [f"{path}: {size} lines, expected at most {MAX_FILE}" for path, size in sorted(sizes.items())
               if size > MAX_FILE]
    faults += [f"{place}: a function of {length} lines, expected at most {MAX_FUNCTION}"
               for place, length in sorted(lengths.items()) if length > MAX_FUNCTION]
    faults += [f"include cycle between folders: {', '.join(group)}" for group in cycles(arrows)]
    print("\n".join(faults + [
        f"{len(sizes)} files, lines: median {median}, 90th percentile {ninetieth}, largest {ordered[-1]}; "
        f"{len(lengths)} functions, longest {max(lengths.values(), default=0)}; "
        f"{len(cycles(arrows))} include cycles between folders"]))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
