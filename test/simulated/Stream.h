// How the simulated libraries put their work into the simulated driver's streams.
#ifndef TEST_SIMULATED_STREAM_H
#define TEST_SIMULATED_STREAM_H

#include <functional>
#include <string>

namespace gradc::simulated {

/// `work` returns its error, or "" on success; it runs when a call synchronizes.
int enqueue(void *stream, std::function<std::string()> work);

} // namespace gradc::simulated

#endif
