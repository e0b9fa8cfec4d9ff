// Opens the plug-in, and writes Arrow's columns as text, row by row.
#include "runtime/data/source/ParquetText.h"

#include "runtime/base/Text.h"
#include "runtime/data/source/CsvText.h"
#include "runtime/data/source/ParquetColumn.h"
#include "runtime/include/gradc/parquet.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <map>
#include <memory>
#include <unistd.h>
#include <vector>

namespace gradc::runtime {

namespace {

struct Plugin {
  decltype(&gradc_parquet_open) open = nullptr;
  decltype(&gradc_parquet_read) read = nullptr;
  decltype(&gradc_parquet_close) close = nullptr;

  static Result<Plugin> find();
};

/// Next to the program, and where an installed program has its libraries.
std::vector<std::string> places() {
  constexpr const char *name = "libgradc-parquet.so";
  if (const char *named = std::getenv("GRADC_LIBPARQUET"); named && *named)
    return {named};
  char program[4096];
  ssize_t length = readlink("/proc/self/exe", program, sizeof program);
  std::string folder(program, size_t(std::max<ssize_t>(length, 0)));
  folder.resize(folder.rfind('/') == folder.npos ? 0 : folder.rfind('/'));
  return {text(folder, '/', name), text(folder, "/../lib/gradc/", name), name};
}

Result<Plugin> Plugin::find() {
  std::string reasons;
  for (const std::string &place : places()) {
    void *library = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) {
      reasons += text(reasons.empty() ? "" : "; ", dlerror());
      continue;
    }
    Plugin plugin;
    plugin.open = reinterpret_cast<decltype(open)>(dlsym(library, "gradc_parquet_open"));
    plugin.read = reinterpret_cast<decltype(read)>(dlsym(library, "gradc_parquet_read"));
    plugin.close = reinterpret_cast<decltype(close)>(dlsym(library, "gradc_parquet_close"));
    if (plugin.open && plugin.read && plugin.close)
      return plugin;
    reasons = text(place, " is not gradc's plug-in");
  }
  return Status::error(
      text("reading Parquet needs gradc's plug-in libgradc-parquet.so, which is built "
           "where Arrow is installed (pip install pyarrow, or libparquet-dev): ",
           reasons, "; GRADC_LIBPARQUET names it"));
}

/// An Arrow structure, released by its destructor.
template <typename T> struct Owned {
  T value = {};
  Owned() = default;
  Owned(const Owned &) = delete;
  ~Owned() {
    if (value.release)
      value.release(&value);
  }
};

class Reader {
public:
  Reader(const std::string &path, const CsvOptions &options) : path(path), options(options) {}
  ~Reader() {
    if (file)
      plugin.close(file);
  }

  Result<std::string> read(std::span<const CsvField> fields);

private:
  /// A column to read.
  struct Chosen {
    int number; ///< in the file
    ParquetColumn cells;
  };

  Status fail(std::string_view why) const {
    return Status::error(runtime::text("cannot read '", path, "': ", why));
  }
  Status choose(const ArrowSchema &schema, std::span<const CsvField> fields);
  Status measureLists(bool readsAll);
  std::string tellLength(const Chosen &list, int64_t count, int64_t row) const;
  Status addBadRow(const ArrowArray &batch, int64_t row, bool &isBad);
  void addHeader();
  Status addRows(const ArrowArray &batch);
  template <typename Body> Status forEachBatch(std::span<const int> numbers, Body &&body);

  const std::string &path;
  const CsvOptions &options;
  Plugin plugin;
  gradc_parquet_file *file = nullptr;
  std::vector<std::string> names; ///< of the file's columns
  std::vector<Chosen> chosen;
  int64_t before = 0; ///< rows of the batches before
  std::string out;
};

/// Whether a field names a column, or values of a column of lists.
bool isNamed(std::string_view column, bool isList, std::span<const CsvField> fields) {
  return std::ranges::any_of(fields, [&](const CsvField &field) {
    return std::ranges::any_of(field.columns, [&](const std::string &pattern) {
      return matches(pattern, column) || (isList && matches(listOf(pattern), column));
    });
  });
}

/// Selects the columns to read.
Status Reader::choose(const ArrowSchema &schema, std::span<const CsvField> fields) {
  if (schema.n_children == 0)
    return fail("its table has no columns");
  for (int64_t i = 0; i < schema.n_children; ++i) {
    const ArrowSchema &column = *schema.children[i];
    const std::string &name =
        names.emplace_back(column.name ? trimmed(column.name) : std::string_view());
    ParquetColumn cells(column, options.delimiter);
    if (!fields.empty() && !isNamed(name, cells.isList(), fields))
      continue;
    if (cells.isKnown())
      chosen.push_back({int(i), std::move(cells)});
    else if (!fields.empty())
      return fail(runtime::text("column '", name, "' has Arrow's type '", cells.format(),
                                "', expected numbers, booleans, texts, times, or lists of these"));
  }
  return {};
}

template <typename Body> Status Reader::forEachBatch(std::span<const int> numbers, Body &&body) {
  char message[1024] = {};
  Owned<ArrowArrayStream> stream;
  if (plugin.read(file, numbers.data(), int(numbers.size()), &stream.value, message,
                  sizeof message))
    return fail(message);
  for (;;) {
    Owned<ArrowArray> batch;
    if (stream.value.get_next(&stream.value, &batch.value)) {
      const char *why = stream.value.get_last_error(&stream.value);
      return fail(why ? why : "it is damaged");
    }
    if (!batch.value.release) // end of the stream
      return {};
    if (Status status = body(batch.value); !status.ok())
      return status;
  }
}

std::string Reader::tellLength(const Chosen &list, int64_t count, int64_t row) const {
  return runtime::text("column '", names[size_t(list.number)], "' has a list of ", count,
                       count == 1 ? " value" : " values", " in row ", before + row,
                       " (from 0), expected ");
}

/// The length of most lists; of equally many, the smallest.
int64_t mostFrequent(const std::map<int64_t, int64_t> &rowsOfLength) {
  auto most =
      std::ranges::max_element(rowsOfLength, {}, [](const auto &one) { return one.second; });
  return most == rowsOfLength.end() ? 0 : most->first;
}

/// Finds the length of each column's lists before a row is written, as the header depends on it.
/// Lists of several lengths are an error or, where all columns are only looked at, not read. Where
/// bad rows are collected, most lists have the expected length.
Status Reader::measureLists(bool readsAll) {
  std::vector<int> numbers;
  std::vector<Chosen *> lists;
  for (Chosen &one : chosen)
    if (one.cells.isList()) {
      numbers.push_back(one.number);
      lists.push_back(&one);
      one.cells.width = 0; // no list so far
    }
  if (lists.empty())
    return {};
  std::vector<std::map<int64_t, int64_t>> rowsOfLength(lists.size()); // if bad rows are collected
  Status measured = forEachBatch(numbers, [&](const ArrowArray &batch) -> Status {
    for (size_t i = 0; i < lists.size(); ++i) {
      ParquetColumn &cells = lists[i]->cells;
      for (int64_t row = 0; row < batch.length && cells.width >= 0; ++row) {
        int64_t count = cells.countValues(*batch.children[i], row + batch.offset);
        if (count < 0 || (count > 0 && count == cells.width))
          continue;
        if (options.bad)
          rowsOfLength[i][count] += count > 0;
        else if (count > 0 && cells.width == 0)
          cells.width = count;
        else if (readsAll)
          cells.width = -1;
        else
          return fail(runtime::text(
              tellLength(*lists[i], count, row),
              cells.width ? runtime::text(cells.width, ", as in the rows before") : "1 or more"));
      }
    }
    before += batch.length;
    return {};
  });
  before = 0;
  for (size_t i = 0; options.bad && i < lists.size(); ++i)
    lists[i]->cells.width = mostFrequent(rowsOfLength[i]);
  std::erase_if(chosen, [](const Chosen &one) { return one.cells.width < 0; });
  for (Chosen &one : chosen)
    one.cells.width = std::max<int64_t>(one.cells.width, 1);
  return measured;
}

void Reader::addHeader() {
  size_t next = 0; // of the chosen columns
  for (size_t i = 0; i < names.size(); ++i) {
    bool isChosen = next < chosen.size() && size_t(chosen[next].number) == i;
    const ParquetColumn *cells = isChosen ? &chosen[next++].cells : nullptr;
    if (i)
      out += options.delimiter;
    if (names.size() == 1 && names[i].empty()) // an empty line would not be a row
      out += "\"\"";
    if (!cells || !cells->isList()) {
      appendCell(out, names[i], options.delimiter);
      continue;
    }
    for (int64_t value = 0; value < cells->width; ++value) {
      if (value)
        out += options.delimiter;
      appendCell(out, runtime::text(names[i], '[', value, ']'), options.delimiter);
    }
  }
  out += '\n';
}

/// If a list of the row has another length than most, and bad rows are collected, adds the row to
/// them. Its line has one cell more than the header, so that it cannot be read, either.
Status Reader::addBadRow(const ArrowArray &batch, int64_t row, bool &isBad) {
  isBad = false;
  if (!options.bad)
    return {};
  size_t cells = 0; // of the lists, less one for each
  for (size_t i = 0; i < chosen.size(); ++i) {
    const ParquetColumn &list = chosen[i].cells;
    cells += size_t(list.width) - 1;
    int64_t count = list.isList() ? list.countValues(*batch.children[i], row + batch.offset) : -1;
    if (isBad || count < 0 || count == list.width)
      continue;
    isBad = true;
    Status wrong =
        fail(runtime::text(tellLength(chosen[i], count, row),
                           count ? runtime::text(list.width, ", as in most rows") : "1 or more"));
    if (options.bad->size() >= mostBadRows)
      return wrong;
    options.bad->emplace(before + row, wrong.message());
  }
  if (isBad)
    out.append(names.size() + cells, options.delimiter) += '\n';
  return {};
}

Status Reader::addRows(const ArrowArray &batch) {
  for (int64_t row = 0; row < batch.length; ++row) {
    bool isBad = false;
    if (Status status = addBadRow(batch, row, isBad); !status.ok())
      return status;
    if (isBad)
      continue;
    int at = 0;
    for (size_t i = 0; i < chosen.size(); ++i) {
      for (; at < chosen[i].number; ++at)
        out += options.delimiter;
      if (!chosen[i].cells.addTo(out, *batch.children[i], row + batch.offset))
        return fail("it is damaged: a value is not in its dictionary or list");
    }
    if (names.size() == 1 && out.back() == '\n') // an empty line would not be a row
      out += "\"\"";
    out.append(names.size() - 1 - size_t(at), options.delimiter);
    out += '\n';
  }
  before += batch.length;
  if (out.size() > options.maxBytes)
    return Status(Code::doesNotFit, runtime::text("the table of '", path, "' takes more than ",
                                                  options.maxBytes, " bytes"));
  return {};
}

Result<std::string> Reader::read(std::span<const CsvField> fields) {
  auto found = Plugin::find();
  if (!found)
    return found.status();
  plugin = *found;
  char message[1024] = {};
  Owned<ArrowSchema> schema;
  file = plugin.open(path.c_str(), &schema.value, message, sizeof message);
  if (!file)
    return fail(message);
  if (Status status = choose(schema.value, fields); !status.ok())
    return status;
  if (Status status = measureLists(/*readsAll=*/fields.empty()); !status.ok())
    return status;
  addHeader();
  std::vector<int> numbers;
  for (const Chosen &one : chosen)
    numbers.push_back(one.number);
  Status status = forEachBatch(numbers, [&](const ArrowArray &batch) { return addRows(batch); });
  if (!status.ok())
    return status;
  return std::move(out);
}

} // namespace

Status parquetText(const std::string &path, const CsvOptions &options,
                   std::span<const CsvField> fields, Inflated &text) {
  auto written = Reader(path, options).read(fields);
  if (!written)
    return written.status();
  text.bytes.reset(static_cast<std::byte *>(std::malloc(written->size())));
  if (!text.bytes)
    return Status(Code::doesNotFit, runtime::text("the table of '", path, "' takes ",
                                                  written->size(), " bytes, which there are not"));
  std::memcpy(text.bytes.get(), written->data(), text.size = written->size());
  return {};
}

} // namespace gradc::runtime
