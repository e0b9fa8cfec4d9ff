// Losses, one value per sample; the training spec takes their mean.
#ifndef GRAD_LOSS
#define GRAD_LOSS

include "dialects/grad/GradDialect.td"

def Grad_SoftmaxCrossEntropyOp : Grad_CompositeOp<"softmax_cross_entropy", [Grad_InferTypes], ["getFlops"]> {
  let summary = "loss[n] = logsumexp(logits[n, :]) - logits[n, labels[n]]";
  let description = [{
    Logits [N, C]; labels are integer classes [N], whose range the input pipeline checks, or a
    float distribution [N, C] (one-hot included): loss[n] = sum over c of labels[n, c] (logsumexp - logits[n, c]).
    A distribution has a gradient as well: logsumexp - logits.
    C1: logits have rank 2 and at least one class. C2: labels have one of the two shapes; float labels have the logits' element type.
  }];
  let arguments = (ins Grad_FloatTensor:$logits, Grad_NumberTensor:$labels);
  let results = (outs Grad_FloatTensor:$result);
  let extraClassDeclaration = Grad_HighPrecision<>.declaration;
  let assemblyFormat = "$logits `,` $labels attr-dict `:` type($logits) `,` type($labels)";
}

def Grad_SoftmaxCrossEntropyGradOp : Grad_CompositeOp<"softmax_cross_entropy_grad",
    [AllTypesMatch<["logits", "result"]>], ["getFlops"]> {
  let summary = "the gradient of softmax_cross_entropy: (softmax(logits) sum(labels) - labels) gradient[n]";
  let description = "Logits, labels and constraints as softmax_cross_entropy; C3: gradient is [N].";
  let arguments = (ins Grad_FloatTensor:$logits, Grad_NumberTensor:$labels, Grad_FloatTensor:$gradient);
  let results = (outs Grad_FloatTensor:$result);
  let extraClassDeclaration = Grad_HighPrecision<>.declaration;
  let assemblyFormat = [{
    $logits `,` $labels `,` $gradient attr-dict `:` type($logits) `,` type($labels) `,` type($gradient)
  }];
  let hasVerifier = 1;
}

def Grad_BinaryCrossEntropyOp : Grad_CompositeOp<"binary_cross_entropy", [SameOperandsAndResultType, Grad_Pointwise]> {
  let summary = "loss = max(x, 0) - x y + ln(1 + e^-|x|) of a logit x and a target y, elementwise";
  let arguments = (ins Grad_FloatTensor:$logits, Grad_FloatTensor:$targets);
  let results = (outs Grad_FloatTensor:$result);
  let extraClassDeclaration = Grad_HighPrecision<>.declaration;
  let assemblyFormat = "$logits `,` $targets attr-dict `:` type($logits)";
}

def Grad_SquaredErrorOp : Grad_CompositeOp<"squared_error", [SameOperandsAndResultType, Grad_Pointwise]> {
  let summary = "loss = (x - y)^2, elementwise";
  let arguments = (ins Grad_FloatTensor:$predictions, Grad_FloatTensor:$targets);
  let results = (outs Grad_FloatTensor:$result);
  let extraClassDeclaration = Grad_HighPrecision<>.declaration;
  let assemblyFormat = "$predictions `,` $targets attr-dict `:` type($predictions)";
}

#endif
