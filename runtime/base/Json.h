// Writes strings as JSON.
#ifndef RUNTIME_BASE_JSON_H
#define RUNTIME_BASE_JSON_H

#include <string>
#include <string_view>

namespace gradc::runtime {

/// Appends the characters of a JSON string, without its quotes. Bytes that are not UTF-8, as names
/// of files may have, become U+FFFD: readers refuse a file with such bytes.
void appendJson(std::string &out, std::string_view value);

} // namespace gradc::runtime

#endif
