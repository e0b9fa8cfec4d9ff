// Files and folders of the runtime's tests.
#ifndef TEST_UNIT_RUNTIME_FILES_H
#define TEST_UNIT_RUNTIME_FILES_H

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace gradc::runtime::test {

using Bytes = std::vector<std::byte>;

/// The bytes of the values in memory.
template <typename T> Bytes bytesOf(const std::vector<T> &values) {
  auto raw = reinterpret_cast<const std::byte *>(values.data());
  return Bytes(raw, raw + values.size() * sizeof(T));
}

/// A folder that is removed with its content.
class TemporaryFolder {
public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder &) = delete;
  std::string path;
  std::string operator/(std::string_view name) const { return path + "/" + std::string(name); }
};

bool exists(const std::string &path);
Bytes readFile(const std::string &path);
/// The lines of a text file.
std::vector<std::string> linesOf(const std::string &path);
void writeFile(const std::string &path, const Bytes &bytes);

} // namespace gradc::runtime::test

#endif
