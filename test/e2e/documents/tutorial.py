"""Runs the commands of docs/tutorial.md in a folder that only contains the examples.

    tutorial.py ROOT FOLDER
"""
import os
import re
import shutil
import subprocess
import sys


def main():
    root, folder = sys.argv[1:]
    with open(os.path.join(root, "docs/tutorial.md")) as file:
        blocks = re.findall(r"^```sh\n(.*?)^```$", file.read(), re.M | re.S)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    os.symlink(os.path.join(root, "examples"), os.path.join(folder, "examples"))
    code = subprocess.run(["bash", "-euxc", "".join(blocks)], cwd=folder).returncode
    print(f"{len(blocks)} blocks of commands")
    return code


if __name__ == "__main__":
    sys.exit(main())
