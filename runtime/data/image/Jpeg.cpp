// JPEG through libjpeg-turbo.
#include "runtime/data/image/Decoders.h"

#include "runtime/base/Text.h"

#include <csetjmp>
#include <cstdio> // jpeglib.h needs FILE
#include <cstring>
#include <jerror.h>
#include <jpeglib.h>

namespace gradc::runtime {

namespace {

// Valid files have a few tens of scans at most, and each scan walks the whole picture.
constexpr int maxScans = 100;

/// libjpeg reports errors through a callback that leaves the decoder by a long jump, so no frame
/// between the jump and its target may own resources.
struct JpegReader {
  jpeg_decompress_struct jpeg;
  jpeg_error_mgr errors;
  jpeg_progress_mgr progress;
  std::jmp_buf leave;
  char message[JMSG_LENGTH_MAX];
};

JpegReader &readerOf(j_common_ptr jpeg) { return *static_cast<JpegReader *>(jpeg->client_data); }

[[noreturn]] void fail(j_common_ptr jpeg) {
  JpegReader &reader = readerOf(jpeg);
  reader.errors.format_message(jpeg, reader.message);
  std::longjmp(reader.leave, 1);
}

/// libjpeg warns when it invents pixels, but not for stray bytes between segments.
void warn(j_common_ptr jpeg, int level) {
  if (level < 0)
    switch (jpeg->err->msg_code) {
    case JWRN_JPEG_EOF:
    case JWRN_HIT_MARKER:
    case JWRN_HUFF_BAD_CODE:
    case JWRN_MUST_RESYNC:
    case JWRN_BOGUS_PROGRESSION:
      fail(jpeg);
    default:
      break;
    }
}

void countScans(j_common_ptr jpeg) {
  if (!jpeg->is_decompressor ||
      reinterpret_cast<j_decompress_ptr>(jpeg)->input_scan_number <= maxScans)
    return;
  JpegReader &reader = readerOf(jpeg);
  std::snprintf(reader.message, sizeof reader.message, "more than %d scans", maxScans);
  std::longjmp(reader.leave, 1);
}

void begin(JpegReader &reader, std::span<const std::byte> file) {
  reader.jpeg.err = jpeg_std_error(&reader.errors);
  reader.errors.error_exit = fail;
  reader.errors.emit_message = warn;
  jpeg_create_decompress(&reader.jpeg);
  reader.jpeg.client_data = &reader;
  reader.progress.progress_monitor = countScans;
  reader.jpeg.progress = &reader.progress;
  jpeg_mem_src(&reader.jpeg, reinterpret_cast<const unsigned char *>(file.data()), file.size());
  jpeg_read_header(&reader.jpeg, TRUE);
}

PictureSize sizeOf(const JpegReader &reader) {
  return {int64_t(reader.jpeg.image_height), int64_t(reader.jpeg.image_width),
          reader.jpeg.num_components == 1 ? 1 : 3};
}

Status damaged(const JpegReader &reader) {
  return Status::error(text("is no sound JPEG file: ", reader.message));
}

/// The smallest power of two, in eighths of the picture's size, that does not go below the wanted
/// size.
unsigned chooseEighths(const JpegReader &reader, const DecodeOptions &options) {
  unsigned eighths = 8;
  if (options.scaledHeight > 0 && options.scaledWidth > 0)
    while (eighths > 1 &&
           int64_t(reader.jpeg.image_height) * eighths / 16 >= options.scaledHeight &&
           int64_t(reader.jpeg.image_width) * eighths / 16 >= options.scaledWidth)
      eighths /= 2;
  return eighths;
}

bool isInk(const JpegReader &reader) {
  return reader.jpeg.jpeg_color_space == JCS_CMYK || reader.jpeg.jpeg_color_space == JCS_YCCK;
}

/// Computes the light that passes through the inks. Adobe's files store inverted inks.
void inkToRgb(const unsigned char *ink, unsigned char *rgb, int64_t width, bool isInverted) {
  for (int64_t x = 0; x < width; ++x, ink += 4, rgb += 3)
    for (int c = 0; c < 3; ++c)
      rgb[c] = isInverted ? static_cast<unsigned char>(ink[3] * ink[c] / 255)
                          : static_cast<unsigned char>((255 - ink[3]) * (255 - ink[c]) / 255);
}

void readRows(JpegReader &reader, unsigned char *out, size_t rowBytes) {
  constexpr int most = 16;
  JSAMPROW rows[most];
  while (reader.jpeg.output_scanline < reader.jpeg.output_height) {
    JDIMENSION y = reader.jpeg.output_scanline, count = 0;
    for (; count < most && y + count < reader.jpeg.output_height; ++count)
      rows[count] = out + size_t(y + count) * rowBytes;
    jpeg_read_scanlines(&reader.jpeg, rows, count);
  }
}

void readInkRows(JpegReader &reader, unsigned char *out, size_t rowBytes) {
  int64_t width = reader.jpeg.output_width;
  JSAMPARRAY ink = reader.jpeg.mem->alloc_sarray(reinterpret_cast<j_common_ptr>(&reader.jpeg),
                                                 JPOOL_IMAGE, JDIMENSION(width * 4), 1);
  for (; reader.jpeg.output_scanline < reader.jpeg.output_height; out += rowBytes) {
    jpeg_read_scanlines(&reader.jpeg, ink, 1);
    inkToRgb(ink[0], out, width, reader.jpeg.saw_Adobe_marker);
  }
}

class Closing {
public:
  explicit Closing(JpegReader &reader) : reader(reader) {}
  ~Closing() { jpeg_destroy_decompress(&reader.jpeg); }

private:
  JpegReader &reader;
};

} // namespace

Status decodeJpeg(std::span<const std::byte> file, const DecodeOptions &options, PixelRoom &out) {
  JpegReader reader;
  std::memset(&reader.jpeg, 0, sizeof reader.jpeg);
  Closing closing(reader);
  if (setjmp(reader.leave))
    return damaged(reader);
  begin(reader, file);

  PictureSize size = sizeOf(reader);
  if (Status status = checkPictureSize(size, options); !status.ok())
    return status;
  int64_t channels = options.channels ? options.channels : size.channels;
  if (channels != 1 && channels != 3)
    return Status::error(text("is a JPEG file, which gives 1 or 3 channels, expected ", channels));
  bool fromInk = isInk(reader);
  if (fromInk && channels == 1)
    return Status::error("is a CMYK JPEG file, expected gray or RGB for 1 channel");
  reader.jpeg.out_color_space = fromInk ? JCS_CMYK : channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  reader.jpeg.scale_num = chooseEighths(reader, options);
  reader.jpeg.scale_denom = 8;
  jpeg_start_decompress(&reader.jpeg);

  auto room = out.room(reader.jpeg.output_height, reader.jpeg.output_width, channels);
  if (!room)
    return room.status();
  auto *pixels = reinterpret_cast<unsigned char *>(*room);
  size_t rowBytes = size_t(reader.jpeg.output_width) * size_t(channels);
  if (fromInk)
    readInkRows(reader, pixels, rowBytes);
  else
    readRows(reader, pixels, rowBytes);
  jpeg_finish_decompress(&reader.jpeg);
  return {};
}

} // namespace gradc::runtime
