// The text of a CSV table: the ends of cells and lines, and the positions of errors.
#ifndef RUNTIME_DATA_SOURCE_CSVTEXT_H
#define RUNTIME_DATA_SOURCE_CSVTEXT_H

#include "runtime/base/Status.h"
#include "runtime/base/Text.h"

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace gradc::runtime {

struct CsvCell {
  std::string_view text;     ///< between its quotes, if any
  const char *end = nullptr; ///< the delimiter, the line's end or the file's; null: an error
};

/// Whether a name matches a pattern in which stars stand for any characters.
bool matches(std::string_view pattern, std::string_view name);
/// The list that a column is a value of: "x" of "x[3]", and of the pattern "x[*]"; "" if it is
/// none.
std::string_view listOf(std::string_view column);
/// The text without surrounding spaces.
std::string_view trimmed(std::string_view text);
/// Whether a cell has no value: it is empty, NA, NaN, or null.
bool isMissing(std::string_view text);
/// The boolean of a cell "true" or "false", in upper or lower case.
std::optional<bool> booleanOf(std::string_view text);
/// The text of a cell; if it was quoted, doubled quotes become single ones.
std::string unquoted(std::string_view text, bool isQuoted);
/// Appends a cell, quoted if it could be mistaken for something else (RFC 4180).
void appendCell(std::string &out, std::string_view cell, char delimiter);

/// A position in the text; derived classes move it.
class CsvText {
protected:
  CsvText(std::span<const std::byte> bytes, std::string_view path, char delimiter)
      : at(reinterpret_cast<const char *>(bytes.data())), end(at + bytes.size()), start(at),
        delimiter(delimiter), path(path), counted(at) {}

  bool skipByteOrderMark();
  /// Reads the cell that begins here.
  CsvCell nextCell();
  /// Moves from the beginning of a cell to the next line. Only quotes require looking at cells. A
  /// line that may be bad is skipped unless a quote in it has no end.
  bool skipLine(bool mayBeQuoted, bool mayBeBad);

  bool endsCell(const char *p) const {
    return p == end || *p == delimiter || *p == '\n' || endsWithReturn(p);
  }
  /// Whether the cell that begins here is quoted.
  bool isQuoted() const { return at != end && *at == '"'; }
  bool endsLine(const char *p) const { return p == end || *p == '\n' || endsWithReturn(p); }
  void skipLineEnd() {
    at += at != end && *at == '\r';
    at += at != end && *at == '\n';
  }
  void skipEmptyLines() {
    while (at != end && endsLine(at))
      skipLineEnd();
  }

  /// Records an error, "data.csv:3:7: ...", in place of an earlier one, and returns false.
  template <typename... Parts> bool fail(const char *position, const Parts &...parts) {
    return failAt(position, text(parts...));
  }

  const char *at, *const end;
  const char *start; ///< of the first line
  const char delimiter;
  Status error;

private:
  /// The end of the quoted cell that begins here; null if its quote has none, which is an error.
  const char *behindQuotes();
  bool endsWithReturn(const char *p) const { return *p == '\r' && (p + 1 == end || p[1] == '\n'); }
  bool failAt(const char *position, std::string_view message);

  std::string_view path;
  const char *counted; ///< a position in line number `countedLines`
  int64_t countedLines = 1;
};

} // namespace gradc::runtime

#endif
