// Looks up and adds the texts of a column.
#include "runtime/data/source/Categories.h"

#include <algorithm>
#include <utility>

namespace gradc::runtime {

void Categories::add(std::string value) {
  numbers.emplace(value, int64_t(values.size()));
  values.push_back(std::move(value));
}

void Categories::cut(size_t count) {
  for (; values.size() > count; values.pop_back())
    numbers.erase(numbers.find(values.back()));
}

std::optional<int64_t> Categories::find(const std::string &value) {
  auto found = numbers.find(value);
  if (found != numbers.end())
    return found->second;
  if (!grows)
    return unknown;
  add(value);
  return int64_t(values.size()) - 1;
}

std::optional<int64_t> Categories::findMissing() const {
  auto found = numbers.find("");
  return found == numbers.end() ? std::nullopt : std::optional(found->second);
}

int64_t Categories::count() const {
  return std::max(int64_t(values.size()), unknown ? *unknown + 1 : 0);
}

} // namespace gradc::runtime
