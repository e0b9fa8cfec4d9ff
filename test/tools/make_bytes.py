"""Makes a job of make_job.py's whose data file and whose first weight have names that are not UTF-8: bytes.textproto.

    make_bytes.py FOLDER
"""
import os
import shutil
import sys

os.chdir(sys.argv[1])
shutil.copy(b"x.npy", b"x\xff.npy")
with open("mlp.onnx", "rb") as model, open("bytes.onnx", "wb") as changed:
    changed.write(model.read().replace(b"fc1.weight", b"fc1.w\xffight"))
with open("mlp.textproto") as spec, open("bytes.textproto", "w") as changed:
    changed.write(spec.read().replace("mlp.onnx", "bytes.onnx").replace("x.npy", "x\\377.npy"))
