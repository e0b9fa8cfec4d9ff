// The rule of an optimizer of a training spec, by reflection.
#ifndef COMPILER_IMPORT_SPEC_OPTIMIZERSPEC_H
#define COMPILER_IMPORT_SPEC_OPTIMIZERSPEC_H

#include "compiler/import/spec/training.pb.h"

#include <string>

namespace gradc {

/// The name of the field of `optimizer` that is set: "adam"; empty if none is.
std::string optimizerName(const spec::Optimizer &optimizer);
/// The message in that field, which holds the hyperparameters.
const google::protobuf::Message &optimizerRule(const spec::Optimizer &optimizer);
/// The field of that message named `name`; null if the rule has none.
const google::protobuf::FieldDescriptor *findHyperparameter(const spec::Optimizer &optimizer,
                                                            const std::string &name);

} // namespace gradc

#endif
