"""Writes the data of a job of make_job.py, x.npy and labels.npy, as an archive, as a CSV table and as idx files, with a spec for each.

    sources.py FOLDER
"""
import array
import gzip
import os
import struct
import sys
import zipfile

folder = sys.argv[1]
path = lambda name: os.path.join(folder, name)


def values(name, typecode):
    with open(path(name), "rb") as file:
        data = file.read()
    return array.array(typecode, data[10 + struct.unpack("<H", data[8:10])[0]:])


x, labels = values("x.npy", "f"), values("labels.npy", "q")
rows, width = len(labels), len(x) // len(labels)
# An archive that holds other arrays, too: texts, a number, and another number of rows.
with zipfile.ZipFile(path("archive.npz"), "w") as archive:
    for name in ("x.npy", "labels.npy"):
        archive.write(path(name), name)
    for name, descr, shape, data in (("class_names", "<U1", (3,), b"".join(c.encode("utf-32-le") for c in "abc")),
                                     ("version", "<i8", (), bytes(8)), ("x_test", "<f4", (2, width), bytes(8 * width))):
        header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
        archive.writestr(name + ".npy", b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header + data)
with open(path("table.csv"), "w", newline="") as file:
    file.write("label;name;" + ";".join(f"x{i}" for i in range(width)) + "\r\n")
    for row in range(rows):
        numbers = ";".join(repr(v) for v in x[row * width:(row + 1) * width])
        file.write(f'{labels[row]};"row ""{row}"";";{numbers}\r\n')
with gzip.open(path("x.idx.gz"), "wb") as file:
    file.write(struct.pack(f">4B2I{len(x)}f", 0, 0, 13, 2, rows, width, *x))
with open(path("labels.idx"), "wb") as file:
    file.write(struct.pack(f">4BI{rows}B", 0, 0, 8, 1, rows, *labels))

SOURCES = {
    "npz": 'npz { path: "archive.npz"  ROWS }',
    "npy": 'npy { field { name: "x"  path: "x.npy" } field { name: "labels"  path: "labels.npy" } ROWS }',
    "csv": '''csv { path: "table.csv"  delimiter: ";"  field { name: "x"  column: "x*" }
            field { name: "labels"  column: "label"  dtype: I64 } ROWS }''',
    "idx": 'idx { field { name: "x"  path: "x.idx.gz" } field { name: "labels"  path: "labels.idx" } ROWS }',
}
with open(path("mlp.textproto")) as file:
    before, _, rest = file.read().partition("source {")
after = rest[rest.index("\n"):]
for name, source in SOURCES.items():
    with open(path(name + ".textproto"), "w") as file:
        source = source.replace("ROWS", "rows { every: 4  except: 1 }")
        cast = 'stage { map { field: "labels"  cast: I64 } }' if name == "idx" else ""
        file.write(f"{before}source {{ {source} }} {cast}{after}")
