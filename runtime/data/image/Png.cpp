// PNG through libpng.
#include "runtime/data/image/Decoders.h"

#include "runtime/base/Text.h"

#include <csetjmp>
#include <cstdio>
#include <cstring>
#include <png.h>

namespace gradc::runtime {

namespace {

/// libpng reports errors through a callback that leaves by a long jump, so no frame between the
/// jump and its target may own resources.
struct PngReader {
  png_structp png = nullptr;
  png_infop info = nullptr;
  std::span<const std::byte> rest;
  std::jmp_buf leave;
  Picture colors; ///< that become gray
  char message[128] = "out of memory";

  ~PngReader() { png_destroy_read_struct(&png, &info, nullptr); }
};

[[noreturn]] void fail(png_structp png, png_const_charp message) {
  auto &reader = *static_cast<PngReader *>(png_get_error_ptr(png));
  std::snprintf(reader.message, sizeof reader.message, "%s", message);
  std::longjmp(reader.leave, 1);
}
void warn(png_structp, png_const_charp) {}

void readBytes(png_structp png, png_bytep out, size_t count) {
  auto &rest = static_cast<PngReader *>(png_get_io_ptr(png))->rest;
  if (count > rest.size())
    png_error(png, "the file ends too early");
  std::memcpy(out, rest.data(), count);
  rest = rest.subspan(count);
}

/// Returns false if memory is exhausted.
bool create(PngReader &reader) {
  reader.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &reader, fail, warn);
  if (reader.png)
    reader.info = png_create_info_struct(reader.png);
  return reader.info != nullptr;
}

void readHeader(PngReader &reader, std::span<const std::byte> file) {
  reader.rest = file;
  png_set_read_fn(reader.png, &reader, readBytes);
  // Sizes are checked against our own limit, which has a better message; text and profiles are not
  // worth the memory.
  png_set_user_limits(reader.png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
  png_set_chunk_malloc_max(reader.png, 1 << 20);
  png_set_keep_unknown_chunks(reader.png, PNG_HANDLE_CHUNK_NEVER, nullptr, 0);
  png_read_info(reader.png, reader.info);
}

PictureSize sizeOf(const PngReader &reader) {
  int type = png_get_color_type(reader.png, reader.info);
  bool hasColor = type & PNG_COLOR_MASK_COLOR,
       hasAlpha =
           (type & PNG_COLOR_MASK_ALPHA) || png_get_valid(reader.png, reader.info, PNG_INFO_tRNS);
  return {png_get_image_height(reader.png, reader.info),
          png_get_image_width(reader.png, reader.info), (hasColor ? 3 : 1) + hasAlpha};
}

Status damaged(const PngReader &reader) {
  return Status::error(text("is no sound PNG file: ", reader.message));
}

/// Asks libpng for a byte per index or gray value, unscaled.
void keepIndices(PngReader &reader) {
  png_set_packing(reader.png);
  png_set_interlace_handling(reader.png);
  png_read_update_info(reader.png, reader.info);
}

/// Asks libpng for 8 bits per channel and for the result's channels. Colors that become gray are an
/// exception: libpng would apply the file's gamma.
void setTransforms(PngReader &reader, const PictureSize &size, int64_t channels) {
  png_set_expand(reader.png); // palettes, fewer than 8 bits, transparent entries
  png_set_scale_16(reader.png);
  bool hadAlpha = size.channels % 2 == 0, hasAlpha = channels % 2 == 0;
  if (hadAlpha && !hasAlpha)
    png_set_strip_alpha(reader.png);
  if (!hadAlpha && hasAlpha)
    png_set_add_alpha(reader.png, 255, PNG_FILLER_AFTER);
  if (size.channels < 3 && channels >= 3)
    png_set_gray_to_rgb(reader.png);
  png_set_interlace_handling(reader.png);
  png_read_update_info(reader.png, reader.info);
}

void colorsToGray(const unsigned char *rgb, unsigned char *gray, int64_t count) {
  for (int64_t i = 0; i < count; ++i, rgb += 3)
    gray[i] = static_cast<unsigned char>(
        (19595u * rgb[0] + 38470u * rgb[1] + 7471u * rgb[2] + 0x8000) >> 16);
}

/// An interlaced picture arrives in several passes over the same rows.
void readRows(PngReader &reader, unsigned char *out, size_t rowBytes, int64_t height) {
  int passes = png_get_interlace_type(reader.png, reader.info) == PNG_INTERLACE_NONE
                   ? 1
                   : PNG_INTERLACE_ADAM7_PASSES;
  for (int pass = 0; pass < passes; ++pass)
    for (int64_t y = 0; y < height; ++y)
      png_read_row(reader.png, out + size_t(y) * rowBytes, nullptr);
  png_read_end(reader.png, nullptr);
}

} // namespace

Status decodePng(std::span<const std::byte> file, const DecodeOptions &options, PixelRoom &out) {
  PngReader reader;
  if (!create(reader) || setjmp(reader.leave))
    return damaged(reader);
  readHeader(reader, file);

  PictureSize size = sizeOf(reader);
  if (Status status = checkPictureSize(size, options); !status.ok())
    return status;
  int type = png_get_color_type(reader.png, reader.info);
  if (options.indices && type != PNG_COLOR_TYPE_PALETTE && type != PNG_COLOR_TYPE_GRAY)
    return Status::error("is a PNG file of colors, expected a palette or gray values");
  if (options.indices && png_get_bit_depth(reader.png, reader.info) > 8)
    return Status::error("is a PNG file of 16 bits a pixel, expected 8 or fewer");
  int64_t channels = options.channels ? options.channels : size.channels;
  bool toGray = channels == 1 && size.channels >= 3 && !options.indices;
  int64_t read = toGray ? 3 : channels;
  options.indices ? keepIndices(reader) : setTransforms(reader, size, read);
  auto rowBytes = size_t(size.width * read);
  if (png_get_rowbytes(reader.png, reader.info) != rowBytes)
    return Status::error(
        text("is a PNG file of a kind that does not give ", channels, " channels"));
  auto room = out.room(size.height, size.width, channels);
  if (!room)
    return room.status();
  auto *pixels = reinterpret_cast<unsigned char *>(*room);
  if (toGray) {
    if (room = reader.colors.room(size.height, size.width, 3); !room)
      return room.status();
    auto *colors = reinterpret_cast<unsigned char *>(*room);
    readRows(reader, colors, rowBytes, size.height);
    colorsToGray(colors, pixels, size.height * size.width);
  } else {
    readRows(reader, pixels, rowBytes, size.height);
  }
  return {};
}

} // namespace gradc::runtime
