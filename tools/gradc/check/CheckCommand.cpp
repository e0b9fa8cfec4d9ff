// gradc check: unsupported ops, missing gradients, and which states train and why.
#include "compiler/import/spec/SpecTree.h"
#include "runtime/train/rates/RateSchedule.h"
#include "runtime/train/spec/Turns.h"
#include "tools/gradc/Command.h"
#include "tools/gradc/Compilation.h"
#include "tools/gradc/Files.h"
#include "tools/gradc/check/DataCheck.h"
#include "tools/gradc/check/JobSummary.h"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

namespace gradc {
namespace {

/// Describes the learning rate as the run will.
std::string describeRate(const spec::Training &training) {
  SpecTree tree(training, "job", /*text=*/nullptr);
  runtime::Config job(tree.values.data(), tree.strings.data());
  std::string rates =
      runtime::RateSchedule::describe(job.child("schedule"), runtime::commonRate(job));
  // Each of several kinds of steps has its own rate.
  runtime::Turns turns(job, [](std::string_view) { return false; });
  for (const runtime::Turns::Entry &entry : turns.entries())
    if (entry.share != 1)
      rates += fmt::format("; \"{}\": {:g} times that", entry.block, entry.share);
  return rates;
}

void printJson(const Imported &imported, const std::vector<std::string> &job) {
  nlohmann::json json;
  json["supported"] = true;
  if (imported.spec)
    json["learning_rate"] = describeRate(*imported.spec);
  json["missing_data"] = imported.missingData;
  json["notes"] = imported.notes;
  for (llvm::StringRef line : job)
    json["job"][line.split(": ").first.str()] = line.split(": ").second.str();
  json["initializers"] = nlohmann::json::array();
  for (const Verdict &v : imported.verdicts) {
    json["initializers"].push_back(
        {{"name", v.initializer}, {"type", v.type}, {"trains", v.trains}, {"reason", v.reason}});
    for (auto [field, text] : {std::pair("group", &v.group), std::pair("quantized", &v.quantized),
                               std::pair("pruned", &v.pruned)})
      if (!text->empty())
        json["initializers"].back()[field] = *text;
  }
  printAsJson(json);
}

/// Prints which initializers are stored in fewer bits or with zeros, if any are.
void printCompressed(const std::vector<Verdict> &verdicts) {
  auto orNone = [](const std::string &text) { return text.empty() ? "-" : text; };
  size_t name = 10, quantized = 9;
  bool any = false;
  for (const Verdict &v : verdicts)
    if (!v.quantized.empty() || !v.pruned.empty()) {
      any = true;
      name = std::max(name, v.initializer.size());
      quantized = std::max(quantized, v.quantized.size());
    }
  auto row = [&](const std::string &initializer, const std::string &bits,
                 const std::string &zeros) {
    fmt::print("{:{}}  {:{}}  {}\n", initializer, name, bits, quantized, zeros);
  };
  if (any)
    row("compressed", "quantized", "pruned");
  for (const Verdict &v : verdicts)
    if (!v.quantized.empty() || !v.pruned.empty())
      row(v.initializer, orNone(v.quantized), orNone(v.pruned));
}

void printTable(const Imported &imported, const std::vector<std::string> &job,
                bool differentiates) {
  size_t name = 11, type = 4, group = 0; // no column if there are no groups
  for (const Verdict &v : imported.verdicts) {
    if (!v.group.empty())
      group = std::max({group, v.group.size(), size_t(5)});
    name = std::max(name, v.initializer.size());
    type = std::max(type, v.type.size());
  }
  auto row = [&](const std::string &initializer, const std::string &ofType, const char *trains,
                 const std::string &inGroup, const std::string &why) {
    std::string column = group ? fmt::format("{:{}}  ", inGroup, group) : "";
    fmt::print("{:{}}  {:{}}  {:6}  {}{}\n", initializer, name, ofType, type, trains, column, why);
  };
  if (!imported.verdicts.empty())
    row("initializer", "type", "trains", "group", "why");
  for (const Verdict &v : imported.verdicts)
    row(v.initializer, v.type, v.trains ? "yes" : "no", v.group.empty() ? "-" : v.group, v.reason);
  printCompressed(imported.verdicts);
  fmt::print("all ops are supported{}\n", differentiates ? ", and every gradient exists" : "");
  for (const std::string &file : imported.missingData)
    fmt::print("the data could not be checked: {} is not there\n", file);
  if (imported.spec)
    fmt::print("learning rate: {}\n", describeRate(*imported.spec));
  for (const std::string &line : job)
    fmt::print("{}\n", line);
  for (const std::string &note : imported.notes)
    fmt::print("note: {}\n", note);
}

int check(const CompileArguments &arguments, bool json) {
  Compilation compilation(arguments);
  if (int code = compilation.import())
    return code;
  if (int code = expectExport(arguments.file, compilation.imported()))
    return code;
  if (Status status = checkValues(compilation.imported(), folderOf(arguments.file)); !status.ok())
    return fail(status);
  // The graph phase asks each op on the way for its gradient.
  bool differentiates = compilation.imported().differentiates();
  JobSummary summary(compilation.imported());
  std::vector<std::string> job;
  if (differentiates)
    if (int code = compilation.plan())
      return code;
  const Imported &imported =
      differentiates ? compilation.program().imported : compilation.imported();
  if (imported.spec)
    job = summary.lines(compilation.program());
  json ? printJson(imported, job) : printTable(imported, job, differentiates);
  return exitCode(Code::ok);
}

} // namespace

void addCheck(CLI::App &app, Runner &run) {
  auto arguments = std::make_shared<CompileArguments>();
  auto json = std::make_shared<bool>(false);
  CLI::App *command = app.add_subcommand("check", "unsupported parts of a model, and what trains");
  arguments->add(*command);
  arguments->oneBucket = true;
  command->add_flag("--json", *json, "print JSON");
  command->callback([=, &run] {
    run = [=] {
      int code = check(*arguments, *json);
      if (code && *json)
        printAsJson({{"supported", false}, {"errors", printedErrors()}});
      return code;
    };
  });
}

} // namespace gradc
