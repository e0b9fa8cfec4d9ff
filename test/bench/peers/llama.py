"""A language model of Llama's kind whose weights have 4 bits, as onnxruntime-genai writes them: one token, after others whose keys and
values are in the cache."""
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

WIDTH, INNER, LAYERS, HEADS, KEY_HEADS, TOKENS, PAST, BLOCK = 2048, 5632, 4, 32, 4, 32000, 256, 32
SIZE = WIDTH // HEADS
CONTRIB = "com.microsoft"


class Llama:
    def __init__(self, accuracy):
        self.accuracy = accuracy  # of MatMulNBits: 4 permits 8-bit activations, 0 does not
        self.random = np.random.default_rng(0)
        self.nodes, self.constants, self.given, self.inputs, self.outputs = [], {}, {}, [], []

    def node(self, op, inputs, outputs, domain="", **attributes):
        self.nodes.append(helper.make_node(op, inputs, outputs, domain=domain, **attributes))

    def input(self, name, value):
        self.given[name] = value
        self.inputs.append(helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape))
        return name

    def output(self, name, shape):
        self.outputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, shape))

    def product(self, x, name, columns, steps):
        self.constants[f"{name}.codes"] = self.random.integers(0, 256, (columns, steps // BLOCK, BLOCK // 2), np.uint8)
        self.constants[f"{name}.scales"] = (self.random.random(columns * steps // BLOCK, np.float32) + 0.1) * np.float32(0.002)
        self.node("MatMulNBits", [x, f"{name}.codes", f"{name}.scales"], [name], CONTRIB, K=steps, N=columns, bits=4, block_size=BLOCK,
                  accuracy_level=self.accuracy)
        return name

    def attention(self, x, layer):
        past = [self.input(f"{layer}.past_{kind}", self.random.standard_normal((1, KEY_HEADS, PAST, SIZE), np.float32)) for kind in ("key", "value")]
        present = [f"{layer}.key", f"{layer}.value"]
        for name in present:
            self.output(name, (1, KEY_HEADS, PAST + 1, SIZE))
        parts = [self.product(x, f"{layer}.{part}", heads * SIZE, WIDTH) for part, heads in (("q", HEADS), ("k", KEY_HEADS), ("v", KEY_HEADS))]
        self.node("GroupQueryAttention", [*parts, *past, "last", "total", "cosines", "sines"], [f"{layer}.attention", *present], CONTRIB,
                  num_heads=HEADS, kv_num_heads=KEY_HEADS, do_rotary=1)
        return self.product(f"{layer}.attention", f"{layer}.o", WIDTH, WIDTH)

    def perceptron(self, x, layer):
        gate, up = (self.product(x, f"{layer}.{part}", INNER, WIDTH) for part in ("gate", "up"))
        self.node("Sigmoid", [gate], [f"{layer}.sigmoid"])
        self.node("Mul", [gate, f"{layer}.sigmoid"], [f"{layer}.silu"])
        self.node("Mul", [f"{layer}.silu", up], [f"{layer}.inner"])
        return self.product(f"{layer}.inner", f"{layer}.down", WIDTH, INNER)

    def normalized_sum(self, x, added):
        """The sum, normalized, and the sum."""
        self.node("SkipSimplifiedLayerNormalization", [x, added, "ones"], [f"{added}.normalized", "", "", f"{added}.sum"], CONTRIB, epsilon=1e-5)
        return f"{added}.normalized", f"{added}.sum"

    def export(self, path):
        """Writes the model; returns its inputs."""
        angles = np.arange(PAST + 1)[:, None] / 10000 ** (np.arange(SIZE // 2) / (SIZE // 2))
        self.constants |= {"table": self.random.standard_normal((TOKENS, WIDTH), np.float32), "ones": np.ones(WIDTH, np.float32),
                           "cosines": np.cos(angles).astype(np.float32), "sines": np.sin(angles).astype(np.float32),
                           "last": np.array([PAST], np.int32), "total": np.array(PAST + 1, np.int32)}
        self.output("logits", (1, 1, TOKENS))
        self.node("Gather", ["table", self.input("token", np.array([[7]]))], ["embedding"])
        self.node("SimplifiedLayerNormalization", ["embedding", "ones"], ["normalized"], axis=-1, epsilon=1e-5)
        x, total = "normalized", "embedding"
        for layer in range(LAYERS):
            x, total = self.normalized_sum(total, self.attention(x, f"layer{layer}"))
            x, total = self.normalized_sum(total, self.perceptron(x, f"layer{layer}"))
        self.product(x, "logits", TOKENS, WIDTH)
        constants = [numpy_helper.from_array(value, name) for name, value in self.constants.items()]
        graph = helper.make_graph(self.nodes, "llama", self.inputs, self.outputs, constants)
        opsets = [helper.make_opsetid("", 18), helper.make_opsetid(CONTRIB, 1)]
        onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=9), path)
        return self.given
