"""Tensors of strings: stopwords are removed from a list, letters change their case like in Python, strings are compared. From .npy of
numpy's types S and U and from TensorProto, compiled and evaluated, for a model and for an artifact; strings that cannot be handled
correctly are errors of the run.

    strings.py
"""
import os
import struct
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from case import expect, path
from bar import gradc, program
from onnx_writer import BOOL, STRING, Model, message

WORDS = ["Monday", "Étage", "ΑΘΗΝΑ", "Москва", "straße", "naïve", "日本語Ab", "ệ", "x😀Y", ""]


def write_strings(name, strings, kind, shape=None):
    """A .npy of type S (bytes in UTF-8), U, or big-endian U; or a TensorProto."""
    data = [string if isinstance(string, bytes) else string.encode() for string in strings]
    shape = shape or (len(strings),)
    if kind == "pb":
        content = message((1, list(shape)), (2, STRING), (6, data))
    else:
        codes = [[ord(letter) for letter in string] for string in strings] if kind != "S" else []
        width = max([1, *map(len, codes or data)])
        order = ">" if kind == ">U" else "<"
        header = f"{{'descr': '{'|' if kind == 'S' else order}{kind[-1]}{width}', 'fortran_order': False, 'shape': {tuple(shape)}, }}"
        content = b"\x93NUMPY\x01\x00" + struct.pack("<H", 118) + header.ljust(117).encode() + b"\n"
        content += b"".join(one.ljust(width, b"\0") for one in data) if kind == "S" else b"".join(
            struct.pack(f"{order}{width}I", *code, *[0] * (width - len(code))) for code in codes)
    with open(path(name), "wb") as file:
        file.write(content)
    return f"x={path(name)}"


def read_strings(name):
    with open(path(f"out/{name}.npy"), "rb") as file:
        data = file.read()
    end = 10 + struct.unpack("<H", data[8:10])[0]
    header = eval(data[10:end])  # a dictionary of literals
    width = int(header["descr"].removeprefix("|S"))
    count = 1
    for size in header["shape"]:
        count *= size
    return list(header["shape"]), [data[end + i * width:end + (i + 1) * width].rstrip(b"\0").decode() for i in range(count)]


def normalizer(name, shape=("N",), **attributes):
    model = Model("normalizer", opset=10)
    model.output(model.node("StringNormalizer", [model.input("x", STRING, list(shape))], ["y"], "normalize", **attributes), STRING,
                 [None] * len(shape))
    model.save(path(name))
    return path(name)


def refused(what, code, said, *command):
    done = subprocess.run([program("gradc"), *command], capture_output=True, text=True)
    expect(f"{what}: exit code {done.returncode}, {done.stderr}", done.returncode == code and said in done.stderr)


def check_cases():
    """Every kind of input, and every way to compute."""
    words = [word for word in WORDS if word != "straße"]  # whose upper case has another letter more
    for action, change in ("LOWER", str.lower), ("UPPER", str.upper), ("NONE", str):
        model = normalizer(f"{action}.onnx", case_change_action=action, is_case_sensitive=1)
        for kind in "S", "U", ">U", "pb":
            for more in [], ["--reference"]:
                gradc("run", model, "--input", write_strings("words." + kind.replace(">U", "be") + (".pb" if kind == "pb" else ".npy"), words, kind),
                      "--output-dir", path("out"), *more)
                shape, found = read_strings("y")
                expect(f"{action} of {kind}: {found}", found == [change(word) for word in words] and shape == [len(words)])


def check_stopwords():
    words = ["the", "Cat", "THE", "hat", "cat", "théâtre", "THÉÂTRE"]
    stop = ["the", "THÉÂTRE"]
    for sensitive in 0, 1:
        for action, change in ("NONE", str), ("LOWER", str.lower):
            same = str if sensitive else str.lower
            left = [change(word) for word in words if same(word) not in [same(one) for one in stop]]
            model = normalizer("stop.onnx", (1, "N"), case_change_action=action, is_case_sensitive=sensitive, stopwords=stop, locale="en_US")
            gradc("run", model, "--input", write_strings("x.npy", words, "U", (1, len(words))), "--output-dir", path("out"))
            expect(f"stopwords {sensitive} {action}", read_strings("y") == ([1, len(left)], left))
    gradc("run", model, "--input", write_strings("x.npy", ["THÉÂTRE", "THÉÂTRE"], "S", (1, 2)), "--output-dir", path("out"))
    expect("nothing left", read_strings("y") == ([1, 1], [""]))
    # An artifact, and strings that are longer than usual.
    gradc("compile", model, "--shape", "x=1x3", "--string-bytes", "100", "--emit=so", "-o", path("stop.so"))
    gradc("run", path("stop.so"), "--input", write_strings("x.npy", ["a" * 100, "the", "b"], "S", (1, 3)), "--output-dir", path("out"))
    expect("artifact", read_strings("y") == ([1, 2], ["a" * 100, "b"]))


def check_equal():
    model = Model("equal", opset=19)
    x, y = model.input("x", STRING, [3, 1]), model.input("y", STRING, [2])
    same = model.node("Identity", [x], ["same"], "copy")
    model.output(model.node("Equal", [same, y], ["equal"], "equal"), BOOL, [3, 2])
    model.save(path("equal.onnx"))
    given = [write_strings("x.npy", ["a", "ab", "ä"], "U", (3, 1)), write_strings("y.npy", ["ab", "ä"], "S").replace("x=", "y=", 1)]
    gradc("run", path("equal.onnx"), "--input", given[0], "--input", given[1], "--output-dir", path("out"))
    with open(path("out/equal.npy"), "rb") as file:
        expect("equal", list(file.read()[-6:]) == [0, 0, 1, 0, 0, 1])


def check_refusals():
    upper = normalizer("upper.onnx", case_change_action="UPPER")
    message = 'node "normalize" cannot change the case of a string: it is not UTF-8, or the other case of a letter takes another number of bytes'
    for wrong in ["straße", "\ufb01x", "ı", b"\xff", b"a\xc3", b"\x80", b"\xe0\x80\x81", "\U00010428"]:
        kind = "S" if isinstance(wrong, bytes) else "U"
        for more in [], ["--reference"]:
            refused(str(wrong), 1, message, "run", upper, "--input", write_strings("x.npy", ["good", wrong], kind), *more)
    refused("too long", 3, 'input "x": found a string of 70 bytes, expected at most 64; compile with --string-bytes 70', "run", upper, "--input",
            write_strings("x.npy", ["é" * 35], "U"))
    refused("a zero", 3, "expected strings without zero bytes", "run", upper, "--input", write_strings("x.pb", ["a\0b"], "pb"))
    refused("no character", 3, "string 1 is not one of Unicode's characters without zeros", "run", upper, "--input",
            surrogate())
    for attributes, said in [({"locale": "tr_TR", "case_change_action": "LOWER"}, 'with the letters of locale "tr_TR" is not supported'),
                             ({"case_change_action": "TITLE"}, "expected case_change_action NONE, LOWER or UPPER"),
                             ({"case_change_action": "UPPER", "stopwords": ["ß"]}, "cannot change the case of a stopword")]:
        refused(said, 3, said, "check", normalizer("wrong.onnx", **attributes), "--shape", "x=4")
    refused("shape", 3, 'expected strings of shape [C] or [1, C], found operand 0 ("x", string [2, 3])', "check",
            normalizer("wrong.onnx", (2, 3)))
    model = Model("concat")
    x = model.input("x", STRING, [3])
    model.output(model.node("Concat", [x, x], ["y"], "concat", axis=0), STRING, [6])
    model.save(path("concat.onnx"))
    refused("other ops", 3, 'Concat cannot take strings, found operand 0 ("x", string [3])', "check", path("concat.onnx"))


def surrogate():
    given = write_strings("x.npy", ["a", "b"], "U")
    with open(path("x.npy"), "r+b") as file:
        file.seek(-4, os.SEEK_END)
        file.write(struct.pack("<I", 0xd800))
    return given


def main():
    check_cases()
    check_stopwords()
    check_equal()
    check_refusals()
    print("strings: as they should be")


if __name__ == "__main__":
    main()
