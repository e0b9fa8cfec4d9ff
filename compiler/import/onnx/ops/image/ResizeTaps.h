// Where the elements of a resized dim come from.
#ifndef COMPILER_IMPORT_ONNX_OPS_IMAGE_RESIZETAPS_H
#define COMPILER_IMPORT_ONNX_OPS_IMAGE_RESIZETAPS_H

#include "dialects/Pch.h"

namespace gradc {

/// How one dim is resized.
struct DimResize {
  int64_t size, result;
  double scale;      ///< result / size, before it was rounded
  double begin, end; ///< region of interest, as fractions of the dim
};

struct Resize {
  llvm::StringRef mode, coordinates;
  llvm::StringRef nearest; ///< as nearest_mode, or "simple": up in dims that shrink, else down
  double cubicA, extrapolation;
  bool excludeOutside, antialias;
  llvm::SmallVector<DimResize> dims;

  /// The support of the kernel on each side.
  double support() const { return mode == "linear" ? 1 : 2; }
  bool crops() const { return coordinates == "tf_crop_and_resize"; }
};

/// The elements that contribute to a result, and their weights.
using Taps = llvm::SmallVector<std::pair<int64_t, double>, 4>;

/// A dim to resize.
struct ResizedDim {
  int64_t dim, size;
  llvm::SmallVector<Taps> results; ///< the terms of each result
  bool isRead = false;             ///< tap by tap, instead of a product with a matrix

  /// Whether each result is one element, as the nearest one is.
  bool isPicked() const {
    return llvm::all_of(results, [](const Taps &t) { return t.size() == 1; });
  }
  /// The number of reads for each result.
  int64_t reads() const;
  /// The elements that are the k-th taps. A result without it names one at its own place in the
  /// dim, so that no element is read by many results.
  llvm::SmallVector<int64_t> indices(size_t k) const;
};

/// The terms of result `i`; empty outside a cropped region.
Taps tapsOf(const Resize &r, const DimResize &dim, int64_t i);

} // namespace gradc

#endif
