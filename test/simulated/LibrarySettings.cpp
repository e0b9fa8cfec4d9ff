// Words of an environment variable, read anew for each call because tests change it.
#include "test/simulated/LibrarySettings.h"

#include <cstdio>
#include <cstdlib>
#include <sstream>

gradc::simulated::LibrarySettings gradc::simulated::librarySettings(uint64_t version) {
  LibrarySettings s{version};
  const char *given = getenv("GRADC_SIMULATED_LIBRARIES");
  std::istringstream words(given ? given : "");
  for (std::string word; words >> word;) {
    std::string name = word.substr(0, word.find('=')), value = word.substr(word.find('=') + 1);
    if (name == "version")
      s.version = std::stoull(value);
    else if (name == "workspace")
      s.workspace = std::stoull(value);
    else if (name == "hungry")
      s.hungry = true;
    else if (name == "refuse")
      s.refuses = true;
    else
      std::fprintf(stderr, "simulated library: unknown setting %s\n", word.c_str());
  }
  return s;
}
