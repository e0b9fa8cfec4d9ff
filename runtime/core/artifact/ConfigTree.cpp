// Appends values and links them to their parents.
#include "runtime/core/artifact/ConfigTree.h"

namespace gradc::runtime {

uint32_t ConfigTree::intern(std::string_view text) {
  auto offset = uint32_t(strings.size());
  strings.append(text).push_back('\0');
  return offset;
}

uint32_t ConfigTree::add(std::string_view name, uint32_t kind, uint32_t parent) {
  auto index = uint32_t(values.size());
  gradc_artifact_value value = {};
  value.name = intern(name);
  value.kind = kind;
  value.first_child = value.next_sibling = GRADC_NONE;
  if (parent != GRADC_NONE) {
    uint32_t *link = &values[parent].first_child;
    while (*link != GRADC_NONE)
      link = &values[*link].next_sibling;
    *link = index;
  }
  values.push_back(value);
  return index;
}

void ConfigTree::string(std::string_view name, std::string_view value, uint32_t parent) {
  uint32_t index = add(name, GRADC_VALUE_STRING, parent);
  values[index].as.string = intern(value);
}

void ConfigTree::integer(std::string_view name, int64_t value, uint32_t parent) {
  values[add(name, GRADC_VALUE_INT, parent)].as.integer = value;
}

void ConfigTree::real(std::string_view name, double value, uint32_t parent) {
  values[add(name, GRADC_VALUE_FLOAT, parent)].as.real = value;
}

void ConfigTree::copy(Config from, uint32_t parent) {
  const gradc_artifact_value &value = from.value();
  if (value.kind == GRADC_VALUE_STRING)
    return string(from.name(), from.string(), parent);
  uint32_t index = add(from.name(), value.kind, parent);
  if (value.kind != GRADC_VALUE_GROUP)
    values[index].as = value.as;
  for (Config child : from.children())
    copy(child, index);
}

} // namespace gradc::runtime
