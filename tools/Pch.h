// The headers that nearly every file of the program includes, precompiled once.
#include "compiler/Pch.h"
#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <nlohmann/json.hpp>
