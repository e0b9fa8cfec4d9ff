// Passes each file on the command line to a fuzz target once.
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int main(int count, char **paths) {
  for (int i = 1; i < count; ++i) {
    std::ifstream file(paths[i], std::ios::binary);
    std::string bytes((std::istreambuf_iterator<char>(file)), {});
    std::fprintf(stderr, "%s\n", paths[i]); // the last line names the input that crashed
    LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size());
  }
  std::printf("%d inputs\n", count - 1);
}
