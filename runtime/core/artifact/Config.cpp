// Reads the tree of named values that describes the job.
#include "runtime/core/artifact/Config.h"

#include "runtime/core/artifact/Artifact.h"

namespace gradc::runtime {

Config Config::job(const Artifact &artifact) {
  auto values = artifact.elements<gradc_artifact_value>(artifact.header().job);
  return values.empty() ? Config() : Config(values.data(), artifact.string(0).data());
}

std::string_view Config::name() const {
  return values ? std::string_view(strings + value().name) : std::string_view();
}

std::vector<Config> Config::children() const {
  std::vector<Config> result;
  if (!values || value().kind != GRADC_VALUE_GROUP)
    return result;
  for (uint32_t i = value().first_child; i != GRADC_NONE; i = values[i].next_sibling)
    result.emplace_back(values, strings, i);
  return result;
}

std::vector<Config> Config::children(std::string_view name) const {
  std::vector<Config> result;
  for (Config child : children())
    if (child.name() == name)
      result.push_back(child);
  return result;
}

Config Config::child(std::string_view name) const {
  for (Config child : children())
    if (child.name() == name)
      return child;
  return {};
}

int64_t Config::integer(int64_t fallback) const {
  return values && value().kind == GRADC_VALUE_INT ? value().as.integer : fallback;
}

int64_t Config::integer(std::string_view name, int64_t fallback) const {
  return child(name).integer(fallback);
}

double Config::real(double fallback) const {
  if (values && value().kind == GRADC_VALUE_FLOAT)
    return value().as.real;
  return values && value().kind == GRADC_VALUE_INT ? double(value().as.integer) : fallback;
}

double Config::real(std::string_view name, double fallback) const {
  return child(name).real(fallback);
}

bool Config::boolean(std::string_view name, bool fallback) const {
  Config found = child(name);
  return found && found.value().kind == GRADC_VALUE_BOOL ? found.value().as.integer != 0 : fallback;
}

std::string_view Config::string() const {
  return values && value().kind == GRADC_VALUE_STRING
             ? std::string_view(strings + value().as.string)
             : std::string_view();
}

std::string_view Config::string(std::string_view name, std::string_view fallback) const {
  Config found = child(name);
  return found && found.value().kind == GRADC_VALUE_STRING ? found.string() : fallback;
}

} // namespace gradc::runtime
