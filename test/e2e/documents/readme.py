"""Runs the marked commands of the README in a folder that only contains the examples.

    readme.py ROOT FOLDER
"""
import os
import shutil
import subprocess
import sys

GIVEN = dict(os.environ)  # bars compile without a cache of kernels
sys.path.insert(0, os.path.join(sys.argv[1], "test/bars"))
from rank_runs import mpi_environment

MARK = "<!-- These commands are a test: test/e2e/documents/readme.test runs them. -->\n```sh\n"


def main():
    root, folder = sys.argv[1:]
    with open(os.path.join(root, "README.md")) as file:
        _, *blocks = file.read().split(MARK)
    if not blocks:
        sys.exit("expected README.md to have marked blocks of commands")
    commands = "".join(block.partition("```")[0] for block in blocks)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    os.symlink(os.path.join(root, "examples"), os.path.join(folder, "examples"))
    return subprocess.run(["bash", "-euxc", commands], cwd=folder, env={**mpi_environment(), **GIVEN}).returncode


if __name__ == "__main__":
    sys.exit(main())
