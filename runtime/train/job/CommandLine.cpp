// A table of options, and the loop that reads arguments by it.
#include "runtime/train/job/CommandLine.h"

#include "runtime/base/Text.h"
#include "runtime/base/ThreadTeam.h"
#include "runtime/include/gradc/artifact.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace gradc::runtime {

namespace {

enum class Takes { nothing, value, optionalValue };

constexpr unsigned uses = predicts | evaluates, all = trains | uses;

struct Option {
  unsigned commands; ///< that take it
  std::string_view name;
  Takes takes;
  std::string_view value; ///< its name in the help
  std::string_view help;
  /// Returns the expected form of the value, or "".
  std::string_view (*set)(CommandLine &, std::string_view value);
};

std::optional<int64_t> integer(std::string_view value, int64_t least) {
  int64_t number = 0;
  auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc() || end != value.data() + value.size() || number < least)
    return std::nullopt;
  return number;
}

/// Parses a finite number.
std::optional<double> real(std::string_view value) {
  double number = 0;
  auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc() || end != value.data() + value.size() || !std::isfinite(number))
    return std::nullopt;
  return number;
}

std::string_view setCount(std::optional<int64_t> &target, std::string_view value) {
  target = integer(value, 1);
  return target ? "" : "a number, 1 or more";
}

std::string_view setText(std::string &target, std::string_view value) {
  target = value;
  return value.empty() ? "a name" : "";
}

constexpr Option options[] = {
    {uses, "--data", Takes::value, "FILE",
     "a .csv, .npz or .npy file, or a folder of pictures or .npy files; prepared as the spec says",
     [](CommandLine &line, std::string_view value) { return setText(line.data, value); }},
    {predicts, "--output", Takes::value, "FILE",
     "a CSV file with a line for each row, also -o (default: standard output)",
     [](CommandLine &line, std::string_view value) { return setText(line.output, value); }},
    {uses, "--checkpoint", Takes::value, "PATH",
     "the weights: a checkpoint, or the best or newest of a folder (default: the run's folder)",
     [](CommandLine &line, std::string_view value) {
       return setText(line.options.checkpoint, value);
     }},
    {trains, "--steps", Takes::value, "N", "stop after step N, over as many epochs as it takes",
     [](CommandLine &line, std::string_view value) { return setCount(line.options.steps, value); }},
    {trains, "--epochs", Takes::value, "N", "passes over the training data",
     [](CommandLine &line, std::string_view value) {
       return setCount(line.options.epochs, value);
     }},
    {trains, "--seed", Takes::value, "N", "seed of shuffling and random ops",
     [](CommandLine &line, std::string_view value) -> std::string_view {
       line.options.seed = integer(value, 0);
       return line.options.seed ? "" : "a number, 0 or more";
     }},
    {trains, "--learning-rate", Takes::value, "RATE",
     "the optimizer's learning rate, which a schedule goes by",
     [](CommandLine &line, std::string_view value) -> std::string_view {
       line.options.learningRate = real(value);
       bool isRate = line.options.learningRate && *line.options.learningRate > 0;
       return isRate ? "" : "a number above 0";
     }},
    {trains, "--find-learning-rate", Takes::value, "FILE",
     "write the losses of --steps (default: 100) steps whose rate grows, as CSV or .jsonl; no "
     "checkpoint, no export",
     [](CommandLine &line, std::string_view value) {
       return setText(line.options.findRate, value);
     }},
    {trains, "--rates", Takes::value, "LOW:HIGH",
     "the rates of --find-learning-rate (default: 1e-7:10)",
     [](CommandLine &line, std::string_view value) -> std::string_view {
       size_t colon = std::min(value.find(':'), value.size());
       auto low = real(value.substr(0, colon));
       auto high = real(value.substr(std::min(colon + 1, value.size())));
       if (!low || !high || !(*low > 0) || !(*high > *low))
         return "two rates above 0, the lower one first, such as 1e-5:1";
       line.options.rateRange.emplace(*low, *high);
       return "";
     }},
    {trains, "--sweep", Takes::value, "FIELD=A,B,C",
     "train from the start with each value of learning_rate, steps, epochs or seed",
     [](CommandLine &line, std::string_view value) {
       line.sweep.field = value;
       return std::string_view(value.empty() ? "a field and its values, FIELD=A,B,C" : "");
     }},
    {all, "--threads", Takes::value, "N",
     "threads; the same bits for any number (default: one a CPU)",
     [](CommandLine &line, std::string_view value) -> std::string_view {
       auto threads = integer(value, 1);
       static const std::string expected = text("a number from 1 to ", ThreadTeam::maxThreads);
       if (!threads || *threads > ThreadTeam::maxThreads)
         return expected;
       line.options.threads = int(*threads);
       return "";
     }},
    {trains, "--ranks", Takes::value, "N",
     "train by N processes on this host, started with Open MPI's mpirun",
     [](CommandLine &line, std::string_view value) -> std::string_view {
       auto ranks = integer(value, 1);
       static const std::string expected = text("a number from 1 to ", GRADC_MAX_RANKS);
       if (!ranks || *ranks > GRADC_MAX_RANKS)
         return expected;
       line.ranks = int(*ranks);
       return "";
     }},
    {trains, "--elastic", Takes::nothing, "",
     "with --ranks: when ranks are lost, go on from the last checkpoint with the others",
     [](CommandLine &line, std::string_view) -> std::string_view {
       line.isElastic = true;
       return "";
     }},
    {all, "--level", Takes::value, "NAME",
     "code for this CPU level (default: the machine's highest)",
     [](CommandLine &line, std::string_view value) { return setText(line.options.level, value); }},
    {trains | evaluates, "--data-dir", Takes::value, "DIR",
     "where relative data paths are looked up (default: the spec's folder)",
     [](CommandLine &line, std::string_view value) {
       return setText(line.options.dataFolder, value);
     }},
    {trains, "--log", Takes::value, "FILE",
     "write one JSON object a line for steps, evaluations, ...",
     [](CommandLine &line, std::string_view value) { return setText(line.options.log, value); }},
    {trains, "--trace", Takes::value, "FILE",
     "write a trace of steps and kernels, for ui.perfetto.dev",
     [](CommandLine &line, std::string_view value) { return setText(line.options.trace, value); }},
    {trains, "--checkpoint", Takes::value, "DIR",
     "write checkpoints to this folder instead of the spec's; it may already hold some only with "
     "--resume",
     [](CommandLine &line, std::string_view value) {
       return setText(line.options.checkpoint, value);
     }},
    {trains, "--resume", Takes::optionalValue, "PATH",
     "go on from this checkpoint, or the newest of this folder (default: of --checkpoint, else of "
     "the spec's newest run)",
     [](CommandLine &line, std::string_view value) {
       return setText(line.options.resume, value.empty() ? "latest" : value);
     }},
    {trains, "--export", Takes::value, "FILE", "write the trained model as ONNX",
     [](CommandLine &line, std::string_view value) {
       return setText(line.options.exportPath, value);
     }},
    {trains | predicts, "--quiet", Takes::nothing, "", "print errors only",
     [](CommandLine &line, std::string_view) -> std::string_view {
       line.options.quiet = true;
       return "";
     }},
    {all, "--help", Takes::nothing, "", "print this",
     [](CommandLine &line, std::string_view) -> std::string_view {
       line.help = true;
       return "";
     }},
    {all, "--version", Takes::nothing, "", "print the version",
     [](CommandLine &line, std::string_view) -> std::string_view {
       line.version = true;
       return "";
     }},
};

Status usage(std::string message) { return Status(Code::usage, std::move(message)); }

struct NamedCommand {
  std::string_view name;
  Command command;
};
constexpr NamedCommand commands[] = {
    {"train", trains}, {"predict", predicts}, {"evaluate", evaluates}};

/// `isFirst`: a command may have been meant.
Status unknown(std::string_view argument, Command command, bool isFirst) {
  std::vector<std::string> names;
  for (const NamedCommand &known : commands)
    if (isFirst)
      names.emplace_back(known.name);
  for (const Option &option : options)
    if (option.commands & command)
      names.emplace_back(option.name);
  std::string near = nearest(argument, names);
  return usage(text(argument.starts_with('-') ? "unknown option '" : "unexpected argument '",
                    argument, '\'', near.empty() ? "" : text(", did you mean '", near, "'?")));
}

const Option *findOption(std::string_view name, Command command) {
  if (name == "-o")
    name = "--output";
  if (name == "-h")
    name = "--help";
  for (const Option &option : options)
    if (option.name == name && (option.commands & command))
      return &option;
  return nullptr;
}

/// `name`: that of the option on the command line.
Status set(const Option &option, CommandLine &line, std::string_view value, std::string_view name) {
  std::string_view expected = option.set(line, value);
  return expected.empty()
             ? Status()
             : usage(text("option '", name, "' is '", value, "', expected ", expected));
}

/// Expands `line.sweep.field`, which holds FIELD=A,B,C, to runs. Fields are inputs of the step,
/// named like their options.
Status expandSweep(CommandLine &line) {
  std::string sweep = std::move(line.sweep.field);
  size_t equals = std::min(sweep.find('='), sweep.size());
  line.sweep.field = sweep.substr(0, equals);
  const TrainOptions &given = line.options;
  const std::pair<std::string, bool> fields[] = {{"learning_rate", given.learningRate.has_value()},
                                                 {"steps", given.steps.has_value()},
                                                 {"epochs", given.epochs.has_value()},
                                                 {"seed", given.seed.has_value()}};
  auto field = std::ranges::find_if(
      fields, [&](const auto &known) { return known.first == line.sweep.field; });
  if (field == std::end(fields)) {
    std::vector<std::string> names;
    for (const auto &[name, isGiven] : fields)
      names.push_back(name);
    return usage(text("option '--sweep' names '", line.sweep.field, "', expected one of ",
                      quotedList(names), "; other fields of a spec are compiled in"));
  }
  if (!line.options.resume.empty() || !line.options.findRate.empty())
    return usage("option '--sweep' trains from the start: it goes neither with '--resume' nor with "
                 "'--find-learning-rate'");
  std::string name = "--" + line.sweep.field;
  std::ranges::replace(name, '_', '-');
  if (field->second)
    return usage(text("option '", name, "' does not go with '--sweep ", line.sweep.field,
                      "', which gives its values"));
  for (size_t begin = equals; begin < sweep.size();) {
    size_t end = std::min(sweep.find(',', begin + 1), sweep.size());
    CommandLine run = line;
    std::string value = sweep.substr(begin + 1, end - begin - 1);
    if (Status status =
            set(*findOption(name, trains), run, value, text("--sweep ", line.sweep.field));
        !status.ok())
      return status;
    run.options.variant = text(line.sweep.field, '=', value);
    for (const auto &[other, ignored] : line.sweep.runs)
      if (other == value)
        return usage(text("option '--sweep' has the value '", value, "' twice"));
    line.sweep.runs.emplace_back(value, std::move(run.options));
    begin = end;
  }
  return line.sweep.runs.empty()
             ? usage(text("option '--sweep' expects values: --sweep ", line.sweep.field, "=A,B,C"))
             : Status();
}

/// Checks the options beside --find-learning-rate, whose steps and rates are its own.
Status expectSearch(const TrainOptions &given) {
  if (given.findRate.empty())
    return {};
  auto refuse = [](std::string_view why, std::string_view option) {
    return usage(
        text("option '--find-learning-rate' ", why, ": it does not go with '", option, '\''));
  };
  if (!given.resume.empty())
    return refuse("starts from the model's weights", "--resume");
  if (given.epochs)
    return refuse("goes over its rates in --steps", "--epochs");
  if (given.learningRate)
    return refuse("goes over --rates", "--learning-rate");
  return {};
}

} // namespace

std::string forShell(std::string_view argument) {
  constexpr std::string_view special = " \t\n'\"\\$`&|;<>()*?[]{}~#!";
  if (!argument.empty() && argument.find_first_of(special) == argument.npos)
    return std::string(argument);
  std::string quoted = "'";
  for (char c : argument)
    c == '\'' ? quoted += "'\\''" : quoted += c;
  return quoted + '\'';
}

Result<CommandLine> parseCommandLine(std::span<char *const> arguments) {
  CommandLine line;
  size_t first = 0;
  for (const NamedCommand &known : commands)
    if (!arguments.empty() && arguments[0] == known.name) {
      line.command = known.command;
      first = 1;
    }
  for (size_t i = first; i < arguments.size(); ++i) {
    std::string_view argument = arguments[i];
    size_t begin = i, equals = argument.find('=');
    std::string_view name = argument.substr(0, equals);
    const Option *option = findOption(name, line.command);
    if (!option)
      return unknown(name, line.command, i == 0);

    std::string_view value;
    bool isGiven = equals != argument.npos;
    if (isGiven) {
      if (option->takes == Takes::nothing)
        return usage(text("option '", name, "' takes no value"));
      value = argument.substr(equals + 1);
    } else if (option->takes != Takes::nothing) {
      isGiven = i + 1 < arguments.size() && !std::string_view(arguments[i + 1]).starts_with("--");
      if (isGiven)
        value = arguments[++i];
      else if (option->takes == Takes::value)
        return usage(text("option '", name, "' expects a value: ", name, ' ', option->value));
    }
    if (isGiven && value.empty() && option->takes == Takes::optionalValue)
      return usage(text("option '", option->name, "' is '', expected a name"));
    if (Status status = set(*option, line, value, option->name); !status.ok())
      return status;
    for (; begin <= i && option->name != "--resume"; ++begin)
      appendText(line.repeated, ' ', forShell(arguments[begin]));
  }
  if (!line.sweep.field.empty())
    if (Status status = expandSweep(line); !status.ok())
      return status;
  if (Status searches = expectSearch(line.options); !searches.ok())
    return searches;
  if (line.options.findRate.empty() && line.options.rateRange)
    return usage("option '--rates' goes with '--find-learning-rate'");
  return line;
}

/// A sentence per line: in a man page each is a paragraph.
static constexpr std::string_view aboutCheckpoints =
    "If the spec or --checkpoint names a folder, checkpoints are written as often as the spec "
    "says, at the end, and when Ctrl-C stops the training.\n"
    "Without --resume, training starts anew; if the spec's folder holds checkpoints of an earlier "
    "run, this one writes to a new folder beside it, such as run-2.\n"
    "With --resume alone, training goes on from the newest checkpoint of the newest run.\n";

std::string helpText(std::string_view program, Command command) {
  std::string out =
      command == trains
          ? text("usage: ", program, " [options]\n       ", program,
                 " predict --data FILE [options]\n       ", program,
                 " evaluate [options]\n\nTrains the model that this program was compiled from, "
                 "predicts with it, or measures it.\n\n",
                 aboutCheckpoints, "\noptions:\n")
      : command == predicts ? text("usage: ", program,
                                   " predict --data FILE [options]\n\nPredicts for each row of "
                                   "a file.\n\noptions:\n")
                            : text("usage: ", program,
                                   " evaluate [options]\n\nPrints the spec's metrics over a "
                                   "file, or over its evaluation data.\n\noptions:\n");
  for (const Option &option : options) {
    if (!(option.commands & command))
      continue;
    std::string left = text("  ", option.name);
    if (option.takes == Takes::value)
      left += text(' ', option.value);
    if (option.takes == Takes::optionalValue)
      left += text(" [", option.value, ']');
    left.resize(std::max<size_t>(left.size() + 2, 22), ' ');
    out += text(left, option.help, '\n');
  }
  return out;
}

} // namespace gradc::runtime
