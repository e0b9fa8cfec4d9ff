"""Hooks for mkdocs: make pages of the examples' READMEs, and point links to files of the repository at their pages. A link to a file without
a page becomes the file's name."""
import os
import posixpath
import re

from mkdocs.structure.files import File

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(([^)#\s]*)(#[^)\s]*)?\)")


def readmes():
    """Pages outside docs/, keyed by their file in the repository."""
    folder = os.path.join(ROOT, "examples")
    return {f"examples/{name}/README.md": f"examples/{name}.md" for name in sorted(os.listdir(folder))
            if os.path.exists(os.path.join(folder, name, "README.md"))}


def on_files(files, config):
    for source, page in readmes().items():
        with open(os.path.join(ROOT, source)) as file:
            files.append(File.generated(config, page, content=file.read()))
    return files


def on_page_markdown(markdown, page, config, files):
    sources = {page: source for source, page in readmes().items()}
    source = sources.get(page.file.src_uri, "docs/" + page.file.src_uri)
    pages = readmes()

    def follow(match):
        text, target, anchor = match[1], match[2], match[3] or ""
        if not target or "://" in target:
            return match[0]
        file = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
        found = pages.get(file) or (file.removeprefix("docs/") if file.startswith("docs/") else None)
        if not found and not os.path.exists(os.path.join(ROOT, file)):
            return match[0]  # mkdocs reports it as dead
        if not found:
            return text
        return f"[{text}]({posixpath.relpath(found, posixpath.dirname(page.file.src_uri) or '.')}{anchor})"

    parts = re.split(r"(^```.*?^```|`[^`\n]+`(?!\]))", markdown, flags=re.M | re.S)  # code stays unchanged
    return "".join(part if part.startswith("`") else LINK.sub(follow, part) for part in parts)
