// The first line names the format; every other line is a comment or a choice.
#include "passes/schedule/Tuning.h"

#include "passes/schedule/ScheduleCandidates.h"

#include "mlir/AsmParser/AsmParser.h"
#include "llvm/Support/LineIterator.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/xxhash.h"

using namespace mlir;
using namespace gradc;

static constexpr llvm::StringLiteral formatLine = "gradc-tuning 2";

std::string gradc::tuningKey(exec::KernelOp kernel, const exec::Level &level) {
  OwningOpRef<exec::KernelOp> bare = cast<exec::KernelOp>(kernel->clone());
  bare->setSymName("");
  for (StringAttr name : {kernel.getNodesAttrName(), kernel.getScheduleAttrName()})
    (*bare)->removeAttr(name);
  std::string text = level.name.str();
  llvm::raw_string_ostream stream(text);
  (*bare)->print(stream, OpPrintingFlags().useLocalScope().printGenericOpForm());
  llvm::XXH128_hash_t hash = llvm::xxh3_128bits(llvm::arrayRefFromStringRef(text));
  return llvm::formatv("{0,0+16:x-}{1,0+16:x-}", hash.high64, hash.low64);
}

/// Parses a schedule without printing the parser's own errors.
static exec::ScheduleAttr parseSchedule(StringRef text, MLIRContext *context) {
  ScopedDiagnosticHandler quiet(context, [](Diagnostic &) { return success(); });
  size_t parsed = 0;
  Attribute attribute = parseAttribute(text, context, Type(), &parsed);
  return parsed == text.size() ? dyn_cast_if_present<exec::ScheduleAttr>(attribute)
                               : exec::ScheduleAttr();
}

FailureOr<Tuning> Tuning::read(MLIRContext *context, StringRef path) {
  auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
  if (!file)
    return emitError(UnknownLoc::get(context), "cannot read ")
               << path << ": " << file.getError().message(),
           failure();
  StringRef bytes = (*file)->getBuffer();
  Tuning tuning;
  tuning.path = path.str();
  tuning.theHash = llvm::xxHash64(bytes);
  auto expected = [&](const llvm::line_iterator &line, const Twine &what) {
    return emitError(FileLineColLoc::get(context, path, unsigned(line.line_number()), 1),
                     "expected ")
               << what << ", found \"" << line->take_front(60) << '"',
           failure();
  };
  llvm::line_iterator line(**file, /*SkipBlanks=*/false);
  if (line.is_at_eof() || *line != formatLine)
    return emitError(FileLineColLoc::get(context, path, 1, 1), "expected a tuning file, which ")
               << "begins with \"" << formatLine << "\"; one of another version, make again",
           failure();
  std::string comment;
  for (++line; !line.is_at_eof(); ++line) {
    if (line->starts_with("//") || line->trim().empty()) {
      comment += (*line + "\n").str();
      continue;
    }
    auto [key, rest] = line->split(' ');
    if (key.size() != 32 || !llvm::all_of(key, llvm::isHexDigit))
      return expected(line, "a key of 32 hexadecimal digits and a schedule");
    exec::ScheduleAttr schedule = parseSchedule(rest.trim(), context);
    if (!schedule)
      return expected(line, "#exec.schedule<...> behind the key");
    if (tuning.find(key))
      return expected(line, "one schedule for each key");
    tuning.insert(key, {schedule, comment, unsigned(line.line_number())});
    comment.clear();
  }
  tuning.end = comment;
  return tuning;
}

std::string Tuning::text() const {
  std::string text = (formatLine + "\n").str();
  llvm::raw_string_ostream stream(text);
  for (const auto &[key, choice] : choices)
    stream << choice.comment << key << ' ' << choice.schedule << '\n';
  stream << end;
  return text;
}

const Tuning::Choice *Tuning::find(StringRef key) const {
  auto found = indices.find(key);
  return found == indices.end() ? nullptr : &choices[found->second].second;
}

/// The schedules that tuning tries out, and the kernel's own.
static SmallVector<exec::ScheduleAttr> possibleSchedules(exec::KernelOp kernel,
                                                         const exec::Level &level) {
  SmallVector<exec::ScheduleAttr> possible = scheduleCandidates(kernel, level);
  possible.push_back(kernel.getScheduleAttr());
  return possible;
}

bool Tuning::dropMisfit(exec::KernelOp kernel, const exec::Level &level) {
  auto found = indices.find(tuningKey(kernel, level));
  if (found == indices.end() ||
      llvm::is_contained(possibleSchedules(kernel, level), choices[found->second].second.schedule))
    return false;
  size_t dropped = found->second;
  indices.erase(found);
  choices.erase(choices.begin() + ptrdiff_t(dropped));
  for (auto &entry : indices)
    entry.second -= entry.second > dropped;
  return true;
}

FailureOr<exec::ScheduleAttr> Tuning::scheduleOf(exec::KernelOp kernel,
                                                 const exec::Level &level) const {
  const Choice *choice = find(tuningKey(kernel, level));
  if (!choice)
    return exec::ScheduleAttr();
  SmallVector<exec::ScheduleAttr> possible = possibleSchedules(kernel, level);
  if (!llvm::is_contained(possible, choice->schedule))
    return emitError(locationOf(*choice, kernel.getContext()))
           << "expected one of the " << possible.size() << " schedules that kernel \""
           << kernel.getSymName() << "\" may have, such as " << kernel.getScheduleAttr()
           << ", found " << choice->schedule << ": tune again";
  return choice->schedule;
}

void Tuning::insert(StringRef key, Choice choice) {
  indices[key] = choices.size();
  choices.push_back({key.str(), std::move(choice)});
}

Location Tuning::locationOf(const Choice &choice, MLIRContext *context) const {
  return FileLineColLoc::get(context, path, choice.line, 1);
}
