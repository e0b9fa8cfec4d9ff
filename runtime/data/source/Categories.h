// Texts as numbers.
#ifndef RUNTIME_DATA_CATEGORIES_H
#define RUNTIME_DATA_CATEGORIES_H

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace gradc::runtime {

/// The texts that a field's cells hold, with their numbers.
struct Categories {
  std::vector<std::string> values;        ///< by number
  std::map<std::string, int64_t> numbers; ///< of the values
  std::optional<int64_t> unknown;         ///< number of all other texts
  bool grows = false;                     ///< other texts become values, too

  void add(std::string value);
  /// Nothing: it is an error.
  std::optional<int64_t> find(const std::string &value);
  /// Of a cell without a value, where such cells are a category.
  std::optional<int64_t> findMissing() const;
  /// Numbers are below this one.
  int64_t count() const;
};

} // namespace gradc::runtime

#endif
