// Reads a model's ports from the artifact, and runs it.
#include "runtime/data/transform/MapModel.h"

#include "runtime/base/Text.h"
#include "runtime/core/artifact/IndexCheck.h"
#include "runtime/include/gradc/entries.h"

#include <algorithm>
#include <cstring>

namespace gradc::runtime {

static constexpr size_t line = 64, scalarBytes = 3 * line;

static size_t whole(size_t bytes) { return (bytes + line - 1) / line * line; }

size_t MapModel::bytesOf(size_t input) const { return whole(inputs[input].bytes() * rows()); }

Result<std::shared_ptr<const MapModel>> MapModel::find(Config map, const Session *models,
                                                       bool tail) {
  using Found = std::shared_ptr<const MapModel>;
  Config block = map.child("model");
  auto model = std::make_shared<MapModel>();
  model->name = text("model '", block.string("file"), '\'');
  model->session = models;
  std::string entry = text(block.string("entry"), tail ? GRADC_TAIL_SUFFIX : "");
  model->entry = models ? models->findEntry(entry) : nullptr;
  if (!model->entry && tail)
    return Found();
  if (!model->entry)
    return Status::invalid(
        text("the artifact has no code for CPUs of the map stage's ", model->name));

  const Artifact &artifact = models->artifact();
  auto add = [&](std::vector<Field> &fields, const gradc_artifact_port &port, gradc_string name) {
    auto shape = artifact.elements<int64_t>(port.tensor.shape);
    shape = shape.subspan(model->batch() && !shape.empty() ? 1 : 0);
    Field &field = fields.emplace_back();
    field.name = artifact.string(name);
    field.dtype = gradc_dtype(port.tensor.dtype);
    field.shape.assign(shape.begin(), shape.end());
  };
  auto inputs = artifact.elements<gradc_artifact_port>(model->entry->inputs);
  for (uint32_t i = 0; i < inputs.size(); ++i)
    if (inputs[i].role == GRADC_ROLE_DATA) {
      add(model->inputs, inputs[i], inputs[i].field);
      model->ports.push_back(i);
    }
  for (const auto &port : artifact.elements<gradc_artifact_port>(model->entry->outputs))
    if (isGiven(port))
      add(model->outputs, port, port.tensor.name);
  return Found(std::move(model));
}

Status MapModel::check(size_t input, const Field &field, const std::string &where) const {
  const Field &wanted = inputs[input];
  if (field.dtype == wanted.dtype && field.shape == wanted.shape)
    return {};
  auto describe = [](const Field &one) {
    return text(findDataType(one.dtype)->name, ' ', shapeText(one.shape));
  };
  return Status::error(
      text(where, " has rows of ", describe(field), ", but ", name, " expects ", describe(wanted)));
}

Result<ModelRun *> ModelRun::of(const MapModel &model, ScratchSlot &slot, size_t rows) {
  if (!slot.object) {
    size_t arena = whole(model.session->arenaBeside(*model.entry)), bytes = arena + scalarBytes;
    for (size_t i = 0; i < model.inputs.size(); ++i)
      bytes += model.bytesOf(i);
    std::byte *memory = slot.reserve(bytes);
    std::shared_ptr<ModelRun> run(new ModelRun(model, memory + arena));
    run->program = model.session->bindBeside(*model.entry, memory);
    if (!run->program)
      return Status(Code::doesNotFit, text("no memory for the results of ", model.name));
    auto inputs = model.session->artifact().elements<gradc_artifact_port>(model.entry->inputs);
    for (uint32_t i = 0; i < inputs.size(); ++i)
      if (inputs[i].role != GRADC_ROLE_DATA)
        run->program->bindInput(i, run->scalarOf(inputs[i]));
    slot.object = std::move(run);
  }
  auto run = static_cast<ModelRun *>(slot.object.get());
  run->setRows(rows);
  return run;
}

std::byte *ModelRun::scalarOf(const gradc_artifact_port &port) {
  if (port.role == GRADC_ROLE_SEED)
    return scalars;
  return scalars + (gradc_role_counts_rows(port.role) ? 2 : 1) * line;
}

void ModelRun::setRows(size_t number) {
  if (rows == number)
    return;
  rows = number;
  if (model.takesAnyRows())
    program->setRows(int64_t(rows));
  auto count = float(rows);
  std::memcpy(scalars + 2 * line, &count, sizeof count);
}

void ModelRun::bind(size_t input, const std::byte *values) {
  if (reinterpret_cast<uintptr_t>(values) % line) {
    std::byte *copy = scalars + scalarBytes;
    for (size_t i = 0; i < input; ++i)
      copy += model.bytesOf(i);
    std::memcpy(copy, values, model.inputs[input].bytes() * rows);
    values = copy;
  }
  program->bindInput(model.ports[input], values);
}

Status ModelRun::run(Random random) {
  for (size_t at : {size_t(0), line}) {
    uint32_t number = random.next();
    std::memcpy(scalars + at, &number, sizeof number);
  }
  if (Status ran = launchHere(program->schedule()); !ran.ok())
    return ran;
  const Artifact &artifact = model.session->artifact();
  for (const auto &port : artifact.elements<gradc_artifact_port>(model.entry->outputs)) {
    if (isGiven(port))
      continue;
    uint64_t value;
    std::memcpy(&value, program->resolve(port.slice), sizeof value);
    if (Status inside = checkIndices(artifact.string(port.field), port.classes, value);
        !inside.ok())
      return inside;
  }
  return {};
}

const std::byte *ModelRun::output(size_t output) const {
  const Artifact &artifact = model.session->artifact();
  auto ports = artifact.elements<gradc_artifact_port>(model.entry->outputs);
  return program->resolve(findGiven(ports, output)->slice);
}

} // namespace gradc::runtime
