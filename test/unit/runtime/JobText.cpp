// A parser for the subset of protobuf's text format that specs in tests use.
#include "test/unit/runtime/JobText.h"

#include <cstdlib>

using namespace gradc::runtime;
using namespace gradc::runtime::test;

static void skipSpace(std::string_view &rest) {
  while (!rest.empty() && std::string_view(" \n").find(rest.front()) != std::string_view::npos)
    rest.remove_prefix(1);
}

static std::string_view word(std::string_view &rest) {
  skipSpace(rest);
  std::string_view found = rest.substr(0, rest.find_first_of(" \n:{}"));
  rest.remove_prefix(found.size());
  skipSpace(rest);
  return found;
}

JobText::JobText(std::string_view text) { parseGroup("training", text); }

uint32_t JobText::intern(std::string_view string) {
  auto offset = uint32_t(strings.size());
  strings.insert(strings.end(), string.begin(), string.end());
  strings.push_back(0);
  return offset;
}

uint32_t JobText::add(std::string_view name) {
  gradc_artifact_value value = {};
  value.name = intern(name);
  value.kind = GRADC_VALUE_GROUP;
  value.first_child = value.next_sibling = GRADC_NONE;
  values.push_back(value);
  return uint32_t(values.size() - 1);
}

uint32_t JobText::parseGroup(std::string_view name, std::string_view &rest) {
  uint32_t group = add(name), last = GRADC_NONE;
  for (skipSpace(rest); !rest.empty() && rest.front() != '}'; skipSpace(rest)) {
    std::string_view key = word(rest);
    char opener = rest.empty() ? '}' : rest.front();
    if (opener != '{' && opener != ':')
      std::abort();
    rest.remove_prefix(1);
    uint32_t child = opener == '{' ? parseGroup(key, rest) : parseValue(key, rest);
    (last == GRADC_NONE ? values[group].first_child : values[last].next_sibling) = child;
    last = child;
  }
  if (!rest.empty())
    rest.remove_prefix(1);
  return group;
}

uint32_t JobText::parseValue(std::string_view name, std::string_view &rest) {
  uint32_t index = add(name);
  skipSpace(rest);
  if (rest.front() == '"') {
    size_t end = rest.find('"', 1);
    values[index].kind = GRADC_VALUE_STRING;
    values[index].as.string = intern(rest.substr(1, end - 1));
    rest.remove_prefix(end + 1);
    return index;
  }
  std::string text(word(rest));
  if (text == "true" || text == "false") {
    values[index].kind = GRADC_VALUE_BOOL;
    values[index].as.integer = text == "true";
  } else if (text.find_first_not_of("-0123456789") == text.npos) {
    values[index].kind = GRADC_VALUE_INT;
    values[index].as.integer = std::atoll(text.c_str());
  } else if (text.find_first_not_of("-0123456789.e") == text.npos) {
    values[index].kind = GRADC_VALUE_FLOAT;
    values[index].as.real = std::atof(text.c_str());
  } else {
    values[index].kind = GRADC_VALUE_STRING;
    values[index].as.string = intern(text);
  }
  return index;
}

gradc_range JobText::put(ArtifactBuilder &builder) const {
  std::vector<gradc_artifact_value> moved = values;
  for (gradc_artifact_value &value : moved) {
    value.name = builder.text(strings.data() + value.name);
    if (value.kind == GRADC_VALUE_STRING)
      value.as.string = builder.text(strings.data() + value.as.string);
  }
  return builder.put(moved);
}
