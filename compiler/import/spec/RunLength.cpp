// A run ends after its epochs, or after its steps, whichever comes first.
#include "dialects/Pch.h"

#include "compiler/import/spec/RunLength.h"
#include "compiler/import/spec/TrainingSpec.h"

using namespace gradc;

RunLength::RunLength(const spec::Training &training, int64_t rows) {
  const spec::Batch &batch = SpecFile::batchOf(training.data());
  if (training.has_epochs() || !training.has_steps())
    epochs = std::max<int64_t>(training.epochs(), 1);
  if (rows >= 0 && !batch.bucket_size())
    perEpoch = rows / batch.size() + (rows % batch.size() && !batch.drop_remainder());
  if (epochs && perEpoch)
    steps = epochs * *perEpoch;
  if (training.has_steps() && (!epochs || (steps && training.steps() < *steps)))
    steps = training.steps();
}
