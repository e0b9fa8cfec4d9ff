// Visits the values that a block of a training spec sets.
#ifndef COMPILER_IMPORT_SPEC_SPECFIELDS_H
#define COMPILER_IMPORT_SPEC_SPECFIELDS_H

#include "compiler/import/spec/TrainingSpec.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace gradc {

/// The value of a field, or one of a list.
struct SpecField {
  const google::protobuf::Message &block;
  const google::protobuf::FieldDescriptor &field;
  std::string name;
  int index; ///< in the list; -1: the field has one value

  SpecFile::Step step() const { return {name.c_str(), index}; }
  bool isNumber() const;
  double number() const;
  bool isText() const;
  std::string text() const;
  bool isBlock() const;
  const google::protobuf::Message &inner() const;
};

/// Visits the values of all fields that the block sets, in the order of the fields' numbers.
void forEachField(const google::protobuf::Message &block,
                  llvm::function_ref<void(const SpecField &)> visit);

} // namespace gradc

#endif
