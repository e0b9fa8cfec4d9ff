"""Makes docs/spec.md from training.proto and its comments, and reports where the page is out of date.

    spec_reference.py ROOT [--write]
"""
import difflib
import os
import re
import sys
from dataclasses import dataclass, field

PROTO = "compiler/import/spec/training.proto"
PAGE = "docs/spec.md"
INTRO = """# The training spec

This page is made of `{proto}` and its comments; `test/house/spec_reference.py ROOT --write` makes it again.

"""
FIELD = re.compile(r"(?:(optional|repeated) )?(\w+) (\w+) = \d+(?: \[default = ([^\]]+)\])?$")


@dataclass
class Field:
    name: str
    type: str
    repeated: bool
    default: str
    comment: list
    choice: str  # the oneof that it is in, or ""


@dataclass
class Message:
    name: str
    comment: list
    fields: list = field(default_factory=list)


def tokens(text):
    """Comment lines, and statements up to ';', '{' and '}'."""
    for line in text.splitlines():
        code, mark, comment = line.partition("//")
        for statement in re.findall(r"[^;{}]*[;{}]", code):
            yield statement.strip(), None
        if mark:
            yield None, comment[1:] if comment.startswith(" ") else comment
        elif not code.strip():
            yield None, None  # a blank line ends a comment


def read(text):
    """The file's own comment, messages in order, and enumerations by name: the comment of each value."""
    messages, enums, stack, comment, opening = [], {}, [], [], None
    for statement, line in tokens(text):
        if statement is None:
            if line is not None:
                comment.append(line)
            elif not stack:
                comment = []
            continue
        if opening is None:
            opening = comment
        word = statement.split()[0] if statement[0].isalpha() else ""
        if word == "message":
            messages.append(Message(statement.split()[1], comment))
            stack.append(messages[-1])
        elif word in ("enum", "oneof"):
            stack.append((word, statement.split()[1]))
            enums |= {statement.split()[1]: {}} if word == "enum" else {}
        elif statement == "}":
            stack.pop()
        elif stack:
            where = stack[-1]
            owner = next(entry for entry in reversed(stack) if isinstance(entry, Message)) if not (
                isinstance(where, tuple) and where[0] == "enum") else None
            if owner is None:
                enums[where[1]][statement.split(" =")[0]] = comment
            elif match := FIELD.match(statement.rstrip(";").strip()):
                label, kind, name, default = match.groups()
                choice = where[1] if isinstance(where, tuple) else ""
                owner.fields.append(Field(name, kind, label == "repeated", default or "", comment, choice))
            else:
                sys.exit(f"{PROTO}: cannot read '{statement}'")
        comment = []
    return opening, messages, enums


def paragraphs(comment):
    """The comment as Markdown: lines of text are joined; lines indented by more than one space are code."""
    out, text, code = [], [], []

    def end(lines, form):
        if lines:
            out.append(form(lines))
            lines.clear()

    for line in comment + [""]:
        if line.startswith("  "):
            end(text, " ".join)
            code.append(line[2:])
            continue
        end(code, lambda lines: "```\n" + "\n".join(lines) + "\n```")
        if line.strip():
            text.append(line.strip())
        else:
            end(text, " ".join)
    return "\n\n".join(escape(part) if not part.startswith("```") else part for part in out)


def escape(text):
    """Escapes asterisks and angle brackets outside `code`."""
    return "".join(part if i % 2 else part.replace("*", "\\*").replace("<", "&lt;").replace("_", "\\_")
                   for i, part in enumerate(re.split(r"(`[^`]*`)", text)))


def cell(comment):
    return escape(" ".join(line.strip() for line in comment)).replace("|", "\\|")


def row(entry, names, enums):
    kind = f"[{entry.type}](#{entry.type.lower()})" if entry.type in names else (
        ", ".join(f"`{value}`" for value in enums[entry.type]) if entry.type in enums else entry.type)
    return (f"| `{entry.name}`{' (one of)' if entry.choice else ''} | {kind}{', repeated' if entry.repeated else ''} | "
            f"{f'`{entry.default}`' if entry.default else ''} | {cell(entry.comment)} |\n")


def values(entry, enums):
    """A table of what the values of a field mean, if comments say so."""
    comments = enums.get(entry.type, {})
    if not any(comments.values()):
        return ""
    rows = (f"| `{entry.name}: {value}` | {cell(comment)} |\n" for value, comment in comments.items())
    return "\n| value | |\n|---|---|\n" + "".join(rows)


def page(text):
    opening, messages, enums = read(text)
    names = {message.name for message in messages}
    out = INTRO.format(proto=PROTO) + paragraphs(opening) + "\n"
    for message in messages:
        out += f"\n## {message.name}\n"
        if message.comment:
            out += f"\n{paragraphs(message.comment)}\n"
        if message.fields:
            out += "\n| field | type | default | |\n|---|---|---|---|\n"
            out += "".join(row(entry, names, enums) for entry in message.fields)
            out += "".join(values(entry, enums) for entry in message.fields)
    return out


def main():
    root = sys.argv[1]
    path = os.path.join(root, PAGE)
    with open(os.path.join(root, PROTO)) as file:
        text = file.read()
    expected = page(text)
    fields = len(re.findall(r"\b[a-z]\w* = \d+(?= \[|;)", re.sub(r"//.*", "", text)))
    rows = len(re.findall(r"^\| `\w+`", expected, re.M))
    if fields != rows:
        sys.exit(f"{PROTO}: {fields} fields, of which the page has {rows}")
    if "--write" in sys.argv:
        with open(path, "w") as file:
            file.write(expected)
    with open(path) as file:
        found = file.read()
    if found == expected:
        print(f"{PAGE} is up to date: {expected.count(chr(10) + '## ')} messages, {fields} fields")
        return 0
    print(*difflib.unified_diff(found.splitlines(), expected.splitlines(), PAGE, "training.proto", lineterm=""), sep="\n")
    print(f"{PAGE} is out of date: test/house/spec_reference.py ROOT --write")
    return 1


if __name__ == "__main__":
    sys.exit(main())
