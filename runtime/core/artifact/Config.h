// A view of the training job, which an artifact stores as a tree of named values.
#ifndef RUNTIME_CORE_ARTIFACT_CONFIG_H
#define RUNTIME_CORE_ARTIFACT_CONFIG_H

#include "runtime/include/gradc/artifact.h"

#include <cstdint>
#include <string_view>
#include <vector>

namespace gradc::runtime {

class Artifact;

/// One value of the tree, or an absent value, which has no children and returns the fallbacks.
class Config {
public:
  Config() = default;
  Config(const gradc_artifact_value *values, const char *strings, uint32_t index = 0)
      : values(values), strings(strings), index(index) {}
  /// The root of an artifact's job; absent when it was compiled without a training spec.
  static Config job(const Artifact &artifact);

  explicit operator bool() const { return values != nullptr; }
  /// This value's index in the tree.
  uint32_t position() const { return index; }
  std::string_view name() const;
  std::vector<Config> children() const;
  std::vector<Config> children(std::string_view name) const;
  Config child(std::string_view name) const;

  /// The value itself, for elements of repeated fields.
  int64_t integer(int64_t fallback) const;
  double real(double fallback) const;
  std::string_view string() const;

  int64_t integer(std::string_view name, int64_t fallback) const;
  double real(std::string_view name, double fallback) const;
  bool boolean(std::string_view name, bool fallback) const;
  std::string_view string(std::string_view name, std::string_view fallback = {}) const;

private:
  friend class ConfigTree;
  const gradc_artifact_value &value() const { return values[index]; }

  const gradc_artifact_value *values = nullptr;
  const char *strings = nullptr;
  uint32_t index = 0;
};

} // namespace gradc::runtime

#endif
