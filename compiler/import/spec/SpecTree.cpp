// Walks messages by reflection, so a new message needs no code here.
#include "compiler/import/spec/SpecTree.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

using namespace gradc;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

SpecTree::SpecTree(const Message &message, llvm::StringRef name, const Places *text,
                   llvm::ArrayRef<std::string> entries)
    : strings(1, '\0'), entries(entries) {
  addGroup(name, message, text);
}

uint32_t SpecTree::link(uint32_t parent, uint32_t child) {
  uint32_t *place = &values[parent].first_child;
  while (*place != GRADC_NONE)
    place = &values[*place].next_sibling;
  return *place = child;
}

uint32_t SpecTree::addGroup(llvm::StringRef name, uint32_t parent) {
  return link(parent, add(name, GRADC_VALUE_GROUP));
}

void SpecTree::addString(llvm::StringRef name, llvm::StringRef text, uint32_t parent) {
  link(parent, addText(name, text));
}

void SpecTree::addReal(llvm::StringRef name, double value, uint32_t parent) {
  values[link(parent, add(name, GRADC_VALUE_FLOAT))].as.real = value;
}

void SpecTree::addInteger(llvm::StringRef name, int64_t value, uint32_t parent) {
  values[link(parent, add(name, GRADC_VALUE_INT))].as.integer = value;
}

uint32_t SpecTree::intern(llvm::StringRef text) {
  auto offset = uint32_t(strings.size());
  strings += text;
  strings += '\0';
  return offset;
}

uint32_t SpecTree::add(llvm::StringRef name, gradc_value_kind kind) {
  gradc_artifact_value value{};
  value.name = intern(name);
  value.kind = kind;
  value.first_child = value.next_sibling = GRADC_NONE;
  values.push_back(value);
  places.push_back({-1, -1});
  messages.push_back(nullptr);
  return values.size() - 1;
}

uint32_t SpecTree::addText(llvm::StringRef name, llvm::StringRef text) {
  uint32_t i = add(name, GRADC_VALUE_STRING);
  values[i].as.string = intern(text);
  return i;
}

/// The only field of a stage that is set, or null.
static const FieldDescriptor *kindOf(const Message &stage) {
  return stage.GetReflection()->GetOneofFieldDescriptor(stage,
                                                        spec::Stage::descriptor()->oneof_decl(0));
}

uint32_t SpecTree::addGroup(llvm::StringRef name, const Message &message, const Places *text) {
  uint32_t group = add(name, GRADC_VALUE_GROUP), last = GRADC_NONE;
  messages[group] = &message;
  auto link = [&](uint32_t child) { // always forward
    (last == GRADC_NONE ? values[group].first_child : values[last].next_sibling) = child;
    last = child;
  };
  const auto *descriptor = message.GetDescriptor();
  const auto *reflection = message.GetReflection();
  for (int f = 0; f < descriptor->field_count(); ++f) {
    const FieldDescriptor *field = descriptor->field(f);
    bool isStage = field->message_type() == spec::Stage::descriptor();
    if (field->is_repeated())
      for (int i = 0, n = reflection->FieldSize(message, field); i < n; ++i) {
        if (!isStage || kindOf(reflection->GetRepeatedMessage(message, field, i)))
          link(addField(message, field, i, text));
      }
    else if (reflection->HasField(message, field) || field->has_default_value())
      link(addField(message, field, -1, text));
  }
  if (descriptor == spec::MapModel::descriptor() && !entries.empty()) {
    link(addText("entry", entries.front()));
    entries = entries.drop_front();
  }
  return group;
}

/// Adds a field, or element `i` of a repeated one.
uint32_t SpecTree::addField(const Message &m, const FieldDescriptor *field, int i,
                            const Places *text) {
  const auto *r = m.GetReflection();
  const std::string &name = field->name();
  uint32_t v;
  switch (field->cpp_type()) {
  case FieldDescriptor::CPPTYPE_MESSAGE: {
    const Message &inner = i < 0 ? r->GetMessage(m, field) : r->GetRepeatedMessage(m, field, i);
    const Places *nested = text ? text->GetTreeForNested(field, i) : nullptr;
    if (inner.GetDescriptor() == spec::Stage::descriptor())
      return addField(inner, kindOf(inner), -1, nested);
    v = addGroup(name, inner, nested);
    break;
  }
  case FieldDescriptor::CPPTYPE_STRING:
    v = addText(name, i < 0 ? r->GetString(m, field) : r->GetRepeatedString(m, field, i));
    break;
  case FieldDescriptor::CPPTYPE_ENUM:
    v = addText(name, (i < 0 ? r->GetEnum(m, field) : r->GetRepeatedEnum(m, field, i))->name());
    break;
  case FieldDescriptor::CPPTYPE_DOUBLE:
    v = add(name, GRADC_VALUE_FLOAT);
    values[v].as.real = i < 0 ? r->GetDouble(m, field) : r->GetRepeatedDouble(m, field, i);
    break;
  case FieldDescriptor::CPPTYPE_BOOL:
    v = add(name, GRADC_VALUE_BOOL);
    values[v].as.integer = i < 0 ? r->GetBool(m, field) : r->GetRepeatedBool(m, field, i);
    break;
  default:
    assert(field->cpp_type() == FieldDescriptor::CPPTYPE_INT64 && "the spec's integers are int64");
    v = add(name, GRADC_VALUE_INT);
    values[v].as.integer = i < 0 ? r->GetInt64(m, field) : r->GetRepeatedInt64(m, field, i);
  }
  if (text) {
    auto place = text->GetLocation(field, i);
    places[v] = {place.line, place.column};
  }
  return v;
}
