"""Checks the documents: each decision record is in the index and has a unique number and the right length; no README except the root's has
more than 700 words; links, and paths in backquotes that start with test/ or tools/, lead to existing files. Prints every problem, and exits
with 1 if there is any.

    docs.py ROOT
"""
import glob
import os
import re
import sys

MIN_LINES, MAX_LINES = 5, 20  # of text, blank lines not counted
MAX_WORDS = 700
NAME = re.compile(r"(\d{3})-[a-z0-9-]+\.md")
BUILT = ("build", ".git")


def lines_of(path):
    with open(path) as file:
        return file.read().splitlines()


def record_faults(root):
    folder = os.path.join(root, "docs/decisions")
    index = "\n".join(lines_of(os.path.join(root, "docs/README.md")))
    listed = re.findall(r"\(decisions/([^)]+)\)", index)
    owners = {}
    for name in sorted(os.listdir(folder)):
        path = f"docs/decisions/{name}"
        match = NAME.fullmatch(name)
        if not match:
            yield f"{path}: expected a name like 012-short-title.md"
            continue
        number = match[1]
        if number in owners:
            yield f"{path}: number {number} is taken by {owners[number]}"
        owners.setdefault(number, name)
        if listed.count(name) != 1:
            yield f"{path}: listed {listed.count(name)} times in docs/README.md, expected once"
        lines = lines_of(os.path.join(root, path))
        if not lines or not re.match(rf"# {number} \S", lines[0]):
            yield f"{path}:1: expected the heading '# {number} Title'"
        count = sum(1 for line in lines if line.strip())
        if not MIN_LINES <= count <= MAX_LINES:
            yield f"{path}: {count} lines of text, expected {MIN_LINES} to {MAX_LINES}"


def pages(root):
    """The folder and the text of each page, without blocks of code."""
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if name not in BUILT and not (folder.endswith("house") and name == "Inputs")]
        for name in sorted(files):
            if name.endswith(".md"):
                path = os.path.join(folder, name)
                yield path, re.sub(r"```.*?```", "", "\n".join(lines_of(path)), flags=re.S)


def link_faults(root):
    """Links to files that do not exist."""
    for path, text in pages(root):
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text):
            if not os.path.exists(os.path.join(os.path.dirname(path), target)):
                yield f"{os.path.relpath(path, root)}: links {target}, which does not exist"


def path_faults(root):
    """Tests and tools that are named and do not exist. <op> and NAME stand for any."""
    for path, text in pages(root):
        for target in re.findall(r"`((?:test|tools)/[^`\s]*)", text):
            if not glob.glob(os.path.join(root, re.sub(r"<\w+>|\bNAME\b", "*", target))):
                yield f"{os.path.relpath(path, root)}: names {target}, which does not exist"


def readme_faults(root):
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if name not in BUILT and not (folder.endswith("house") and name == "Inputs")]
        if folder == root or "README.md" not in files:
            continue
        path = os.path.join(folder, "README.md")
        words = sum(len(line.split()) for line in lines_of(path))
        relative = os.path.relpath(path, root)
        if words > MAX_WORDS and relative != "docs/README.md":  # an index grows by a line per record
            yield f"{relative}: {words} words, expected at most {MAX_WORDS}"


def main():
    root = sys.argv[1]
    faults = [*record_faults(root), *readme_faults(root), *link_faults(root), *path_faults(root)]
    print("\n".join(faults) or "the documents are in order")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
