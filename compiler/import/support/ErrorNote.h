// Notes that say under which circumstances something is wrong.
#ifndef COMPILER_IMPORT_SUPPORT_ERRORNOTE_H
#define COMPILER_IMPORT_SUPPORT_ERRORNOTE_H

#include "mlir/IR/Diagnostics.h"

namespace gradc {

/// While it exists, every error gets a note.
class ErrorNote : public mlir::ScopedDiagnosticHandler {
public:
  ErrorNote(mlir::MLIRContext *context, const llvm::Twine &note)
      : ScopedDiagnosticHandler(context, [text = note.str()](mlir::Diagnostic &diagnostic) {
          if (diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error)
            diagnostic.attachNote() << text;
          return mlir::failure(); // other handlers report it
        }) {}
};

} // namespace gradc

#endif
