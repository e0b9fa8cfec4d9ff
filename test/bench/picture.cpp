// The cost of a JPEG: decoding alone, which is the minimum, and the pass that resizes it to 224 x
// 224 planes of f32. Prints one JSON object.
//
//   picture-bench FILE.jpg...
#include "runtime/data/image/Decode.h"
#include "runtime/data/image/Resample.h"
#include "runtime/data/source/MappedFile.h"
#include "test/bench/Peak.h"

#include <algorithm>
#include <cstdio>

using namespace gradc::runtime;

int main(int argc, char **argv) {
  constexpr int rounds = 30;
  constexpr int64_t side = 224;
  // Other work on the machine can only slow a round down, so the best one counts.
  double decoding = 1e9, resampling = 1e9;
  Picture picture;
  Resampler resampler;
  std::vector<float> planes(3 * side * side);
  for (int round = 0; round < rounds; ++round) {
    double decoded = 0, resampled = 0;
    for (int i = 1; i < argc; ++i) {
      auto file = MappedFile::open(argv[i]);
      if (!file) {
        std::fprintf(stderr, "%s\n", file.status().message().c_str());
        return 1;
      }
      Status status;
      decoded +=
          gradc::bench::timeOf([&] { status = decodePicture((*file)->bytes(), {}, picture); });
      if (!status.ok()) {
        std::fprintf(stderr, "'%s' %s\n", argv[i], status.message().c_str());
        return 1;
      }
      resampled += gradc::bench::timeOf([&] {
        Taps rows = Taps::resize(picture.height, side, Filter::bilinear, true),
             columns = Taps::resize(picture.width, side, Filter::bilinear, true);
        resampler.run(picture.view(), rows, columns, 0, {},
                      {reinterpret_cast<std::byte *>(planes.data()), GRADC_F32, true});
      });
    }
    decoding = std::min(decoding, decoded / (argc - 1));
    resampling = std::min(resampling, resampled / (argc - 1));
  }
  std::printf("{\"files\": %d, \"decode_us\": %.1f, \"resize_us\": %.1f}\n", argc - 1,
              decoding * 1e6, resampling * 1e6);
}
