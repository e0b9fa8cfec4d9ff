// Headers of CSV tables and of MNIST's idx files.
#include "compiler/import/data/TableFile.h"

#include "llvm/Support/Endian.h"
#include "llvm/Support/MemoryBuffer.h"
#include <zlib.h>

using namespace llvm;
using namespace gradc;

template <typename... Args> static Error error(const char *format, Args... args) {
  return createStringError(std::errc::invalid_argument, format, args...);
}

static Expected<std::unique_ptr<MemoryBuffer>> readFile(StringRef path) {
  auto buffer = MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!buffer)
    return errorCodeToError(buffer.getError());
  return std::move(*buffer);
}

/// Takes a cell and gives its text, with what stands around it cut off; `rest` then begins with the
/// delimiter or the line's end.
static StringRef takeCell(StringRef &rest, char delimiter) {
  if (rest.consume_front("\"")) {
    size_t close = rest.find('"');
    while (close != StringRef::npos && rest.substr(close + 1).starts_with("\""))
      close = rest.find('"', close + 2);
    StringRef text = rest.substr(0, close);
    rest = rest.substr(std::min(rest.size(), text.size() + 1));
    return text;
  }
  const char stops[] = {delimiter, '\n', 0};
  StringRef text = rest.substr(0, rest.find_first_of(StringRef(stops, 2)));
  rest = rest.substr(text.size());
  if (rest.empty() || rest.front() == '\n')
    text.consume_back("\r");
  return text.trim(" \t");
}

static bool takeEmptyLine(StringRef &rest) {
  return rest.consume_front("\n") || rest.consume_front("\r\n");
}

Expected<TableInfo> gradc::readCsv(StringRef path, char delimiter) {
  auto buffer = readFile(path);
  if (!buffer)
    return buffer.takeError();
  StringRef rest = (*buffer)->getBuffer();
  rest.consume_front("\xEF\xBB\xBF");
  if (rest.starts_with("\xFF\xFE") || rest.starts_with("\xFE\xFF"))
    return error("the file is UTF-16, expected UTF-8");
  while (takeEmptyLine(rest))
    ;
  if (rest.empty())
    return error("the file is empty, expected a line that names the columns");

  TableInfo table;
  do {
    std::string name = takeCell(rest, delimiter).trim(" \t").str();
    for (size_t at = name.find("\"\""); at != std::string::npos; at = name.find("\"\"", at + 1))
      name.erase(at, 1);
    table.columns.push_back(std::move(name));
    rest.consume_front("\r");
  } while (rest.consume_front(StringRef(&delimiter, 1)));
  rest.consume_front("\n");

  // Only quotes may hide a line's end.
  bool isQuoted = rest.contains('"');
  while (!rest.empty()) {
    if (takeEmptyLine(rest))
      continue;
    ++table.rows;
    if (isQuoted)
      do
        takeCell(rest, delimiter);
      while (rest.consume_front(StringRef(&delimiter, 1)));
    size_t end = rest.find('\n');
    rest = end == StringRef::npos ? StringRef() : rest.substr(end + 1);
  }
  return table;
}

static StringRef numpyName(uint8_t code) {
  switch (code) {
  case 0x08:
    return "|u1";
  case 0x09:
    return "|i1";
  case 0x0B:
    return "<i2";
  case 0x0C:
    return "<i4";
  case 0x0D:
    return "<f4";
  case 0x0E:
    return "<f8";
  default:
    return {};
  }
}

Expected<ArrayInfo> gradc::readIdx(StringRef path) {
  auto buffer = readFile(path);
  if (!buffer)
    return buffer.takeError();
  StringRef bytes = (*buffer)->getBuffer();
  std::string start;
  bool isGzip = bytes.starts_with("\x1f\x8b");
  if (isGzip)
    bytes = start = inflateStart(bytes, MAX_WBITS + 16, 4 + 4 * 255);
  if (bytes.size() < 4 || bytes[0] || bytes[1])
    return error("expected an idx file, which begins with two zero bytes");
  ArrayInfo info;
  info.dtype = numpyName(bytes[2]).str();
  if (info.dtype.empty())
    return error("element type %d is none of idx", int(uint8_t(bytes[2])));
  size_t rank = uint8_t(bytes[3]);
  if (bytes.size() < 4 + 4 * rank)
    return error("the header is cut off");
  uint64_t elements = 1;
  for (size_t i = 0; i < rank; ++i) {
    info.shape.push_back(support::endian::read32be(bytes.data() + 4 + 4 * i));
    elements *= info.shape.back();
  }
  uint64_t expected = elements * (info.dtype[2] - '0');
  if (uint64_t found = bytes.size() - 4 - 4 * rank; !isGzip && found != expected)
    return error("expected %llu bytes of data, found %llu", (unsigned long long)expected,
                 (unsigned long long)found);
  return info;
}
