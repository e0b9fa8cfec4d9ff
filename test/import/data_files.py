"""Files of data for the importer's tests: ten rows of four numbers and a label in each format, and files that are refused."""
import gzip
import os
import struct
import zipfile

from onnx_writer import DOUBLE, FLOAT, INT64, raw


def npy(dtype, dims, data, fortran=False):
    header = f"{{'descr': '{dtype}', 'fortran_order': {fortran}, 'shape': {tuple(dims)}, }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data


def archive(path, compression=zipfile.ZIP_STORED, **arrays):
    with zipfile.ZipFile(path, "w", compression) as out:
        for name, data in arrays.items():
            out.writestr(name + ".npy", data)


def write_data(folder):
    at = lambda name: os.path.join(folder, name)
    write = lambda name, data: open(at(name), "wb").write(data)
    numbers = npy("<f4", [10, 4], raw(FLOAT, [0.1 * i for i in range(40)]))
    labels = npy("<i8", [10], raw(INT64, [i % 3 for i in range(10)]))
    archive(at("data.npz"), x=numbers, labels=labels)
    images = npy("<f4", [10, 1, 4, 4], raw(FLOAT, [0.1 * ((i * 13) % 17) for i in range(160)]))
    archive(at("images.npz"), image=images, labels=labels)
    archive(at("deflated.npz"), zipfile.ZIP_DEFLATED, x=numbers, labels=labels)
    archive(at("doubles.npz"), x=npy("<f8", [10, 4], raw(DOUBLE, [0.0] * 40)), labels=labels)
    archive(at("narrow.npz"), x=npy("<f4", [10, 3], raw(FLOAT, [0.0] * 30)), labels=labels)
    archive(at("uneven.npz"), x=numbers, labels=npy("<i8", [9], raw(INT64, [0] * 9)))
    archive(at("fortran.npz"), x=npy("<f4", [10, 4], raw(FLOAT, [0.0] * 40), fortran=True), labels=labels)
    archive(at("big-endian.npz"), x=npy(">f4", [10, 4], bytes(160)), labels=labels)
    archive(at("one-hot.npz"), x=numbers, labels=npy("<f4", [10, 3], raw(FLOAT, [1.0, 0.0, 0.0] * 10)))
    archive(at("masks.npz"), x=numbers, classes=npy("<i8", [10, 2, 5], raw(INT64, [i % 3 for i in range(100)])),
            channel=npy("<i8", [10, 1, 2, 5], raw(INT64, [i % 2 for i in range(100)])))
    archive(at("label-masks.npz"), x=numbers, labels=npy("<f4", [10, 3, 2, 5], raw(FLOAT, [i % 2 for i in range(300)])),
            last=npy("<f4", [10, 2, 5, 3], raw(FLOAT, [i % 2 for i in range(300)])),
            channel=npy("<f4", [10, 1, 2, 5], raw(FLOAT, [i % 2 for i in range(100)])))
    archive(at("binary.npz"), x=numbers, labels=labels)
    archive(at("odd-labels.npz"), x=numbers, labels=npy("<i8", [10, 2], raw(INT64, [0] * 20)))
    archive(at("empty.npz"), x=npy("<f4", [0, 4], b""), labels=npy("<i8", [0], b""))

    # The same as a table: cells that hold delimiters, quotes and line ends, an empty line, and a byte order mark.
    rows = [f'{i * .4},{i * .4 + .1},{i * .4 + .2},{i * .4 + .3},{i % 3},"a ""note"",\nin two lines"\r\n' for i in range(10)]
    write("table.csv", ("\ufeffp0,p1,p2,p3,\"labels\",note\r\n" + "".join(rows) + "\r\n").encode())
    write("twice.csv", b"p0,p0,labels\n1,2,0\n")

    # And as MNIST's files.
    write("x.idx.gz", gzip.compress(bytes([0, 0, 13, 2]) + struct.pack(">2I40f", 10, 4, *[0.1 * i for i in range(40)])))
    write("labels.idx", bytes([0, 0, 8, 1]) + struct.pack(">I", 10) + bytes(i % 3 for i in range(10)))
    write("short.idx", bytes([0, 0, 8, 1]) + struct.pack(">I", 10) + bytes(9))
    write("x.npy", numbers)
    write("labels.npy", labels)
    with open(at("data.npz"), "rb") as file:
        write("truncated.npz", file.read()[:300])
