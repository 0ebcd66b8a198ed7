// SPDX-License-Identifier: GPL-2.0-or-later
// Where mlqd is, and questions to it.
#pragma once

#include <string>

#include "core/wire/wire.hpp"

namespace mlq::cli {

struct Place {
  std::string url;      ///< unix:/path, http://host:port or https://host:port
  std::string origin;   ///< who says so, for messages
  std::string cluster;  ///< "" = mlqd's only one
};

/// What `scontrol show config` says of mlqd; members it does not say stay empty.
Place parse_slurm_config(const std::string& text);

/// --url and -M as given ("" = not), else the environment, else Slurm's configuration, else the default.
Place find_collector(const std::string& url, const std::string& cluster);

/// GET path (with its query); throws Error that names the address and says what to do. 404 gives nullptr.
wire::Json ask(const Place& place, const std::string& path);

/// Of the process, "" when it is not set.
std::string environment(const char* name);

/// One `name=value` of a query, escaped, with & before it.
std::string query(const std::string& name, const std::string& value);

}  // namespace mlq::cli
