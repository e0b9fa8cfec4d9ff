// The geometry of a sliding window, shared by convolutions and pools.
#ifndef GRAD_WINDOW
#define GRAD_WINDOW

include "dialects/grad/GradDialect.td"

def Grad_Window : AttrDef<Grad_Dialect, "Window"> {
  let mnemonic = "window";
  let summary = "the positions of a window's taps, one number per spatial dim";
  let description = [{
    The operand is first dilated, with its elements `base` apart, then padded by `low` elements before and
    `high` after it (negative: cropped). There, tap k of window o is at o * stride + k * dilation; `reversed` counts
    taps from the other end: tap k is at o * stride + (size - 1 - k) * dilation. Windows lie wholly inside the padded operand. Taps on
    gaps or padding are skipped.

    Closed under differentiation: the adjoint of a window is a window with stride and base exchanged.

    Example: `<[3, 3] stride [2, 2] low [1, 1] high [1, 1]>` (omitted fields are 1, or 0 for low and high)
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$size, ArrayRefParameter<"int64_t">:$stride,
      ArrayRefParameter<"int64_t">:$low, ArrayRefParameter<"int64_t">:$high,
      ArrayRefParameter<"int64_t">:$base, ArrayRefParameter<"int64_t">:$dilation, "bool":$reversed);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Spatial dims.
    int64_t getRank() const { return getSize().size(); }
    /// Taps of one window.
    int64_t getTaps() const;
    /// Number of windows over `inputSize` elements of dim `d`; 0 or less if none fits.
    int64_t getOutputSize(int64_t d, int64_t inputSize) const;
    /// The element of dim `d` under a tap of a window; none if the tap is on a gap or on padding.
    std::optional<int64_t> getElement(int64_t d, int64_t inputSize, int64_t window, int64_t tap) const;
    /// The window of the gradient: applied to the gradient of a result of `outputShape`, it gives the gradient of an
    /// operand of `inputShape`.
    WindowAttr getAdjoint(::llvm::ArrayRef<int64_t> inputShape, ::llvm::ArrayRef<int64_t> outputShape) const;
    /// The window over the same operand with the roles of taps and window positions exchanged: it makes the gradient of a
    /// convolution's filter a convolution. Not for reversed windows.
    WindowAttr getExchanged(::llvm::ArrayRef<int64_t> inputShape, ::llvm::ArrayRef<int64_t> outputShape) const;
  }];
}

#endif
