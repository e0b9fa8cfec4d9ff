// gradc: the command line. Each subcommand has its own file; this file selects one and reports
// wrong arguments.
#include "tools/gradc/Command.h"
#include "tools/gradc/Console.h"

#include "runtime/base/StandardStreams.h"
#include "runtime/base/Text.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/raw_ostream.h"

#include <charconv>
#include <csignal>
#include <cstring>
#include <system_error>
#include <unistd.h>

using namespace gradc;
using namespace gradc::runtime;

static std::string explainExtra(const CLI::App &command) {
  std::vector<std::string> remaining = command.remaining(/*recurse=*/true), known;
  std::string extra = remaining.empty() ? "" : remaining.front();
  if (!extra.starts_with('-'))
    return text("unexpected argument '", extra, '\'');
  for (const CLI::Option *option : command.get_options())
    known.push_back(option->get_name());
  std::string near = nearest(extra.substr(0, extra.find('=')), known);
  return text("unknown option '", extra, '\'',
              near.empty() ? "" : text(", did you mean '", near, "'?"));
}

static std::string explainRequired(const CLI::App &command) {
  std::string expected;
  for (const CLI::Option *option : command.get_options())
    if (option->get_required() && option->empty())
      expected += text(expected.empty() ? "expected " : ", and ",
                       option->get_positional() ? "" : option->get_name() + " ",
                       option->get_positional() ? option->get_description()
                                                : text("(", option->get_description(), ")"));
  return expected;
}

/// The problem of an option or argument with an empty value, as a script passes it for an unset
/// variable; "" if there is none. The commands would take such an option for one not given.
static std::string explainEmpty(const CLI::App &command) {
  for (const CLI::Option *option : command.get_options())
    if (llvm::is_contained(option->results(), std::string()))
      return text(option->get_positional() ? "argument '" : "option '", option->get_name(),
                  "' is '', expected a value");
  return "";
}

/// `found`: the closest command, or null if none matches.
static std::string explainCommand(const char *found, llvm::ArrayRef<std::string> names) {
  std::string expected =
      text(llvm::join(names.drop_back(), ", "), " or ", names.back(), found ? "" : "; found none");
  if (!found)
    return text("expected a command: ", expected);
  std::string near = nearest(found, names);
  return text("unknown command \"", found, '"',
              near.empty() ? "" : text(", did you mean \"", near, "\"?"), ": expected ", expected);
}

/// CLI11's error in gradc's wording.
static std::string explain(const CLI::App &command, const CLI::ParseError &error) {
  if (dynamic_cast<const CLI::ExtrasError *>(&error))
    return explainExtra(command);
  if (dynamic_cast<const CLI::RequiredError *>(&error))
    return command.remaining().empty() ? explainRequired(command) : explainExtra(command);
  std::string message = error.what();
  size_t colon = message.find(':');
  if (dynamic_cast<const CLI::ArgumentMismatch *>(&error) && colon != std::string::npos)
    return text("expected one value behind ", message.substr(0, colon));
  constexpr llvm::StringRef conversion = "Could not convert: ";
  if (llvm::StringRef(message).starts_with(conversion))
    return "cannot read " + message.substr(conversion.size());
  message[0] = llvm::toLower(message[0]);
  return message;
}

/// Ends the process at a point where nothing may be allocated any more.
[[noreturn]] static void leave(Code code, std::initializer_list<llvm::StringRef> message) {
  for (llvm::StringRef part : message)
    if (write(2, part.data(), part.size()) < 0)
      break;
  _exit(exitCode(code));
}

/// Replaces LLVM's handlers, which ask for a bug report and abort.
static void installErrorHandlers() {
  llvm::install_bad_alloc_error_handler([](void *, const char *, bool) {
    char megabytes[24];
    auto most = int64_t(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE) >> 20;
    char *end = std::to_chars(megabytes, megabytes + sizeof megabytes, most).ptr;
    leave(Code::doesNotFit,
          {"gradc: error: out of memory: the request takes more than the ",
           llvm::StringRef(megabytes, size_t(end - megabytes)), " MB of this machine\n"});
  });
  llvm::install_fatal_error_handler([](void *, const char *reason, bool) {
    leave(Code::error, {"gradc: error: ", reason, "\n"});
  });
}

/// Fails a command whose output could not be written.
static int finishOutput(int code) {
  llvm::outs().flush();
  bool failed = llvm::outs().has_error() || std::ferror(stdout);
  llvm::outs().clear_error(); // otherwise the stream would end the process
  if (std::fflush(stdout) || failed)
    return fail(Code::error, text("cannot write to standard output: ", std::strerror(errno)));
  return code;
}

/// Converts "gradc help" and "gradc help COMMAND" to --help, which the commands support.
static void askCommandForHelp(std::vector<char *> &arguments) {
  static char option[] = "--help";
  if (arguments.size() < 2 || arguments[1] != llvm::StringRef("help"))
    return;
  arguments.erase(arguments.begin() + 1);
  arguments.insert(arguments.begin() + (arguments.size() > 1 ? 2 : 1), option);
}

/// Splits "--name=" in two, an option and its empty value: CLI11 would take the next argument for
/// the value. `arguments` ends with a null pointer.
static void splitEmptyValues(std::vector<char *> &arguments) {
  static char empty[] = "";
  for (size_t i = 2; i + 1 < arguments.size(); ++i) {
    llvm::StringRef argument = arguments[i];
    if (!argument.starts_with("--") || argument.find('=') != argument.size() - 1)
      continue;
    arguments[i][argument.size() - 1] = '\0';
    arguments.insert(arguments.begin() + int64_t(i) + 1, empty);
  }
}

int main(int givenCount, char **givenArguments) {
  occupyStandardStreams();
  llvm::InitLLVM init(givenCount, givenArguments);
  std::vector<char *> arguments(givenArguments, givenArguments + givenCount);
  askCommandForHelp(arguments);
  int argc = int(arguments.size());
  arguments.push_back(nullptr);
  char **argv = arguments.data();
  installErrorHandlers();
  std::signal(SIGXFSZ, SIG_IGN); // writing past the size limit then fails with an error
  if (argc > 1 && llvm::is_contained({"train", "predict", "evaluate"}, llvm::StringRef(argv[1])))
    return runProgram(argc - 1, argv + 1);
  splitEmptyValues(arguments);
  argc = int(arguments.size()) - 1;
  argv = arguments.data();

  CLI::App app("gradc compiles ONNX models and training specs ahead of time.", "gradc");
  app.set_version_flag("--version", "gradc 0.1.0");
  app.require_subcommand(1);
  app.get_formatter()->column_width(32); // leaves at least two spaces after an option's argument
  Runner run;
  addInit(app, run);
  addCheck(app, run);
  addPlan(app, run);
  addCompile(app, run);
  app.add_subcommand("train", "train a spec or a compiled artifact");
  app.add_subcommand("predict", "classes, scores or values for the rows of a file, as CSV");
  app.add_subcommand("evaluate", "a spec's metrics over a file, or over its evaluation data");
  addReport(app, run);
  addRun(app, run);
  addBench(app, run);
  addVerify(app, run);
  addExport(app, run);
  addInspect(app, run);
  addDoctor(app, run);
  app.add_subcommand("help", "this, or a command's options: gradc help COMMAND");
  std::vector<std::string> names;
  for (const CLI::App *command : app.get_subcommands({}))
    names.push_back(command->get_name());
  if (argc < 2 || (argv[1][0] != '-' && !llvm::is_contained(names, argv[1])))
    return fail(Code::usage, explainCommand(argc < 2 ? nullptr : argv[1], names));
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success &help) {
    return finishOutput(app.exit(help));
  } catch (const CLI::ParseError &error) {
    auto chosen = app.get_subcommands();
    const CLI::App &command = chosen.empty() ? app : *chosen.front();
    return fail(Code::usage, explain(command, error) + "; see gradc " +
                                 (chosen.empty() ? "" : command.get_name() + " ") + "--help");
  }
  const CLI::App &command = *app.get_subcommands().front();
  if (std::string problem = explainEmpty(command); !problem.empty())
    return fail(Code::usage, problem + "; see gradc " + command.get_name() + " --help");
  try {
    return finishOutput(run());
  } catch (const std::system_error &error) { // mostly: fmt::print cannot write
    if (std::fflush(stdout) || std::ferror(stdout))
      return finishOutput(exitCode(Code::error));
    return fail(Code::error, error.what());
  }
}
