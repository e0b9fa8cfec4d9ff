// The job tree from protobuf text, as the compiler writes it from a spec.
#ifndef TEST_UNIT_RUNTIME_JOBTEXT_H
#define TEST_UNIT_RUNTIME_JOBTEXT_H

#include "runtime/core/artifact/Config.h"
#include "test/unit/runtime/ArtifactBuilder.h"

namespace gradc::runtime::test {

/// `a: 1  b { c: "text" d: true e: 0.5 f: NAME }`
class JobText {
public:
  explicit JobText(std::string_view text);

  /// The tree; valid as long as this object.
  Config root() const { return Config(values.data(), strings.data()); }
  /// The tree in the C interface's form.
  const gradc_artifact_value *tree() const { return values.data(); }
  const char *text() const { return strings.data(); }
  /// Appends the tree to an artifact.
  gradc_range put(ArtifactBuilder &builder) const;

private:
  uint32_t add(std::string_view name);
  uint32_t parseGroup(std::string_view name, std::string_view &rest);
  uint32_t parseValue(std::string_view name, std::string_view &rest);
  uint32_t intern(std::string_view string);

  std::vector<gradc_artifact_value> values;
  std::vector<char> strings = {0};
};

} // namespace gradc::runtime::test

#endif
