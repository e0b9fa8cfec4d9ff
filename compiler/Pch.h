// The headers that nearly every file of the importer and of its users includes, precompiled once.
#include "compiler/import/onnx/model/onnx.pb.h"
#include "compiler/import/spec/training.pb.h"
#include "dialects/Pch.h"
#include "dialects/exec/Exec.h"
#include "dialects/grad/Grad.h"
