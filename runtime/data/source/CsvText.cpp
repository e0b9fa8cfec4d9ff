// Finds the ends of quoted cells, and reports the place of an error.
#include "runtime/data/source/CsvText.h"

#include <algorithm>
#include <cstring>

namespace gradc::runtime {

bool CsvText::skipByteOrderMark() {
  std::string_view all(at, size_t(end - at));
  if (all.starts_with("\xEF\xBB\xBF"))
    start = at += 3;
  if (all.starts_with("\xFF\xFE") || all.starts_with("\xFE\xFF"))
    return fail(start, "the file is UTF-16, expected UTF-8");
  return true;
}

CsvCell CsvText::nextCell() {
  if (at == end || *at != '"') {
    const char *stop = at;
    while (!endsCell(stop))
      ++stop;
    return {{at, size_t(stop - at)}, stop};
  }
  const char *close = at;
  do { // a doubled quote is a quote
    ++close;
    close = static_cast<const char *>(std::memchr(close, '"', size_t(end - close)));
    if (!close) {
      fail(at, "the quote that begins here has no end");
      return {};
    }
    ++close;
  } while (close != end && *close == '"');
  if (!endsCell(close)) {
    fail(close, "expected a delimiter or the line's end behind a closing quote, found '", *close,
         '\'');
    return {};
  }
  return {{at + 1, size_t(close - at - 2)}, close};
}

bool CsvText::failAt(const char *position, std::string_view message) {
  auto line = 1 + std::count(start, position, '\n');
  const char *lineStart = position;
  while (lineStart != start && lineStart[-1] != '\n')
    --lineStart;
  error = Status::error(text(path, ':', line, ':', position - lineStart + 1, ": ", message));
  return false;
}

} // namespace gradc::runtime
