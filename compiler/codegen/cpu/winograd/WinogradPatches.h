// The common part of Winograd's convolutions: patches of pictures, transformed for blocks of
// windows.
#ifndef COMPILER_CODEGEN_CPU_WINOGRAD_WINOGRADPATCHES_H
#define COMPILER_CODEGEN_CPU_WINOGRAD_WINOGRADPATCHES_H

#include "compiler/codegen/cpu/winograd/WinogradTransform.h"

namespace gradc::cpu::winograd {

/// A thread's scratch memory, allocated piece by piece.
struct ScratchMemory {
  mlir::Value base;
  int64_t used = 0; ///< bytes
};

/// for (i = 0; i < count; i++), without carried values.
void forAll(tile::LoopNest &nest, int64_t count, llvm::function_ref<void(tile::LinearExpr)> body);
void forAll(tile::LoopNest &nest, mlir::Value count,
            llvm::function_ref<void(tile::LinearExpr)> body);
/// One register of channels from `first` on.
tile::LinearExpr lanesFrom(tile::LinearExpr first);

/// [slots][rows][channels], with slots `winogradSlotElements` apart.
struct Scratch {
  Scratch(tile::LoopNest &nest, ScratchMemory &from, int64_t slots, int64_t rows, int64_t channels);
  tile::Point at(const tile::LinearExpr &slot, const tile::LinearExpr &row,
                 const tile::LinearExpr &channel) const;

  tile::Memory memory;
  int64_t channels, lanes;
};

/// The input of a convolution over two dims, possibly padded.
struct Picture {
  mlir::Value padded, inside; // with and without its padding
  int64_t low[2] = {0, 0};    // padding before the first row and column
  bool isPadded = false;
};
std::optional<Picture> pictureOf(mlir::linalg::GenericOp convolution);

/// The kernel's contraction if its result has four dims, two of them spatial; else null.
mlir::linalg::GenericOp convolutionOf(mlir::exec::KernelOp kernel);
/// Rows of a register tile with this many vectors.
int64_t tileRows(const tile::LoopNest &nest, int64_t vectors);

/// A block of windows, each of which has `outputs` by `outputs` results: `columns` along each of
/// `lines` rows, of `batch` pictures; its corner in windows.
struct WindowBlock {
  int64_t columns, batch;
  tile::LinearExpr row, column, picture;
  mlir::Value pictures = {}; // of `batch`, in this run; null: all
  int64_t lines = 1;
  mlir::Value linesLeft = {}; // of `lines`, at the lower edge of a picture; null: all

  /// The number of its pictures, given that the run has `all` pictures.
  mlir::Value picturesOf(tile::LoopNest &nest, mlir::Value all) const;
  /// Whether the number of its windows is only known at run time.
  bool varies() const { return pictures || linesLeft; }
  /// The windows of this run are rows of scratch memory, without gaps: the row of a window, and
  /// their number.
  tile::LinearExpr rowOf(tile::LoopNest &nest, const tile::LinearExpr &line,
                         const tile::LinearExpr &column, const tile::LinearExpr &picture) const;
  mlir::Value rowCount(tile::LoopNest &nest) const;
};

/// Visits the blocks of `size` pictures or, if `perRow` is not 0, of `perRow` pictures per row of
/// the run.
void forBlocks(tile::LoopNest &nest, int64_t size, int64_t perRow, WindowBlock &block,
               llvm::function_ref<void()> body);
/// for (l = 0; l < the block's lines; l++) for (c = 0; c < the block's columns; c++).
void forWindows(tile::LoopNest &nest, const WindowBlock &block,
                llvm::function_ref<void(tile::LinearExpr line, tile::LinearExpr column)> body);
/// for (n = 0; n < the block's pictures; n++).
void forPictures(tile::LoopNest &nest, const WindowBlock &block,
                 llvm::function_ref<void(tile::LinearExpr)> body);

/// The number of pictures between a square and the one to prefetch, at `vectors` per picture.
int64_t picturesAhead(int64_t vectors);
/// Prefetches a square to the second-level cache. Its elements lie in as many streams, which the
/// hardware's prefetchers do not follow, and often in the same set of the first-level cache.
void prefetchSquare(tile::TileEmitter &tiles, mlir::Value value, int64_t size,
                    llvm::function_ref<tile::Point(int64_t i, int64_t j)> at);

/// Channels from the first one on; their number in vectors, or null for all of the scratch array.
struct ChannelRange {
  tile::LinearExpr first;
  mlir::Value vectors = {};
};

/// A vector of zeros.
mlir::Value zeroF32(tile::LoopNest &nest);
/// The value at a point as f32, in every lane if it is a scalar.
mlir::Value pullF32(tile::LoopNest &nest, tile::TileEmitter &tiles, mlir::Value value,
                    const tile::Point &point);

/// Transforms the patches of a block's windows for these channels, to the windows' rows of `to`.
/// Patches within the picture are read directly, those across its edge from the padded picture.
/// `reversed`: backwards, for a reversed filter, whose results come out backwards then.
void transformPatches(tile::LoopNest &nest, tile::TileEmitter &tiles, const Transform &transform,
                      const Picture &picture, const WindowBlock &block, const ChannelRange &range,
                      const Scratch &to, bool reversed);

} // namespace gradc::cpu::winograd

#endif
