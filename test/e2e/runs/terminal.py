"""On a terminal, the progress line is one line, whatever the terminal's width, and names with control characters do not affect it.

    terminal.py ROOT
"""
import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios

ROOT = os.path.abspath(sys.argv[1])
sys.path[:0] = [os.path.join(ROOT, "test/bars"), os.path.join(ROOT, "test")]
from bar import compile_spec, scratch, write_mlp_job

folder = scratch()
spec = write_mlp_job(folder, (6, 8, 3), 4, 6)
with open(spec, "a") as file:
    file.write("clip { global_norm: 1.0 }\n")
model = os.path.join(folder, "mlp.onnx")
with open(model, "rb") as file:
    nodes = file.read()
with open(model, "wb") as file:
    file.write(nodes.replace(b"fc1", b"f\x1b1"))
trainer = compile_spec(spec, folder)


def on_terminal(columns, **environment):
    """The output of a training on a terminal, up to three progress lines."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    training = subprocess.Popen([trainer, "--steps", "2000000000"], cwd=folder, stdout=theirs, env=os.environ | environment)
    os.close(theirs)
    said = b""
    while said.count(b"\x1b[K") < 3:
        said += os.read(ours, 4096)
    training.send_signal(signal.SIGINT)
    training.wait(60)
    os.close(ours)
    return said.decode()


for columns in (300, 80, 60, 20):
    lines = re.findall(r"\r([^\r\x1b]*)\x1b\[K", on_terminal(columns, NO_COLOR="1"))
    assert len(lines) >= 3 and all(0 < len(line) < columns for line in lines if line), (columns, lines)
    assert all(re.match(r"\[#*-*\]  [ 0-9]\d%  \d+:\d\d left  step" if columns >= 80 else r"\[#*-*\]", line)
               for line in lines if line), lines
    assert columns < 300 or "input" in lines[0], lines
    assert columns < 80 or "loss" in lines[0], lines
assert "\r\x1b[32m[" in on_terminal(100), "no colour on a terminal"

with open(spec) as file:
    text = file.read()
with open(spec, "w") as file:
    file.write(text.replace("stage { batch", 'stage { map { field: "x"  scale: 0  offset: 3.4e38 } }\n  stage { batch'))
result = subprocess.run([compile_spec(spec, folder)], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
assert result.returncode == 1 and "f?1" in result.stdout and "\x1b" not in result.stdout, result.stdout
print("terminal: lines fit")
