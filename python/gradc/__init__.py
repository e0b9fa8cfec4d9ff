"""gradc: compiles an ONNX model and a training spec ahead of time, and trains and runs the result from numpy arrays.

    model = gradc.compile("mlp.onnx", spec)          # a spec as a file or as text
    with model.session() as session:
        for images, labels in batches:
            step = session.step({"images": images, "labels": labels})
        scores = session.predict(images)
"""
from gradc._compile import CompileError, compile
from gradc._interface import Error, empty
from gradc._model import Model, Session, Step
from gradc._torch import from_torch
from gradc._train import Report, Trained, train

__version__ = "0.1.0"
__all__ = ["CompileError", "Error", "Model", "Report", "Session", "Step", "Trained", "compile", "empty", "from_torch", "train"]
