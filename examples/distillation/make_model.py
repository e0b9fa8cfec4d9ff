"""Makes student.onnx, a perceptron 64-8-10 for pictures of 8 x 8. gradc itself trains the teacher:

    make_model.py [OUTPUT]
    gradc train ../lenet/train.textproto --export teacher.onnx --checkpoint teacher-run
"""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
from layers import Layers
from onnx_writer import FLOAT


def main():
    layers = Layers("student")
    x = layers.add("Flatten", "flatten", [layers.model.input("x", FLOAT, ["N", 8, 8])], axis=1)
    x = layers.relu("fc1", layers.dense("fc1", x, 64, 8))
    layers.save(layers.dense("fc2", x, 8, 10), 10, sys.argv[1] if len(sys.argv) > 1 else os.path.join(HERE, "student.onnx"))


if __name__ == "__main__":
    main()
