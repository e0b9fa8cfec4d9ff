// gradc check: what is unsupported, which gradients are missing, what trains and why.
#include "tools/gradc/Command.h"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

namespace gradc {
namespace {

void printJson(const Imported &imported) {
  nlohmann::json json;
  json["supported"] = true;
  json["initializers"] = nlohmann::json::array();
  for (const Verdict &v : imported.verdicts)
    json["initializers"].push_back(
        {{"name", v.initializer}, {"type", v.type}, {"trains", v.trains}, {"reason", v.reason}});
  fmt::print("{}\n", json.dump(2));
}

void printTable(const Imported &imported) {
  size_t name = 11, type = 4;
  for (const Verdict &v : imported.verdicts) {
    name = std::max(name, v.initializer.size());
    type = std::max(type, v.type.size());
  }
  if (!imported.verdicts.empty())
    fmt::print("{:{}}  {:{}}  {:6}  {}\n", "initializer", name, "type", type, "trains", "why");
  for (const Verdict &v : imported.verdicts)
    fmt::print("{:{}}  {:{}}  {:6}  {}\n", v.initializer, name, v.type, type,
               v.trains ? "yes" : "no", v.reason);
  fmt::print("all ops are supported{}\n", imported.spec ? ", and every gradient exists" : "");
}

} // namespace

void addCheck(CLI::App &app, Runner &run) {
  auto arguments = std::make_shared<CompileArguments>();
  auto json = std::make_shared<bool>(false);
  CLI::App *command = app.add_subcommand("check", "what is unsupported, and what trains");
  arguments->add(*command);
  command->add_flag("--json", *json, "print JSON");
  command->callback([=, &run] {
    run = [=] {
      if (int code = arguments->finish())
        return code;
      auto context = createContext();
      Console console(*context);
      auto imported = importFile(*context, arguments->file, arguments->options);
      if (failed(imported))
        return exitCode(Code::invalid);
      // The graph phase asks every op on the way for its gradient.
      Imported copy{imported->module->clone(), imported->modelBytes, imported->ranges,
                    imported->spec, imported->verdicts};
      if (imported->spec && failed(planProgram(std::move(copy), arguments->options)))
        return exitCode(Code::invalid);
      *json ? printJson(*imported) : printTable(*imported);
      return exitCode(Code::ok);
    };
  });
}

} // namespace gradc
