// Finds the ends of quoted cells, and reports the positions of errors.
#include "runtime/data/source/CsvText.h"

#include <algorithm>
#include <cstring>

namespace gradc::runtime {

bool matches(std::string_view pattern, std::string_view name) {
  size_t star = pattern.find('*');
  if (star == pattern.npos)
    return pattern == name;
  if (!name.starts_with(pattern.substr(0, star)))
    return false;
  for (size_t at = star; at <= name.size(); ++at)
    if (matches(pattern.substr(star + 1), name.substr(at)))
      return true;
  return false;
}

std::string_view listOf(std::string_view column) {
  size_t open = column.rfind('[');
  if (open == column.npos || !column.ends_with(']') || open + 2 >= column.size())
    return {};
  std::string_view number = column.substr(open + 1, column.size() - open - 2);
  bool isNumber = number.find_first_not_of("0123456789") == number.npos;
  return isNumber || number == "*" ? column.substr(0, open) : std::string_view();
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t'))
    text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t'))
    text.remove_suffix(1);
  return text;
}

void appendCell(std::string &out, std::string_view cell, char delimiter) {
  if (cell.find_first_of("\"\r\n") == cell.npos && cell.find(delimiter) == cell.npos) {
    out += cell;
    return;
  }
  out += '"';
  for (char c : cell)
    out.append(c == '"' ? 2 : 1, c);
  out += '"';
}

/// The text in lower case, up to 6 characters of it: no word that has a meaning is longer than 5.
static std::string wordOf(std::string_view text) {
  std::string lower(text.substr(0, 6));
  for (char &c : lower)
    c = c >= 'A' && c <= 'Z' ? char(c | 0x20) : c;
  return lower;
}

bool isMissing(std::string_view text) {
  std::string word = wordOf(text);
  return word.empty() || word == "na" || word == "nan" || word == "null";
}

std::optional<bool> booleanOf(std::string_view text) {
  std::string word = wordOf(text);
  bool isTrue = word == "true";
  return isTrue || word == "false" ? std::optional(isTrue) : std::nullopt;
}

std::string unquoted(std::string_view text, bool isQuoted) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    plain += text[i];
    i += isQuoted && text[i] == '"'; // a doubled quote
  }
  return plain;
}

bool CsvText::skipByteOrderMark() {
  std::string_view all(at, size_t(end - at));
  if (all.starts_with("\xEF\xBB\xBF"))
    start = at += 3;
  if (all.starts_with("\xFF\xFE") || all.starts_with("\xFE\xFF"))
    return fail(start, "the file is UTF-16, expected UTF-8");
  return true;
}

const char *CsvText::behindQuotes() {
  const char *close = at;
  do { // a doubled quote stands for a quote
    ++close;
    close = static_cast<const char *>(std::memchr(close, '"', size_t(end - close)));
    if (!close) {
      fail(at, "the quote that begins here has no end");
      return nullptr;
    }
    ++close;
  } while (close != end && *close == '"');
  return close;
}

CsvCell CsvText::nextCell() {
  if (!isQuoted()) {
    const char *stop = at;
    while (!endsCell(stop))
      ++stop;
    return {{at, size_t(stop - at)}, stop};
  }
  const char *close = behindQuotes();
  if (!close)
    return {};
  if (!endsCell(close)) {
    fail(close, "expected a delimiter or the line's end behind a closing quote, found '", *close,
         '\'');
    return {};
  }
  return {{at + 1, size_t(close - at - 2)}, close};
}

bool CsvText::skipLine(bool mayBeQuoted, bool mayBeBad) {
  while (mayBeQuoted) {
    const char *stop = mayBeBad && isQuoted() ? behindQuotes() : nextCell().end;
    if (!stop)
      return false;
    at = stop;
    // Text behind a closing quote leaves open what is quoted in the rest of the line.
    if (endsLine(at) || !endsCell(at))
      break;
    ++at;
  }
  auto line = static_cast<const char *>(std::memchr(at, '\n', size_t(end - at)));
  at = line ? line + 1 : end;
  return true;
}

bool CsvText::failAt(const char *position, std::string_view message) {
  countedLines += position >= counted ? std::count(counted, position, '\n')
                                      : -std::count(position, counted, '\n');
  counted = position;
  const char *lineStart = position;
  while (lineStart != start && lineStart[-1] != '\n')
    --lineStart;
  error =
      Status::error(text(path, ':', countedLines, ':', position - lineStart + 1, ": ", message));
  return false;
}

} // namespace gradc::runtime
