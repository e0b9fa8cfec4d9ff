// Rows pass through the transforms of their fields as they are read.
#include "runtime/data/stage/MappedTable.h"

#include "runtime/base/Text.h"

#include <algorithm>

namespace gradc::runtime {

MappedTable::MappedTable(std::shared_ptr<const Table> input, std::vector<MappedField> given,
                         uint64_t seed, std::optional<size_t> sizes)
    : TableStage(std::move(input)), mapped(std::move(given)), seed(seed), sizes(sizes) {
  auto before = this->input->fields();
  fieldList.assign(before.begin(), before.end());
  for (const MappedField &one : mapped) {
    fieldList[one.index] = one.transform->result;
    fieldList[one.index].maskOf = before[one.index].maskOf;
  }
}

Result<Value> MappedTable::view(size_t field, RowRef row, Scratch &scratch) const {
  const MappedField *one = find(field);
  if (!one)
    return input->view(field, row, scratch);
  Output out(fieldList[field], scratch.slot(one->slot + 1));
  if (Status status = apply(*one, row, scratch, out); !status.ok())
    return status;
  return out.value();
}

Status MappedTable::read(size_t field, RowList rows, Scratch &scratch, std::byte *out) const {
  const MappedField *one = find(field);
  if (!one)
    return input->read(field, rows, scratch, out);
  size_t bytes = fieldList[field].bytes(), made = 0;
  if (const std::byte *column = input->column(field))
    made = one->transform->applyAll(column, rows.rows, out);
  for (; made < rows.rows.size(); ++made) {
    Output place(fieldList[field], out + made * bytes);
    if (Status status = apply(*one, {rows.epoch, rows.rows[made]}, scratch, place); !status.ok())
      return status;
  }
  return {};
}

std::shared_ptr<const Table> MappedTable::followedBy(std::span<const MappedField> next) const {
  std::vector<MappedField> all = mapped;
  for (const MappedField &one : next) {
    auto same = std::ranges::find(all, one.index, &MappedField::index);
    auto both = same == all.end() ? nullptr : same->transform->followedBy(*one.transform);
    if (!both)
      return nullptr;
    same->transform = std::move(both);
  }
  return std::make_shared<MappedTable>(input, std::move(all), seed, sizes);
}

const MappedField *MappedTable::find(size_t field) const {
  auto found = std::ranges::find(mapped, field, &MappedField::index);
  return found == mapped.end() ? nullptr : &*found;
}

Status MappedTable::apply(const MappedField &one, RowRef row, Scratch &scratch, Output &out) const {
  auto in = input->view(one.index, row, scratch);
  if (!in)
    return in.status();
  if (sizes)
    if (Status status = checkSize(one, *in, row, scratch); !status.ok())
      return status;
  Random random(seed, one.stage, row.epoch, row.row);
  Status status = one.transform->apply(*in, random, scratch.slot(one.slot), out);
  return status.ok() ? status : located(one, row, status);
}

/// Fails if a picture's size is not that of the row's first one, which is mostly the last picture
/// that this thread has read.
Status MappedTable::checkSize(const MappedField &one, const Value &in, RowRef row,
                              Scratch &scratch) const {
  const MappedField &first = mapped.front();
  std::vector<int64_t> &known = scratch.slot(*sizes).shape; // epoch, row, height, width
  bool isKnown = known.size() == 4 && known[0] == int64_t(row.epoch) && known[1] == row.row;
  if (&one == &first || !isKnown) {
    auto picture = &one == &first ? Result<Value>(in) : input->view(first.index, row, scratch);
    if (!picture)
      return picture.status();
    known = {int64_t(row.epoch), row.row, picture->shape[0], picture->shape[1]};
  }
  if (in.shape[0] == known[2] && in.shape[1] == known[3])
    return {};
  return located(
      one, row,
      Status::error(text("has ", in.shape[1], " x ", in.shape[0],
                         " pixels, expected those of field '", fieldList[first.index].name, "', ",
                         known[3], " x ", known[2], ", as both are cut at the same random place")));
}

/// The error of a row's field.
Status MappedTable::located(const MappedField &one, RowRef row, const Status &status) const {
  return Status(status.code(), text(describeRow(row.row, one.index), ": field '",
                                    fieldList[one.index].name, "' ", status.message()));
}

} // namespace gradc::runtime
