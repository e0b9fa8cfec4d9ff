// What the rows of a cache file were made from.
#ifndef RUNTIME_DATA_PROVENANCE_H
#define RUNTIME_DATA_PROVENANCE_H

#include "runtime/core/artifact/Config.h"
#include "runtime/include/gradc/hash.h"

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace gradc::runtime {

/// Checksums of the data and of the stages over them. Of files, size and time of the last change
/// stand for the content, as for `make`: reading all of them again would cost as much as the cache
/// saves.
class Provenance {
public:
  /// `name`: part of the data, as the name of a class's folder is; "": the file may be renamed.
  void addFile(const std::string &path, std::string_view name = {});
  void addContent(std::span<const std::byte> bytes) { add(dataHash, bytes); }
  /// A source or a stage, without the places of files.
  void addStage(Config stage) { add(stageHash, stage); }

  uint64_t data() const { return gradc_hash_end(&dataHash); }
  uint64_t stages() const { return gradc_hash_end(&stageHash); }

private:
  static void add(gradc_hasher &hasher, std::span<const std::byte> bytes);
  static void add(gradc_hasher &hasher, Config value);

  gradc_hasher dataHash = gradc_hash_begin(), stageHash = gradc_hash_begin();
};

} // namespace gradc::runtime

#endif
