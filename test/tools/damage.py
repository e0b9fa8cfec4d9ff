"""Damages each file of a folder: in the first half of the files, one byte changes; the others are truncated in the middle.

    damage.py FOLDER
"""
import os
import sys

folder, = sys.argv[1:]
paths = sorted(os.path.join(folder, name) for name in os.listdir(folder))
for i, path in enumerate(paths):
    with open(path, "rb") as file:
        content = bytearray(file.read())
    if i < len(paths) // 2 and content:
        content[len(content) // 2] ^= 1
    else:
        del content[len(content) // 2:]
    with open(path, "wb") as file:
        file.write(content)
