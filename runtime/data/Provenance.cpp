// Hashes each part with its size, so that no two lists of parts are the same bytes.
#include "runtime/data/Provenance.h"

#include <sys/stat.h>

namespace gradc::runtime {

void Provenance::add(gradc_hasher &hasher, std::span<const std::byte> bytes) {
  uint64_t size = bytes.size();
  gradc_hash_add(&hasher, &size, sizeof size);
  gradc_hash_add(&hasher, bytes.data(), bytes.size());
}

void Provenance::add(gradc_hasher &hasher, Config value) {
  for (std::string_view part : {value.name(), value.string()})
    add(hasher, std::as_bytes(std::span(part)));
  int64_t integer = value.integer(0);
  double real = value.real(0);
  std::vector<Config> children = value.children();
  uint64_t count = children.size();
  gradc_hash_add(&hasher, &integer, sizeof integer);
  gradc_hash_add(&hasher, &real, sizeof real);
  gradc_hash_add(&hasher, &count, sizeof count);
  for (Config child : children) {
    if (child.name() == "path" || child.name() == "list" || child.name() == "masks")
      continue; // the data may move
    bool isTrue = value.boolean(child.name(), false);
    gradc_hash_add(&hasher, &isTrue, sizeof isTrue);
    add(hasher, child);
  }
}

void Provenance::addFile(const std::string &path, std::string_view name) {
  struct stat file = {};
  (void)stat(path.c_str(), &file);
  int64_t parts[] = {int64_t(file.st_size), int64_t(file.st_mtim.tv_sec),
                     int64_t(file.st_mtim.tv_nsec)};
  addContent(std::as_bytes(std::span(parts)));
  addContent(std::as_bytes(std::span(name)));
}

} // namespace gradc::runtime
