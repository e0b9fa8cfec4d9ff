// Numbers for texts.
#ifndef RUNTIME_DATA_SOURCE_CATEGORIES_H
#define RUNTIME_DATA_SOURCE_CATEGORIES_H

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace gradc::runtime {

/// The texts in a field's cells, with their numbers.
struct Categories {
  std::vector<std::string> values;        ///< by number
  std::map<std::string, int64_t> numbers; ///< of the values
  std::optional<int64_t> unknown;         ///< number of all other texts
  bool grows = false;                     ///< other texts become values, too

  void add(std::string value);
  /// Removes the values from number `count` on.
  void cut(size_t count);
  /// The number of a text; nullopt is an error.
  std::optional<int64_t> find(const std::string &value);
  /// The number of a cell without a value, if such cells are a category.
  std::optional<int64_t> findMissing() const;
  /// An upper bound of the numbers.
  int64_t count() const;
};

} // namespace gradc::runtime

#endif
