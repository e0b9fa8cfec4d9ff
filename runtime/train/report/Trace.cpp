// Writes events as they arrive, in blocks.
#include "runtime/train/report/Trace.h"

#include "runtime/base/Json.h"
#include "runtime/base/Text.h"
#include "runtime/core/artifact/EntryRows.h"
#include "runtime/device/Device.h"
#include "runtime/include/gradc/artifact.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

namespace gradc::runtime {

static constexpr size_t blockBytes = size_t(1) << 16;

static std::string quoted(std::string_view value) {
  std::string out = "\"";
  appendJson(out, value);
  return out + '"';
}

Trace::~Trace() { (void)close(); }

Status Trace::open(const std::string &file) {
  path = file;
  descriptor = ::open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_TRUNC, 0666);
  if (descriptor < 0)
    return Status::error(text("cannot write trace '", path, "': ", std::strerror(errno)));
  origin = now();
  buffer = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n"
           "{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":1,\"tid\":1,"
           "\"args\":{\"name\":\"gradc\"}},\n"
           "{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":1,\"tid\":1,"
           "\"args\":{\"name\":\"steps and kernels\"}}";
  return {};
}

static std::string beginning(std::string_view name, std::string_view category, int thread = 0) {
  return text(",\n{\"name\":", quoted(name), ",\"cat\":", quoted(category),
              ",\"ph\":\"X\",\"pid\":1,\"tid\":", thread + 1);
}

/// Nanoseconds as microseconds. Not by printf, whose point is a comma in the locale of some
/// programs that train through the C interface: no JSON then.
static std::string microseconds(int64_t nanoseconds) {
  std::string thousandths = text(std::abs(nanoseconds % 1000));
  return text(nanoseconds < 0 ? "-" : "", std::abs(nanoseconds / 1000), '.',
              std::string(3 - thousandths.size(), '0'), thousandths);
}

void Trace::end(int64_t begin, int64_t end) {
  appendText(buffer, ",\"ts\":", microseconds(begin - origin),
             ",\"dur\":", microseconds(end - begin), '}');
  if (buffer.size() >= blockBytes)
    flush();
}

void Trace::span(std::string_view name, std::string_view category, int64_t begin, int64_t end,
                 int64_t step) {
  if (!isOpen())
    return;
  buffer += beginning(name, category);
  if (step >= 0)
    buffer += text(",\"args\":{\"step\":", step, '}');
  this->end(begin, end);
}

void Trace::input(const InputSpan &span) {
  if (!isOpen())
    return;
  for (; inputThreads < span.thread; ++inputThreads)
    buffer += text(",\n{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":1,\"tid\":", inputThreads + 2,
                   ",\"args\":{\"name\":\"input ", inputThreads + 1, "\"}}");
  buffer += beginning(span.stage, "stage", span.thread);
  end(span.begin, span.end);
}

const std::vector<std::string> &Trace::describe(const Session &session,
                                                const gradc_artifact_entry &entry) {
  std::vector<std::string> &known = descriptions[&entry];
  if (!known.empty())
    return known;
  const Artifact &artifact = session.artifact();
  auto kernels = artifact.elements<gradc_artifact_kernel>(session.level().kernels);
  const gradc_artifact_entry &run =
      scheduleOf(artifact, artifact.elements<gradc_artifact_entry>(session.level().entries), entry);
  for (const auto &node : artifact.elements<gradc_artifact_node>(run.nodes)) {
    std::string_view title = nodeTitle(artifact, node, kernels);
    std::string_view source = artifact.string(node.node);
    std::string name = source.empty() ? std::string(title) : text(title, ": ", source);
    std::string args;
    if (node.kind == GRADC_NODE_LAUNCH) {
      const gradc_artifact_kernel &kernel = kernels[node.as.launch.kernel];
      args = text("\"flops\":", kernel.flops, ",\"bytes\":", kernel.bytes,
                  ",\"units\":", kernel.units);
    } else if (node.kind == GRADC_NODE_COPY) {
      uint64_t bytes = artifact.elements<gradc_artifact_slice>(node.slices)[0].bytes;
      args = text("\"bytes\":", 2 * bytes);
    } else if (node.kind == GRADC_NODE_COLLECTIVE) {
      uint64_t bytes = 0;
      for (const auto &slice :
           artifact.elements<gradc_artifact_slice>(node.slices).first(node.operands))
        bytes += slice.bytes;
      if (node.as.collective.kind == GRADC_TRANSFER_RECEIVE)
        bytes = artifact.elements<gradc_artifact_slice>(node.slices)[0].bytes;
      args = text("\"bytes\":", bytes);
    }
    known.push_back(text(beginning(name, "kernel"), ",\"args\":{", args));
  }
  return known;
}

void Trace::launches(const Session &session, const gradc_artifact_entry &entry) {
  if (!isOpen())
    return;
  const Profile &profile = session.lastProfile();
  const std::vector<std::string> &known = describe(session, entry);
  for (size_t i = 0; i < profile.paths.size(); ++i) {
    const LaunchPath &path = profile.paths[i];
    buffer += known[path.node];
    for (uint32_t loop = 0; loop < path.loops; ++loop)
      buffer += text(loop ? "," : ",\"iteration\":[", path.iterations[loop]);
    buffer += path.loops ? "]}" : "}";
    end(profile.times[i], profile.times[i + 1]);
  }
}

void Trace::flush() {
  size_t done = 0;
  while (failure.ok() && done < buffer.size()) {
    ssize_t written = ::write(descriptor, buffer.data() + done, buffer.size() - done);
    if (written >= 0)
      done += size_t(written);
    else if (errno != EINTR)
      failure = Status::error(text("cannot write trace '", path, "': ", std::strerror(errno)));
  }
  buffer.clear();
}

Status Trace::close() {
  if (!isOpen())
    return failure;
  buffer += "\n]}\n";
  flush();
  ::close(descriptor);
  descriptor = -1;
  return failure;
}

} // namespace gradc::runtime
