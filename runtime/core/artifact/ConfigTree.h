// Builds a tree of named values outside the artifact: a part of the job with changes.
#ifndef RUNTIME_CORE_ARTIFACT_CONFIGTREE_H
#define RUNTIME_CORE_ARTIFACT_CONFIGTREE_H

#include "runtime/core/artifact/Config.h"

#include <string>

namespace gradc::runtime {

class ConfigTree {
public:
  explicit ConfigTree(std::string_view rootName) { add(rootName, GRADC_VALUE_GROUP, GRADC_NONE); }

  /// New values become the last child of their parent; 0 is the root.
  uint32_t group(std::string_view name, uint32_t parent = 0) {
    return add(name, GRADC_VALUE_GROUP, parent);
  }
  void string(std::string_view name, std::string_view value, uint32_t parent);
  void integer(std::string_view name, int64_t value, uint32_t parent);
  void real(std::string_view name, double value, uint32_t parent);
  /// Copies a value with all its children.
  void copy(Config from, uint32_t parent = 0);

  /// Valid until a value is added.
  Config root() const { return Config(values.data(), strings.data()); }

private:
  uint32_t add(std::string_view name, uint32_t kind, uint32_t parent);
  uint32_t intern(std::string_view text);

  std::vector<gradc_artifact_value> values;
  std::string strings;
};

} // namespace gradc::runtime

#endif
