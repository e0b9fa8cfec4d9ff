"""Several processes mix the rows of a batch as one process does, also across their borders.

    ranks_mix.py ROOT
"""
import os
import sys

ROOT = os.path.abspath(sys.argv[1])
sys.path[:0] = [os.path.join(ROOT, "test/bars")]
from bar import compile_spec, scratch
from rank_runs import logs_of_ranks, losses, write_spec

folder = scratch()
spec = write_spec(folder, "stall_seconds: 3")
with open(spec) as file:
    text = file.read()
stage = text.index("stage { map {")
text = text[:stage] + 'stage { map { field: "labels"  one_hot { classes: 10 } } }\n  ' + text[stage:]
end = text.index("\n", text.index("stage { batch"))
with open(spec, "w") as file:
    file.write(text[:end] + '\n  stage { mix { field: "images"  label: "labels"  mixup { alpha: 0.4 } cutmix {} } }' + text[end:])
found = [losses(log) for log in logs_of_ranks(compile_spec(spec, folder), folder, steps=50)]
worst = max(abs(a - b) / b for other in found[1:] for a, b in zip(found[0], other, strict=True))
assert len(found[0]) == 50 and worst <= 1e-5, (worst, found)
print(f"mixed batches: 1, 2 and 3 ranks within {worst:.1e}")
