// The standard streams of a program that was started without them.
#ifndef RUNTIME_BASE_STANDARDSTREAMS_H
#define RUNTIME_BASE_STANDARDSTREAMS_H

#include <fcntl.h>

namespace gradc::runtime {

/// Occupies the descriptors of closed standard streams. The next file opened would otherwise be one
/// of them, and receive messages. Reading and writing fail as they do on a closed stream.
inline void occupyStandardStreams() {
  for (int stream = 0; stream < 3; ++stream)
    if (fcntl(stream, F_GETFD) < 0)
      (void)open("/dev/null", stream == 0 ? O_WRONLY : O_RDONLY);
}

} // namespace gradc::runtime

#endif
