// The geometry of a sliding window, shared by convolutions and pools.
#ifndef GRAD_WINDOW
#define GRAD_WINDOW

include "dialects/grad/GradDialect.td"

def Grad_Window : AttrDef<Grad_Dialect, "Window"> {
  let mnemonic = "window";
  let summary = "where the taps of a window fall, one number a spatial dim";
  let description = [{
    The operand is first spread out, `base` apart with nothing between, then gets `low` elements of nothing before and
    `high` after it (negative: cut off). Tap k of window o stands at o * stride + k * dilation there; `reversed` counts
    taps from the other end: tap k stands at o * stride + (size - 1 - k) * dilation. Windows lie wholly inside. Whatever stands on
    nothing takes no part.

    Closed under differentiation: the adjoint of a window is a window, its stride and base exchanged.

    Example: `<[3, 3] stride [2, 2] low [1, 1] high [1, 1]>` (what is not said is 1, 0 for low and high)
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
    /// The element of dim `d` under a tap of a window; none if the tap falls beside the operand.
    std::optional<int64_t> getElement(int64_t d, int64_t inputSize, int64_t window, int64_t tap) const;
    /// The windows that carry gradients back: over the gradient of a result of `outputShape` windows, they give that of
    /// an operand of `inputShape`.
    WindowAttr getAdjoint(::llvm::ArrayRef<int64_t> inputShape, ::llvm::ArrayRef<int64_t> outputShape) const;
    /// The windows over the same operand whose taps are these windows' positions and whose results are these windows'
    /// taps. They make the gradient of a convolution's filter a convolution. Not for reversed windows.
    WindowAttr getExchanged(::llvm::ArrayRef<int64_t> inputShape, ::llvm::ArrayRef<int64_t> outputShape) const;
  }];
}

#endif
