// The subcommands of gradc: each adds itself to the command line and returns an exit code.
#ifndef TOOLS_GRADC_COMMAND_H
#define TOOLS_GRADC_COMMAND_H

#include <CLI/CLI.hpp>
#include <functional>

namespace gradc {

/// Adds a subcommand; if it is chosen, `run` is set to its action.
using Runner = std::function<int()>;
void addBench(CLI::App &app, Runner &run);
void addCheck(CLI::App &app, Runner &run);
void addCompile(CLI::App &app, Runner &run);
void addDoctor(CLI::App &app, Runner &run);
void addExport(CLI::App &app, Runner &run);
void addInit(CLI::App &app, Runner &run);
void addInspect(CLI::App &app, Runner &run);
void addPlan(CLI::App &app, Runner &run);
void addReport(CLI::App &app, Runner &run);
void addRun(CLI::App &app, Runner &run);
void addVerify(CLI::App &app, Runner &run);
/// `gradc train`, `predict`, and `evaluate` pass their arguments to the artifact's program, which
/// has its own command line.
int runProgram(int argc, char **argv);

} // namespace gradc

#endif
