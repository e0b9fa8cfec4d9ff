// A part of the spec as a tree of named values, the form in which artifacts store it.
#ifndef COMPILER_IMPORT_SPEC_SPECTREE_H
#define COMPILER_IMPORT_SPEC_SPECTREE_H

#include "compiler/import/spec/training.pb.h"
#include "runtime/include/gradc/artifact.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <google/protobuf/text_format.h>
#include <string>
#include <utility>
#include <vector>

namespace gradc {

/// Contains each field that the spec sets or that training.proto gives a default; the reader
/// supplies other defaults. A stage is represented by the one field that it sets; an empty stage is
/// left out.
class SpecTree {
public:
  using Places = google::protobuf::TextFormat::ParseInfoTree;

  /// `text` gives the positions of the message's fields, or is null. `entries` are the entries of
  /// the map models, in the spec's order; empty if they are not known yet.
  SpecTree(const google::protobuf::Message &message, llvm::StringRef name, const Places *text,
           llvm::ArrayRef<std::string> entries = {});

  /// Adds a value to the root (0) or to a group added earlier.
  uint32_t addGroup(llvm::StringRef name, uint32_t parent = 0);
  void addString(llvm::StringRef name, llvm::StringRef text, uint32_t parent = 0);
  void addReal(llvm::StringRef name, double value, uint32_t parent = 0);
  void addInteger(llvm::StringRef name, int64_t value, uint32_t parent = 0);

  /// Element 0 is the root; names and strings are offsets into `strings`.
  std::vector<gradc_artifact_value> values;
  std::string strings;
  /// Line and column of each value, counted from 0; -1 for values not in the text.
  std::vector<std::pair<int, int>> places;
  /// The message of each group; null for other values.
  std::vector<const google::protobuf::Message *> messages;

private:
  uint32_t add(llvm::StringRef name, gradc_value_kind kind);
  uint32_t addText(llvm::StringRef name, llvm::StringRef text);
  uint32_t addGroup(llvm::StringRef name, const google::protobuf::Message &message,
                    const Places *text);
  uint32_t addField(const google::protobuf::Message &m,
                    const google::protobuf::FieldDescriptor *field, int i, const Places *text);
  uint32_t intern(llvm::StringRef text);
  uint32_t link(uint32_t parent, uint32_t child);

  llvm::ArrayRef<std::string> entries;
};

} // namespace gradc

#endif
