"""Passes, code generation, tuning and verification ask interfaces: a file that names a tensor op of the grad dialect is listed here with its
reason. They also do not read attributes of ops by a string, except those that phases pass to each other. Prints every violation, and exits
with 1 if there is any.

    op_names.py ROOT
"""
import os
import re
import sys

FOLDERS = ("passes", "compiler/codegen", "compiler/tune", "compiler/verify")
# Ops of programs, not of tensors: state, requests, constants, views, control flow, sums over ranks and transfers between them.
STRUCTURAL = {"StateOp", "ReadOp", "WriteOp", "GradientOp", "OptimizationBarrierOp", "ConstantOp", "ReshapeOp", "IfOp", "ScanOp", "YieldOp",
              "AllReduceOp", "SendOp", "ReceiveOp"}
REASONS = {
    "passes/RaiseComposites.cpp": "roots of rows are repeated by broadcasts",
    "passes/raise/Match.cpp": "means and polynomials are algebra of ops",
    "passes/raise/Activations.cpp": "the ops that exporters write activations with",
    "passes/raise/Normalization.cpp": "the ops that exporters write normalizations with",
    "passes/raise/Rotary.cpp": "the ops that exporters write rotary positions with",
    "passes/raise/Dequantized.cpp": "the ops that exporters write quantized tensors with",
    "passes/raise/ConstantCodes.cpp": "what moves and converts a constant",
    "passes/raise/Codes.cpp": "the ops that exporters write around codes",
    "passes/raise/QuantizedProduct.cpp": "moves and pads the codes of quantized tensors",
    "passes/FormAttention.cpp": "the ops that exporters write an attention with",
    "passes/BindRows.cpp": "gives each count of rows its value",
    "passes/entry/Coupling.cpp": "a count of rows depends on all of them",
    "passes/entry/Extents.cpp": "a count of rows has no loops before it has its value",
    "passes/distribution/RowSums.cpp": "what stays a sum is the algebra of ops",
    "passes/distribution/ShardPlan.cpp": "a slice holds sizes, a broadcast repeats, and ranks add up terms of sums",
    "passes/ReadStored.cpp": "casts for storage are what it reads past",
    "passes/SkipRoundings.cpp": "casts for storage are what it removes",
    "passes/graph/StorageCasts.h": "casts for storage are what it finds",
    "passes/kernel/Clusters.cpp": "a rounding for storage stands with what it rounds",
    "passes/distribution/MicroBatches.cpp": "a count of rows is the same in each part",
    "passes/RetypeF64.cpp": "the bits of a float are those of its own type, and its roundings end",
    "passes/SimplifyAlgebra.cpp": "identities of algebra are about ops",
    "passes/HoistFromScans.cpp": "the law of distribution is about sums and products",
    "passes/ReassociateSums.cpp": "the law of distribution is about sums and products",
    "passes/schedule/CutSums.cpp": "a sum of sums is a sum",
    "passes/MoveTransposes.cpp": "moves transposes, and broadcasts with them",
    "passes/OrderStates.cpp": "looks for transposes of states",
    "passes/graph/TransposedOperands.cpp": "looks for transposes of operands",
    "passes/kernel/PadSums.cpp": "the one op that is a load under a mask in the kernel of its sum",
    "passes/kernel/Scatters.cpp": "the one op whose updates have to be found for their targets",
    "passes/kernel/LibraryForm.cpp": "a library's own vocabulary: bias, ReLU, GELU",
    "passes/layout/ScatterSums.cpp": "the one op whose updates have to be found for their targets",
    "passes/FlattenIndices.cpp": "the one op whose updates have to be found for their targets",
    "passes/schedule/SortKernel.cpp": "the one op whose kernel sorts",
    "passes/schedule/SuppressionKernel.cpp": "the one op whose kernel suppresses boxes",
    "passes/schedule/CumulativeKernel.cpp": "the one op whose kernel accumulates",
    "passes/schedule/FourierKernel.cpp": "the one op whose kernel transforms",
    "passes/schedule/PositionsKernel.cpp": "the one op whose kernel finds what is true",
    "passes/SplitRows.cpp": "a matrix product is the form in which rows come merged",
    "passes/kernel/MergedDims.cpp": "a broadcast repeats along dims, and bits are drawn by position",
    "passes/DecomposeComposites.cpp": "what a target takes whole",
}
NAMED = re.compile(r"\b(?:isa|cast|dyn_cast|isa_and_nonnull|dyn_cast_or_null|dyn_cast_if_present|getDefiningOp|getOps|"
                   r"getParentOfType|OpRewritePattern|Case|walk)(?:<([^;()]*?)>|\(\[[^\]]*\]\((\w+Op)\b)")
QUALIFIED = re.compile(r"\b(?!(?:mlir|grad)::)\w+::\w+|\b(?:mlir::)?grad::")  # another dialect's op; our own's prefix
BY_STRING = re.compile(r"(?:->|\.)(?:getAttrOfType<[^;()]*>|getAttr|hasAttr)\(\s*\"([^\"]*)\"")


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8") as file:
        return file.read()


def files_under(root, top, endings):
    for folder, _, names in os.walk(os.path.join(root, top)):
        for name in sorted(names):
            if name.endswith(endings):
                yield os.path.relpath(os.path.join(folder, name), root)


def grad_ops(root):
    ops = set()
    for path in files_under(root, "dialects/grad", (".td",)):
        ops.update(re.findall(r"^def Grad_(\w+Op)\b", read(root, path), re.M))
    return ops - STRUCTURAL


def line_of(text, position):
    return text.count("\n", 0, position) + 1


def violations(root):
    ops, naming = grad_ops(root), set()
    for top in FOLDERS:
        for path in files_under(root, top, (".h", ".cpp")):
            text = read(root, path)
            for match in NAMED.finditer(text):
                named = ops.intersection(QUALIFIED.sub("", match[1] or match[2]).replace(",", " ").split())
                if named:
                    naming.add(path)
                if named and path not in REASONS:
                    yield f"{path}:{line_of(text, match.start())}: names {', '.join(sorted(named))}; ask an interface"
            for match in BY_STRING.finditer(text):
                if "." not in match[1]:  # "grad.clip": what one phase tells another
                    yield f"{path}:{line_of(text, match.start())}: reads attribute \"{match[1]}\"; ask an interface"
    for path in sorted(set(REASONS) - naming):
        yield f"{path}: is listed in op_names.py, but names no op"


def main():
    found = list(violations(sys.argv[1]))
    print("\n".join(found) or "passes ask interfaces")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
