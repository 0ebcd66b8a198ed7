// SPDX-License-Identifier: GPL-2.0-or-later
// Owning handle for jansson values; every message of doc/protocol.md is built and read with it.
#pragma once

#include <jansson.h>

#include <memory>

namespace mlq::wire {

struct JsonDeleter {
  void operator()(json_t* value) const noexcept { json_decref(value); }
};

/// Owns one reference. `Json(json_object())`; hand over to jansson's *_new functions with release().
using Json = std::unique_ptr<json_t, JsonDeleter>;

}  // namespace mlq::wire
