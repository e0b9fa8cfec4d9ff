// Walks the spec by reflection, so that a new message needs no code here.
#include "compiler/artifact/Job.h"

#include "compiler/import/spec/TrainingSpec.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <vector>

using namespace gradc;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

namespace {

class JobWriter {
public:
  explicit JobWriter(Blob &blob) : blob(blob) {}

  std::vector<gradc_artifact_value> values;

  uint32_t add(llvm::StringRef name, gradc_value_kind kind) {
    gradc_artifact_value value{};
    value.name = blob.intern(name);
    value.kind = kind;
    value.first_child = value.next_sibling = GRADC_NONE;
    values.push_back(value);
    return values.size() - 1;
  }

  uint32_t addString(llvm::StringRef name, llvm::StringRef text) {
    uint32_t i = add(name, GRADC_VALUE_STRING);
    values[i].as.string = blob.intern(text);
    return i;
  }

  uint32_t addGroup(llvm::StringRef name, const Message &message) {
    uint32_t group = add(name, GRADC_VALUE_GROUP);
    addFields(group, GRADC_NONE, message);
    return group;
  }

  /// Appends the message's fields after the group's last child. Links only lead forward.
  void addFields(uint32_t group, uint32_t last, const Message &message) {
    auto link = [&](uint32_t child) {
      (last == GRADC_NONE ? values[group].first_child : values[last].next_sibling) = child;
      last = child;
    };
    const auto *descriptor = message.GetDescriptor();
    const auto *reflection = message.GetReflection();
    if (const auto *data = google::protobuf::DynamicCastToGenerated<spec::Data>(&message))
      return addData(link, *data);
    for (int f = 0; f < descriptor->field_count(); ++f) {
      const FieldDescriptor *field = descriptor->field(f);
      if (field->is_repeated()) {
        for (int i = 0, n = reflection->FieldSize(message, field); i < n; ++i)
          link(addField(message, field, i));
      } else if (reflection->HasField(message, field) || field->has_default_value()) {
        link(addField(message, field, -1));
      }
    }
  }

private:
  /// A chain is written in order, after the fields about the chain as a whole.
  void addData(llvm::function_ref<void(uint32_t)> link, const spec::Data &data) {
    const auto *descriptor = data.GetDescriptor();
    for (int f = 0; f < descriptor->field_count(); ++f)
      if (const FieldDescriptor *field = descriptor->field(f); !field->is_repeated()) {
        bool isStage = field->message_type() && field->name() != "source";
        if (!isStage && (data.GetReflection()->HasField(data, field) || field->has_default_value()))
          link(addField(data, field, -1));
      }
    for (const SpecFile::Step &stage : SpecFile::stagesOf(data))
      link(addField(data, descriptor->FindFieldByName(stage.name), stage.index));
  }

  /// One field, or element `i` of a repeated one.
  uint32_t addField(const Message &m, const FieldDescriptor *field, int i) {
    const auto *r = m.GetReflection();
    const std::string &name = field->name();
    switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return addGroup(name, i < 0 ? r->GetMessage(m, field) : r->GetRepeatedMessage(m, field, i));
    case FieldDescriptor::CPPTYPE_STRING:
      return addString(name, i < 0 ? r->GetString(m, field) : r->GetRepeatedString(m, field, i));
    case FieldDescriptor::CPPTYPE_ENUM:
      return addString(name,
                       (i < 0 ? r->GetEnum(m, field) : r->GetRepeatedEnum(m, field, i))->name());
    case FieldDescriptor::CPPTYPE_DOUBLE: {
      uint32_t v = add(name, GRADC_VALUE_FLOAT);
      values[v].as.real = i < 0 ? r->GetDouble(m, field) : r->GetRepeatedDouble(m, field, i);
      return v;
    }
    case FieldDescriptor::CPPTYPE_BOOL: {
      uint32_t v = add(name, GRADC_VALUE_BOOL);
      values[v].as.integer = i < 0 ? r->GetBool(m, field) : r->GetRepeatedBool(m, field, i);
      return v;
    }
    default: {
      assert(field->cpp_type() == FieldDescriptor::CPPTYPE_INT64 &&
             "the spec's integers are int64");
      uint32_t v = add(name, GRADC_VALUE_INT);
      values[v].as.integer = i < 0 ? r->GetInt64(m, field) : r->GetRepeatedInt64(m, field, i);
      return v;
    }
    }
  }

  Blob &blob;
};

} // namespace

gradc_range gradc::appendJob(Blob &blob, const spec::Training &spec, llvm::StringRef directory) {
  JobWriter writer(blob);
  uint32_t root = writer.add("training", GRADC_VALUE_GROUP);
  uint32_t first = writer.addString("directory", directory);
  writer.values[root].first_child = first;
  writer.addFields(root, first, spec);
  return blob.append(llvm::ArrayRef(writer.values));
}
