// Default implementations of tables, and the search for a field.
#include "runtime/base/Text.h"
#include "runtime/data/Dataset.h"

#include <cstring>

namespace gradc::runtime {

Status Table::read(size_t field, RowList rows, Scratch &scratch, std::byte *out) const {
  const Field &wanted = fields()[field];
  size_t bytes = wanted.bytes();
  for (int64_t row : rows.rows) {
    auto value = view(field, {rows.epoch, row}, scratch);
    if (!value)
      return value.status();
    if (value->bytes != bytes)
      return Status::error(text(describeRow(row, field), ": field '", wanted.name, "' has shape ",
                                shapeText(value->shape), ", expected ", shapeText(wanted.shape)));
    std::memcpy(out, value->data, bytes);
    out += bytes;
  }
  return {};
}

std::string Table::describe(size_t field) const {
  return text("field '", fields()[field].name, "' of ", origin());
}

std::string Table::describeRow(int64_t row, size_t) const {
  return text("row ", row, " (from 0) of ", origin());
}

Result<size_t> findField(const Table &table, std::string_view name, std::string_view reader) {
  auto fields = table.fields();
  for (size_t i = 0; i < fields.size(); ++i)
    if (fields[i].name == name)
      return i;
  return Status::invalid(
      text(reader, " reads field '", name, "', which ", table.origin(), " does not give"));
}

} // namespace gradc::runtime
