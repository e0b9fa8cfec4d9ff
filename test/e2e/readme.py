"""Runs the commands of the README's journey in a folder that only contains the examples.

    readme.py ROOT FOLDER
"""
import os
import shutil
import subprocess
import sys

MARK = "<!-- These commands are a test: test/e2e/readme.test runs them. -->\n```sh\n"


def main():
    root, folder = sys.argv[1:]
    with open(os.path.join(root, "README.md")) as file:
        _, mark, rest = file.read().partition(MARK)
    commands = rest.partition("```")[0]
    if not mark or "gradc compile" not in commands:
        sys.exit("expected README.md to have a marked block with the journey's commands")
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    os.symlink(os.path.join(root, "examples"), os.path.join(folder, "examples"))
    return subprocess.run(["bash", "-euxc", commands], cwd=folder).returncode


if __name__ == "__main__":
    sys.exit(main())
