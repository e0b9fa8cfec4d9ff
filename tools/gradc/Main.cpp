// gradc: the command line. One file per subcommand; here only the choice between them.
#include "tools/gradc/Command.h"

#include "llvm/Support/InitLLVM.h"

#include <cstring>

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  if (argc > 1 && std::strcmp(argv[1], "train") == 0)
    return gradc::runTrain(argc - 1, argv + 1);

  CLI::App app("gradc compiles ONNX models and training specs ahead of time.", "gradc");
  app.set_version_flag("--version", "gradc 0.1.0");
  app.require_subcommand(1);
  gradc::Runner run;
  gradc::addCheck(app, run);
  gradc::addPlan(app, run);
  gradc::addCompile(app, run);
  app.add_subcommand("train", "train a spec or a compiled artifact (gradc train --help)");
  gradc::addRun(app, run);
  gradc::addVerify(app, run);
  gradc::addExport(app, run);
  auto isNamed = [&](CLI::App *command) { return command->check_name(argv[1]); };
  if (argc > 1 && argv[1][0] != '-' && app.get_subcommands(isNamed).empty())
    return gradc::fail(gradc::Code::usage,
                       llvm::Twine("unknown command \"") + argv[1] +
                           "\": expected check, plan, compile, train, run, verify or export");
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success &help) {
    return app.exit(help);
  } catch (const CLI::ParseError &error) {
    app.exit(error);
    return gradc::exitCode(gradc::Code::usage);
  }
  return run();
}
