"""Runs the commands of examples/gpt/README.md, and then its Python, in a copy of the folder. What reads a cache writes the text of what reads
the whole window.

    gpt.py ROOT FOLDER
"""
import os
import re
import shutil
import subprocess
import sys


def main():
    root, folder = sys.argv[1:]
    shutil.rmtree(folder, ignore_errors=True)
    here = os.path.join(folder, "examples/gpt")
    shutil.copytree(os.path.join(root, "examples/gpt"), here)
    os.symlink(os.path.join(root, "runtime"), os.path.join(folder, "runtime"))
    with open(os.path.join(here, "README.md")) as file:
        blocks = re.findall(r"^```(sh|python)\n(.*?)^```$", file.read(), re.M | re.S)
    commands, code = ("".join(text for kind, text in blocks if kind == wanted) for wanted in ("sh", "python"))
    subprocess.run(["bash", "-euxc", commands], cwd=here, check=True)

    def said(*command):
        return subprocess.run(command, cwd=here, stdout=subprocess.PIPE, text=True, check=True).stdout

    def write(*arguments):
        return said("./write", "run/best.ckpt", *arguments)

    window = said(sys.executable, "write.py", "trained.onnx", "If you convey", "20")  # up to the 33rd character
    assert write("If you convey", "20") == window, window
    assert said("/usr/bin/python3", "-c", code) == write("This Lic", "24"), code
    # A text longer than the cache, and one that outgrows it, drawn twice alike.
    long = "This License applies to any program or other work which contains a notice"
    for text, temperature in (long, "0"), ("T", "0.6"):
        found = write(text, "70", temperature)
        assert found.startswith(text) and len(found) == len(text) + 71 and found == write(text, "70", temperature), found
    assert write(long, "1") == long + write(long[-32:], "1")[32:]
    refused = subprocess.run(["./write", "run/best.ckpt", "é"], cwd=here, stderr=subprocess.PIPE, text=True)
    assert refused.returncode == 1 and "expected -128 to 127" in refused.stderr, refused
    print("the cache changes no character")


if __name__ == "__main__":
    main()
