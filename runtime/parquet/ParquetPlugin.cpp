// Passes on what Arrow's C++ library reads. Catches its exceptions.
#include "runtime/include/gradc/parquet.h"

#include <arrow/api.h>
#include <arrow/c/bridge.h>
#include <arrow/io/file.h>
#include <cstdio>
#include <numeric>
#include <parquet/arrow/reader.h>
#include <parquet/arrow/schema.h>
#include <parquet/file_reader.h>

struct gradc_parquet_file {
  std::unique_ptr<parquet::arrow::FileReader> reader;
};

namespace {

struct Message {
  char *text;
  size_t bytes;

  int say(const std::string &why) const {
    std::snprintf(text, bytes, "%s", why.c_str());
    return 1;
  }
};

/// Runs a function that returns an arrow::Status. Returns 0, or reports the message.
template <typename Body> int guarded(Message message, Body &&body) {
  try {
    arrow::Status status = body();
    return status.ok() ? 0 : message.say(status.message());
  } catch (const std::exception &error) {
    return message.say(error.what());
  }
}

arrow::Status open(const char *path, gradc_parquet_file &file, ArrowSchema *schema) {
  ARROW_ASSIGN_OR_RAISE(auto bytes,
                        arrow::io::MemoryMappedFile::Open(path, arrow::io::FileMode::READ));
  ARROW_ASSIGN_OR_RAISE(file.reader, parquet::arrow::OpenFile(bytes, arrow::default_memory_pool()));
  std::shared_ptr<arrow::Schema> found;
  ARROW_RETURN_NOT_OK(file.reader->GetSchema(&found));
  return arrow::ExportSchema(*found, schema);
}

arrow::Status read(gradc_parquet_file &file, const int *columns, int count,
                   ArrowArrayStream *stream) {
  std::vector<int> leaves, groups(size_t(file.reader->num_row_groups()));
  std::iota(groups.begin(), groups.end(), 0);
  for (int i = 0; i < count; ++i) {
    const parquet::arrow::SchemaField &field =
        file.reader->manifest().schema_fields.at(size_t(columns[i]));
    const parquet::arrow::SchemaField *leaf = &field;
    while (leaf->children.size() == 1) // of a list
      leaf = &leaf->children.front();
    if (!leaf->is_leaf())
      return arrow::Status::Invalid("column '", field.field->name(), "' is ",
                                    field.field->type()->ToString(),
                                    ", expected one number or text a row, or a list of them");
    leaves.push_back(leaf->column_index);
  }
  ARROW_ASSIGN_OR_RAISE(auto batches, file.reader->GetRecordBatchReader(groups, leaves));
  return arrow::ExportRecordBatchReader(std::move(batches), stream);
}

} // namespace

gradc_parquet_file *gradc_parquet_open(const char *path, ArrowSchema *schema, char *message,
                                       size_t bytes) {
  auto file = std::make_unique<gradc_parquet_file>();
  int failed = guarded({message, bytes}, [&] { return open(path, *file, schema); });
  return failed ? nullptr : file.release();
}

int gradc_parquet_read(gradc_parquet_file *file, const int *columns, int count,
                       ArrowArrayStream *stream, char *message, size_t bytes) {
  return guarded({message, bytes}, [&] { return read(*file, columns, count, stream); });
}

void gradc_parquet_close(gradc_parquet_file *file) { delete file; }
