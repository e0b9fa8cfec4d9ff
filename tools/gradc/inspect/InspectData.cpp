// Files of data: arrays, archives of them, and tables.
#include "tools/gradc/inspect/Inspect.h"

#include "compiler/import/support/FileKind.h"
#include "runtime/base/DataType.h"
#include "runtime/data/source/CsvReader.h"
#include "runtime/data/source/CsvText.h"
#include "runtime/data/source/IdxHeader.h"
#include "runtime/data/source/Inflate.h"
#include "runtime/data/source/NpyHeader.h"
#include "runtime/data/source/ParquetText.h"
#include "runtime/data/source/ZipArchive.h"
#include "tools/gradc/Console.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

namespace gradc {

static InspectedTensor inspected(std::string name, const runtime::NpyHeader &header) {
  return {std::move(name), runtime::findDataType(header.dtype)->name, header.shape,
          int64_t(header.dataBytes)};
}

int inspectNpy(const std::string &path, std::span<const std::byte> bytes) {
  auto header = runtime::parseNpy(bytes, path);
  if (!header)
    return fail(header.status());
  fmt::print(".npy array\n");
  printTensors("arrays", inspected("array", *header));
  return exitCode(Code::ok);
}

int inspectNpz(const std::string &path, std::span<const std::byte> bytes) {
  auto members = runtime::listZip(bytes, path);
  if (!members)
    return fail(members.status());
  std::vector<InspectedTensor> tensors;
  for (const runtime::ZipMember &member : *members) {
    auto start = runtime::startZip(bytes, member, path);
    if (!start)
      return fail(start.status());
    auto header = runtime::parseNpy(start->bytes, path + ": " + member.name, member.size);
    if (!header)
      return fail(header.status());
    llvm::StringRef name = member.name;
    name.consume_back(".npy");
    tensors.push_back(inspected(name.str(), *header));
  }
  llvm::sort(tensors, [](const auto &a, const auto &b) { return a.name < b.name; });
  fmt::print(".npz archive\n");
  printTensors("arrays", tensors);
  return exitCode(Code::ok);
}

int inspectIdx(const std::string &path, std::span<const std::byte> bytes) {
  auto header = runtime::readIdxHeader(bytes, path);
  if (!header)
    return fail(header.status());
  InspectedTensor array = {"array", runtime::findDataType(header->dtype)->name, header->shape,
                           int64_t(header->dataBytes)};
  fmt::print(".idx array\n");
  printTensors("arrays", array);
  return exitCode(Code::ok);
}

int failForKind(llvm::StringRef path, llvm::StringRef expected, llvm::StringRef bytes) {
  std::string found = fileKind(bytes);
  return fail(Code::invalid, "expected " + path + " to be " + expected + ", found " +
                                 (found.empty() ? "another kind of file" : found));
}

/// The names of columns; the values of a list, "x[0]" to "x[7]", share a line.
static std::vector<std::string> linesOf(const std::vector<std::string> &columns) {
  std::vector<std::string> lines;
  for (size_t i = 0; i < columns.size();) {
    std::string_view list = runtime::listOf(columns[i]);
    size_t end = i + 1;
    while (!list.empty() && end < columns.size() && runtime::listOf(columns[end]) == list)
      ++end;
    lines.push_back(end == i + 1 ? columns[i] : columns[i] + " to " + columns[end - 1]);
    i = end;
  }
  return lines;
}

int inspectTable(const std::string &path, llvm::StringRef content) {
  auto bytes = std::as_bytes(std::span(content.data(), content.size()));
  constexpr size_t mostText = size_t(1) << 36;
  runtime::Inflated inflated;
  bool isParquet = runtime::isParquet(bytes);
  if (isParquet) {
    if (runtime::Status status = runtime::readParquet(path, {.maxBytes = mostText}, {}, inflated);
        !status.ok())
      return fail(status);
  } else if (runtime::isGzip(bytes)) {
    inflated = runtime::inflateAll(bytes, mostText, runtime::Deflated::gzip);
    if (!inflated.bytes)
      return fail(Code::error, path + " is a damaged gzip file");
  }
  if (inflated.bytes)
    bytes = {inflated.bytes.get(), inflated.size};
  if (!isParquet && std::ranges::count(bytes, std::byte(0)))
    return failForKind(path, "a table of text", content);
  runtime::CsvOptions options;
  bool isTabbed = llvm::StringRef(path).contains(".tsv");
  if (isTabbed)
    options.delimiter = '\t';
  auto table = runtime::outlineCsv(bytes, path, options);
  if (!table)
    return fail(table.status());
  fmt::print("{} of {} rows; columns{}:\n  {}\n", isParquet ? ".parquet table" : ".csv table",
             table->rows,
             isParquet  ? ""
             : isTabbed ? ", where they are separated by tabs"
                        : ", where they are separated by commas",
             fmt::join(linesOf(table->columns), "\n  "));
  return exitCode(Code::ok);
}

} // namespace gradc
