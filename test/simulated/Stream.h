// Puts work of the simulated libraries into streams of the simulated driver.
#ifndef TEST_SIMULATED_STREAM_H
#define TEST_SIMULATED_STREAM_H

#include <functional>
#include <string>

namespace gradc::simulated {

/// `work` returns an error, or "" on success; it runs when a call synchronizes.
int enqueue(void *stream, std::function<std::string()> work);

} // namespace gradc::simulated

#endif
