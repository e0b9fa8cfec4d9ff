"""Counts the instructions in the innermost loops around an instruction, most frequent first: one line per loop.

    inner_loop.py FILE.s INSTRUCTION
"""
import re
import sys

file, instruction = sys.argv[1:]
with open(file) as text:
    blocks = re.split(r"^(\.?\w+):.*$", text.read(), flags=re.MULTILINE)
loops = []
for label, body in zip(blocks[1::2], blocks[2::2]):
    # A block that jumps back to itself.
    body, jumps, _ = body.partition(f"\t{label}\n")
    if not jumps or instruction not in body:
        continue
    registers = len(re.findall(rf"{instruction}\s.*%zmm\d+$", body, re.MULTILINE))
    broadcasts = len(re.findall(r"broadcast|\{1to16\}", body))
    loops.append((registers, f"{registers} {instruction} to zmm, {broadcasts} broadcasts, {body.count('%rsp')} spills"))
for _, line in sorted(loops, reverse=True):
    print(line)
