// The tensors named by --input.
#ifndef TOOLS_GRADC_INPUTS_H
#define TOOLS_GRADC_INPUTS_H

#include "compiler/Session.h"
#include "tools/gradc/Compilation.h"
#include "tools/gradc/TensorFile.h"

namespace gradc {

using NamedTensors = std::map<std::string, mlir::grad::HostTensor>;
using NamedViews = std::map<std::string, TensorView>;

/// Adds the option --input, one per input.
void addInputs(CLI::App &command, std::vector<std::string> &inputs);

/// Reads NAME=FILE pairs into `options`, where they bind symbolic dims and operands that must be
/// known.
Result<NamedTensors> readInputs(mlir::MLIRContext &context, llvm::ArrayRef<std::string> inputs,
                                CompileOptions &options);

/// The same for an artifact, which binds nothing: elements stay in their files.
Result<NamedViews> openInputs(mlir::MLIRContext &context, llvm::ArrayRef<std::string> inputs);
NamedViews viewsOf(const NamedTensors &tensors);

/// Removes tensors that are compiled in, and those of a model's inputs that no output depends on.
void dropBound(NamedTensors &given, const Imported &imported);

/// The tensors in the order of an entry's inputs, or an error if one does not fit. `defaults`:
/// null, or one tensor per input that is not given.
Result<std::vector<mlir::grad::HostTensor>>
arrange(const NamedTensors &given, llvm::ArrayRef<Port> ports,
        const std::vector<mlir::grad::HostTensor> *defaults = nullptr);
Result<std::vector<TensorView>> arrange(const NamedViews &given, llvm::ArrayRef<Port> ports);

} // namespace gradc

#endif
