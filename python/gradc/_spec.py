"""Edits the text of a spec: paths, and files as the sources of its data."""
from __future__ import annotations

import os
import re
from typing import NamedTuple

from gradc._interface import Error, Path

_PATHS = re.compile(r"""(\b(?:model|path|file|list|onnx|directory)\s*:\s*)(\[[^\]]*\]|"[^"]*"|'[^']*')""")
_QUOTED = re.compile(r"""(["'])([^"'/][^"']*)\1""")
_COMMENT, _STRING = r"\#[^\n]*", r""""(?:\\.|[^"\\])*" | '(?:\\.|[^'\\])*'"""
_TOKENS = re.compile(rf"{_COMMENT} | {_STRING} | [A-Za-z_]\w* | [{{}}<>]", re.VERBOSE)
_SEPARATOR = re.compile(r"^\s*[,;]")
_GAPS = re.compile(rf"{_COMMENT} | \n | ({_STRING})", re.VERBOSE)


class _Block(NamedTuple):
    """Places in the text: of the block's name, behind its opening brace, and of its closing brace."""
    name: int
    begin: int
    end: int


def escaped(path: Path) -> str:
    """A path as it stands between the quotes of a spec."""
    return "".join(chr(byte) if 32 <= byte < 127 and byte not in b"\"'\\" else f"\\{byte:03o}" for byte in os.fsencode(path))


def with_absolute_paths(spec: str, folder: str) -> str:
    absolute = lambda quoted: f"{quoted[1]}{os.path.join(escaped(folder), quoted[2])}{quoted[1]}"
    return _PATHS.sub(lambda match: match[1] + _QUOTED.sub(absolute, match[2]), spec)


def _blocks(spec: str, *path: str) -> list[_Block]:
    """All blocks of this path. One that is not closed ends with the text: the compiler reports it."""
    opened, found, name = [], [], None

    def close(end: int) -> None:
        nonlocal name
        name = opened[-1][0] if opened else None  # the next element of a list has the same name
        if tuple(before[0] for before, _ in opened) == path:
            found.append(_Block(opened[-1][0].start(), opened[-1][1], end))
        del opened[-1:]

    for token in _TOKENS.finditer(spec):
        if token[0] in "{<" and name:
            opened.append((name, token.end()))
        elif token[0] in "}>":
            close(token.start())
        elif token[0][0] not in "#\"'":
            name = token
    while opened:
        close(len(spec))
    return found


def field(spec: str, name: str) -> str | None:
    """The string of a field outside of all blocks; "" where it has another value, None where there is no such field."""
    depth = 0
    for token in _TOKENS.finditer(spec):
        depth += (token[0] in "{<") - (token[0] in "}>")
        if not depth and token[0] == name:
            value = re.match(rf"\s*:\s*({_STRING})", spec[token.end():], re.VERBOSE)
            return value[1][1:-1] if value else ""
    return None


def _source(path: str) -> str:
    return f' source {{ npz {{ path: "{escaped(path)}" }} }}'


def with_source(spec: str, block: str, path: str) -> str:
    """The spec with a file as the source of its `data` block, or of the one in `evaluation`."""
    found = _blocks(spec, *(("data",) if block == "data" else ("evaluation", "data")))
    if not found:
        raise Error(f"the spec has no {'data {}' if block == 'data' else 'evaluation { data {} }'} block that arrays could be the source of")
    return spec[:found[0].begin] + _source(path) + spec[found[0].begin:]


def _data_like_evaluation(spec: str, path: str) -> str:
    """A data block with the file as its source, and all else as in the data of the evaluation; on one line, so the others keep their numbers."""
    rest = ""
    for data in _blocks(spec, "evaluation", "data")[:1]:
        rest = spec[data.begin:data.end]
        for source in reversed(_blocks(rest, "source")):
            rest = rest[:source.name] + _SEPARATOR.sub("", rest[source.end + 1:])
    return f" data {{{_source(path)} {_GAPS.sub(lambda gap: gap[1] or ' ', rest)} }}"


def with_set(spec: str, name: str, path: str) -> str:
    """The spec with a file as the source of the evaluation's set of this name, which is added if the spec lacks it."""
    for block in _blocks(spec, "evaluation", "set"):
        inner = spec[block.begin:block.end]
        if field(inner, "name") != name:
            continue
        for data in _blocks(inner, "data"):
            place = block.begin + data.begin
            return spec[:place] + _source(path) + spec[place:]
        return spec[:block.end] + _data_like_evaluation(spec, path) + spec[block.end:]
    for block in _blocks(spec, "evaluation"):
        return f'{spec[:block.end]} set {{ name: "{name}" {_data_like_evaluation(spec, path)} }} {spec[block.end:]}'
    raise Error(f"the spec has no evaluation {{}} block that the set '{name}' could belong to")
