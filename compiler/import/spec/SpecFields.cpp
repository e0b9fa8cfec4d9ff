// Asks a message for its fields by their descriptors.
#include "compiler/import/spec/SpecFields.h"

using namespace gradc;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

bool SpecField::isNumber() const {
  return field.cpp_type() == FieldDescriptor::CPPTYPE_INT64 ||
         field.cpp_type() == FieldDescriptor::CPPTYPE_DOUBLE;
}

double SpecField::number() const {
  const google::protobuf::Reflection *r = block.GetReflection();
  if (field.cpp_type() == FieldDescriptor::CPPTYPE_INT64)
    return double(index < 0 ? r->GetInt64(block, &field)
                            : r->GetRepeatedInt64(block, &field, index));
  return index < 0 ? r->GetDouble(block, &field) : r->GetRepeatedDouble(block, &field, index);
}

bool SpecField::isText() const { return field.cpp_type() == FieldDescriptor::CPPTYPE_STRING; }

std::string SpecField::text() const {
  const google::protobuf::Reflection *r = block.GetReflection();
  return index < 0 ? r->GetString(block, &field) : r->GetRepeatedString(block, &field, index);
}

bool SpecField::isBlock() const { return field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE; }

const Message &SpecField::inner() const {
  const google::protobuf::Reflection *r = block.GetReflection();
  return index < 0 ? r->GetMessage(block, &field) : r->GetRepeatedMessage(block, &field, index);
}

void gradc::forEachField(const Message &block, llvm::function_ref<void(const SpecField &)> visit) {
  std::vector<const FieldDescriptor *> fields;
  block.GetReflection()->ListFields(block, &fields);
  for (const FieldDescriptor *field : fields) {
    std::string name(field->name());
    if (!field->is_repeated())
      visit({block, *field, name, -1});
    for (int i = 0; field->is_repeated() && i < block.GetReflection()->FieldSize(block, field); ++i)
      visit({block, *field, name, i});
  }
}
