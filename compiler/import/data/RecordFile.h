// How many rows there are in data that only the run reads: folders of pictures and TFRecord files.
#ifndef COMPILER_IMPORT_RECORDFILE_H
#define COMPILER_IMPORT_RECORDFILE_H

#include "llvm/Support/Error.h"

namespace gradc {

/// The pictures in the folder's sub-folders, as the run finds them.
llvm::Expected<int64_t> countPictures(llvm::StringRef folder);
/// The lines of a list file that name a picture.
llvm::Expected<int64_t> countListed(llvm::StringRef path);
/// The records of a TFRecord file, as the run finds them; the last one may be cut off. Behind a
/// damaged header no other can be found: that is an error, unless the run skips bad records.
llvm::Expected<int64_t> countRecords(llvm::StringRef path, bool skipsBad);

} // namespace gradc

#endif
