"""Makes lenet.onnx: two convolutions, each followed by a pool, and two dense layers, for pictures of 8 x 8.

    make_model.py [OUTPUT]
"""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
from layers import save_lenet


def main():
    save_lenet(10, sys.argv[1] if len(sys.argv) > 1 else os.path.join(HERE, "lenet.onnx"))


if __name__ == "__main__":
    main()
