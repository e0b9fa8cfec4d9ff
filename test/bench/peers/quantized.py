"""Quantizes networks to 8 bits with ONNX Runtime's tools."""
import logging
import os

from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_dynamic, quantize_static
from onnxruntime.quantization.shape_inference import quant_pre_process


class Once(CalibrationDataReader):
    """Ranges of activations are those of one batch."""

    def __init__(self, given):
        self.batches = iter([given])

    def get_next(self):
        return next(self.batches, None)


def quantize(path, folder, given, form):
    """Writes the network with signed weights: `static`, activations of fixed ranges, or `dynamic`; or `unsigned` ones, and fixed ranges.
    Returns its path."""
    logging.disable(logging.WARNING)
    prepared, result = os.path.join(folder, "prepared.onnx"), os.path.join(folder, f"{form}.onnx")
    quant_pre_process(path, prepared, skip_symbolic_shape=True)
    if form == "dynamic":
        quantize_dynamic(prepared, result, weight_type=QuantType.QInt8)
    else:
        weights = QuantType.QUInt8 if form == "unsigned" else QuantType.QInt8
        quantize_static(prepared, result, Once(given), quant_format=QuantFormat.QDQ, activation_type=QuantType.QUInt8, weight_type=weights,
                        per_channel=form == "static")
    return result
