// Parses the Python dictionary at the beginning of a .npy file: descr, fortran_order, and shape.
#include "runtime/data/source/NpyHeader.h"

#include "runtime/base/DataType.h"
#include "runtime/base/Text.h"
#include "runtime/data/source/SourceMemory.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>

namespace gradc::runtime {

namespace {

struct Descr {
  std::string_view code;
  gradc_dtype dtype;
};
constexpr Descr descrs[] = {
    {"<f4", GRADC_F32}, {"<f8", GRADC_F64}, {"<f2", GRADC_F16}, {"|u1", GRADC_U8},
    {"|i1", GRADC_I8},  {"<u2", GRADC_U16}, {"<i2", GRADC_I16}, {"<i4", GRADC_I32},
    {"<u4", GRADC_U32}, {"<i8", GRADC_I64}, {"<u8", GRADC_U64}, {"|b1", GRADC_BOOL},
};

/// A cursor over the dictionary.
class Dictionary {
public:
  explicit Dictionary(std::string_view text) : rest(text) {}

  bool eat(char c) {
    skipSpace();
    if (rest.empty() || rest.front() != c)
      return false;
    rest.remove_prefix(1);
    return true;
  }

  std::optional<std::string_view> quoted() {
    skipSpace();
    if (rest.empty() || (rest.front() != '\'' && rest.front() != '"'))
      return std::nullopt;
    size_t end = rest.find(rest.front(), 1);
    if (end == rest.npos)
      return std::nullopt;
    std::string_view value = rest.substr(1, end - 1);
    rest.remove_prefix(end + 1);
    return value;
  }

  std::optional<bool> boolean() {
    skipSpace();
    for (bool value : {false, true}) {
      std::string_view word = value ? "True" : "False";
      if (rest.starts_with(word)) {
        rest.remove_prefix(word.size());
        return value;
      }
    }
    return std::nullopt;
  }

  std::optional<std::vector<int64_t>> shape() {
    std::vector<int64_t> dims;
    if (!eat('('))
      return std::nullopt;
    while (!eat(')')) {
      skipSpace();
      int64_t dim = 0;
      auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), dim);
      if (error != std::errc() || dim < 0)
        return std::nullopt;
      rest.remove_prefix(size_t(end - rest.data()));
      dims.push_back(dim);
      if (!eat(',') && (rest.empty() || rest.front() != ')'))
        return std::nullopt;
    }
    return dims;
  }

  /// The text of an unknown value, up to the next comma or brace outside brackets.
  std::string_view anything() {
    skipSpace();
    int depth = 0;
    size_t length = 0;
    for (; length < rest.size(); ++length) {
      char c = rest[length];
      depth += (c == '[' || c == '(') - (c == ']' || c == ')');
      if (depth == 0 && (c == ',' || c == '}'))
        break;
    }
    std::string_view value = rest.substr(0, length);
    rest.remove_prefix(length);
    return value;
  }

private:
  void skipSpace() {
    while (!rest.empty() && (rest.front() == ' ' || rest.front() == '\n'))
      rest.remove_prefix(1);
  }
  std::string_view rest;
};

/// Parses strings: "|S5", "<U12".
bool parseText(std::string_view code, NpyHeader &result) {
  if (code.size() < 3 || (code[1] != 'S' && code[1] != 'U'))
    return false;
  auto [end, error] = std::from_chars(&code[2], code.data() + code.size(), result.characters);
  result.dtype = code[1] == 'S' ? GRADC_U8 : GRADC_U32;
  return error == std::errc() && end == code.data() + code.size() && result.characters > 0 &&
         result.characters < 1 << 30;
}

/// Parses "|V1" and "<V2".
bool parseOpaque(std::string_view code, NpyHeader &result) {
  result.isOpaque = code.size() == 3 && (code.ends_with("V1") || code.ends_with("V2"));
  if (result.isOpaque)
    result.dtype = code[2] == '1' ? GRADC_U8 : GRADC_U16;
  return result.isOpaque;
}

Status parseDictionary(std::string_view header, std::string_view what, bool takesAll,
                       NpyHeader &result) {
  auto malformed = [&] { return Status::error(text(what, " has a malformed .npy header")); };
  Dictionary dictionary(header);
  bool hasDescr = false, hasOrder = false, hasShape = false;
  if (!dictionary.eat('{'))
    return malformed();
  while (!dictionary.eat('}')) {
    auto key = dictionary.quoted();
    if (!key || !dictionary.eat(':'))
      return malformed();
    if (*key == "descr") {
      auto code = dictionary.quoted();
      std::string_view found = code ? *code : dictionary.anything();
      result.bigEndian = found.starts_with('>');
      for (const Descr &descr : descrs)
        if (descr.code.substr(1) == found.substr(std::min<size_t>(1, found.size())) &&
            (descr.code[0] == found[0] || result.bigEndian)) {
          result.dtype = descr.dtype;
          hasDescr = true;
        }
      if (!hasDescr && takesAll)
        hasDescr = parseText(found, result) || parseOpaque(found, result);
      if (!hasDescr)
        return Status::error(
            text(what, " has element type '", found, "', expected integers, floats or bool"));
    } else if (*key == "fortran_order") {
      auto fortran = dictionary.boolean();
      if (!fortran)
        return malformed();
      hasOrder = true;
      result.fortranOrder = *fortran;
    } else if (*key == "shape") {
      auto shape = dictionary.shape();
      if (!shape)
        return malformed();
      result.shape = std::move(*shape);
      hasShape = true;
    } else {
      return malformed();
    }
    dictionary.eat(',');
  }
  for (auto [has, key] : {std::pair(hasDescr, "descr"), std::pair(hasOrder, "fortran_order"),
                          std::pair(hasShape, "shape")})
    if (!has)
      return Status::error(text(what, " has a .npy header without ", key));
  return {};
}

} // namespace

Result<NpyHeader> parseNpy(std::span<const std::byte> bytes, std::string_view what, uint64_t size,
                           bool takesAll) {
  constexpr std::string_view magic = "\x93NUMPY";
  auto truncated = [&](size_t expected) {
    return Status::error(text(what, " is truncated: expected ", expected, " bytes, found ", size));
  };
  auto byteAt = [&](size_t i) { return size_t(uint8_t(bytes[i])); };

  if (bytes.size() < magic.size() || std::memcmp(bytes.data(), magic.data(), magic.size()))
    return Status::error(text(what, " is not a .npy array"));
  if (bytes.size() < 12)
    return truncated(12);
  size_t major = byteAt(6);
  if (major < 1 || major > 3)
    return Status::error(text(what, " has .npy version ", major, ", expected 1, 2 or 3"));
  size_t begin = major == 1 ? 10 : 12;
  size_t length = byteAt(8) | byteAt(9) << 8;
  if (major > 1)
    length |= byteAt(10) << 16 | byteAt(11) << 24;
  if (bytes.size() < begin + length)
    return truncated(begin + length);

  NpyHeader header;
  std::string_view dictionary(reinterpret_cast<const char *>(bytes.data()) + begin, length);
  if (Status status = parseDictionary(dictionary, what, takesAll, header); !status.ok())
    return status;
  if (header.characters && header.fortranOrder)
    return Status::error(text(what, " has strings in Fortran order, expected C order"));
  if (header.characters)
    header.shape.push_back(header.characters);
  header.dataOffset = begin + length;
  header.dataBytes = findDataType(header.dtype)->bytes;
  for (int64_t dim : header.shape)
    if (__builtin_mul_overflow(header.dataBytes, size_t(dim), &header.dataBytes))
      return Status::error(
          text(what, " has shape ", shapeText(header.shape), ", which is too big"));
  if (size - header.dataOffset < header.dataBytes)
    return truncated(header.dataOffset + header.dataBytes);
  return header;
}

std::shared_ptr<const std::byte[]> plainNpy(const NpyHeader &header, const std::byte *data) {
  size_t width = findDataType(header.dtype)->bytes, count = header.dataBytes / width;
  auto plain = allocateForSource(header.dataBytes);
  if (!plain)
    return nullptr;
  // The current element, by its position in the file: in Fortran order, the first dim is the
  // fastest.
  size_t rank = header.shape.size();
  std::vector<size_t> strides(rank), index(rank);
  size_t stride = 1;
  for (size_t i = 0; i < rank; ++i) {
    size_t dim = header.fortranOrder ? i : rank - 1 - i;
    strides[dim] = stride;
    stride *= size_t(header.shape[dim]);
  }
  size_t from = 0;
  for (size_t to = 0; to < count; ++to) {
    const std::byte *element = data + from * width;
    std::byte *out = plain.get() + to * width;
    if (header.bigEndian)
      std::reverse_copy(element, element + width, out);
    else
      std::memcpy(out, element, width);
    for (size_t dim = rank; dim-- > 0;) {
      from += strides[dim];
      if (++index[dim] < size_t(header.shape[dim]))
        break;
      from -= strides[dim] * index[dim];
      index[dim] = 0;
    }
  }
  return plain;
}

} // namespace gradc::runtime
