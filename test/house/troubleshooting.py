"""Checks that the messages in docs/troubleshooting.md exist.

    troubleshooting.py ROOT
"""
import os
import re
import sys

FOLDERS = ("compiler", "passes", "runtime", "tools")


def sources(root):
    """All strings of the sources; strings split over several lines are joined."""
    for folder in FOLDERS:
        for path, _, names in os.walk(os.path.join(root, folder)):
            for name in names:
                if name.endswith((".cpp", ".h")):
                    with open(os.path.join(path, name)) as file:
                        yield re.sub(r'"\s*\n\s*"', "", file.read())


def main():
    root = sys.argv[1]
    with open(os.path.join(root, "docs/troubleshooting.md")) as file:
        messages = re.findall(r"^### `(.*)`$", file.read(), re.M)
    text = "\n".join(sources(root))
    absent = [message for message in messages if not all(part in text for part in message.split("..."))]
    for message in absent:
        print(f"docs/troubleshooting.md: no source has `{message}`")
    if not absent and messages:
        print(f"{len(messages)} messages, all in the source")
    return 1 if absent or not messages else 0


if __name__ == "__main__":
    sys.exit(main())
