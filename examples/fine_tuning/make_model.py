"""Makes fresh.onnx, the network of ../lenet for five classes. pretrain.textproto turns it into pretrained.onnx:

    make_model.py [OUTPUT]
    gradc train pretrain.textproto
"""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
from layers import save_lenet


def main():
    save_lenet(5, sys.argv[1] if len(sys.argv) > 1 else os.path.join(HERE, "fresh.onnx"))


if __name__ == "__main__":
    main()
