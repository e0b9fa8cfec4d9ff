// How the simulated libraries put their work into the simulated driver's streams.
#ifndef TEST_SIMULATED_STREAM_H
#define TEST_SIMULATED_STREAM_H

#include <functional>
#include <string>

namespace gradc::simulated {

/// `work` returns why it failed, "" otherwise; it runs when somebody synchronizes.
int enqueue(void *stream, std::function<std::string()> work);

} // namespace gradc::simulated

#endif
