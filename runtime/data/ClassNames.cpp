// The key in the state ends with the class name; its value is the class number.
#include "runtime/data/ClassNames.h"

#include "runtime/base/Text.h"

#include <algorithm>

namespace gradc::runtime {

std::string keyOfClass(std::string_view field, std::string_view name) {
  return text("class ", field, " = ", name);
}

std::vector<std::string> classNames(const DataState &state, std::string_view field) {
  std::string prefix = keyOfClass(field, "");
  std::vector<std::string> names;
  for (auto at = state.lower_bound(prefix); at != state.end() && at->first.starts_with(prefix);
       ++at) {
    double number = at->second.empty() ? -1 : at->second.front();
    if (!(number >= 0 && number < double(state.size()))) // a checkpoint may contain anything
      continue;
    names.resize(std::max(names.size(), size_t(number) + 1));
    names[size_t(number)] = at->first.substr(prefix.size());
  }
  return names;
}

Status numberClasses(DataState &state, std::string_view field, std::span<const std::string> names,
                     const std::string &origin, std::vector<int64_t> &labels) {
  std::vector<std::string> known = classNames(state, field);
  std::vector<int64_t> numbers;
  for (const std::string &name : names) {
    if (known.empty()) {
      state.emplace(keyOfClass(field, name), std::vector{double(numbers.size())});
      numbers.push_back(int64_t(numbers.size()));
      continue;
    }
    auto found = std::ranges::find(known, name);
    if (found == known.end())
      return Status::error(text(origin, " has a class '", name,
                                "', expected those of the training data: ", quotedList(known)));
    numbers.push_back(found - known.begin());
  }
  for (int64_t &label : labels)
    label = numbers[size_t(label)];
  return {};
}

} // namespace gradc::runtime
