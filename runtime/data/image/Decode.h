// Decodes compressed pictures. The decoders are linked only into programs that need them.
#ifndef RUNTIME_DATA_IMAGE_DECODE_H
#define RUNTIME_DATA_IMAGE_DECODE_H

#include "runtime/base/Status.h"
#include "runtime/data/image/Pixels.h"

#include <span>

namespace gradc::runtime {

struct DecodeOptions {
  int64_t channels = 3; ///< of the result: 0 (as the file has them), 1, 3, or 4 (PNG)
  /// Pictures with more pixels are refused before any memory is allocated for them.
  int64_t maxPixels = int64_t(1) << 27;
  /// A JPEG of at least twice this size may be decoded at a half, a quarter, or an eighth of its
  /// size, as long as the result is not smaller than this. 0 decodes at full size.
  int64_t scaledHeight = 0, scaledWidth = 0;
  /// Pixels are indices into a palette, or gray values, as a PNG file stores them. 1 channel.
  bool indices = false;
};

/// The size and channels of a picture, from the header of its file.
struct PictureSize {
  int64_t height = 0, width = 0, channels = 0;
};

/// Decodes a JPEG or PNG file, distinguished by their first bytes, into memory that `out` provides.
/// Messages do not name the file. Errors: another format; damaged or truncated data; too many
/// pixels; channels that the format cannot provide; a program without decoders; and errors of
/// `out`.
///
/// JPEG: gray or RGB; CMYK and YCCK are converted to RGB like in TensorFlow's decoder. Uses the
/// accurate integer transform and smooth upsampling of chroma, so results equal libjpeg-turbo's
/// defaults and Pillow's. Ignores the EXIF orientation.
/// PNG: palettes become RGB (RGBA with transparent entries); 1, 2 and 4 bits become 8; 16 bits are
/// rounded to the nearest 8; alpha is dropped or added (255); gray becomes RGB by repetition; RGB
/// becomes gray as (19595 R + 38470 G + 7471 B) / 65536; gamma is ignored.
Status decodePicture(std::span<const std::byte> file, const DecodeOptions &options, PixelRoom &out);

inline constexpr char withoutDecoders[] =
    "this program was built without image decoders (libjpeg, libpng)";
/// Whether this program has decoders.
bool canDecodePictures();

/// The functions of a decoder library.
struct PictureDecoders {
  Status (*decodeJpeg)(std::span<const std::byte>, const DecodeOptions &, PixelRoom &);
  Status (*decodePng)(std::span<const std::byte>, const DecodeOptions &, PixelRoom &);
};

/// For use by decoders: refuses absurd sizes.
Status checkPictureSize(const PictureSize &size, const DecodeOptions &options);

} // namespace gradc::runtime

#endif
