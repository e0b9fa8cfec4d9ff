"""Several processes share the rows of each data set of an evaluation.

    ranks_sets.py ROOT
"""
import os
import sys

ROOT = os.path.abspath(sys.argv[1])
sys.path[:0] = [os.path.join(ROOT, "test/bars")]
from bar import compile_spec, events, scratch
from rank_runs import logs_of_ranks, write_spec

folder = scratch()
spec = write_spec(folder, "stall_seconds: 3")
with open(spec) as file:
    text = file.read()
begin = text.index("evaluation {")
first = text.index("data {", begin)
data = text[first:text.index("\n}\n", begin)]
far = data.replace("every: 5  only: 0", "every: 7  only: 3").replace("size: 60", "size: 50")
with open(spec, "w") as file:
    file.write(text[:first] + f'set {{ name: "far"  {far} }}\n' + text[first:])
found = [[events(log, "eval")[-1][key] for key in ("loss", "accuracy", "far/loss", "far/accuracy")]
         for log in logs_of_ranks(compile_spec(spec, folder), folder, steps=50)]
worst = max(abs(a - b) for other in found[1:] for a, b in zip(found[0], other))
assert worst <= 1e-4, found
print(f"sets of an evaluation: 1, 2 and 3 ranks within {worst:.1e}")
