// SPDX-License-Identifier: GPL-2.0-or-later
// The C face of the engine: every call goes through Guard, no exception leaves.
#include "slurm-plugin/engine/engine.hpp"

#include <curl/curl.h>

#include "slurm-plugin/engine/guard.hpp"

namespace mlq::engine {

Engine::Engine(std::string cluster, const mlq_config_t& config, Log log)
    : cluster_(std::move(cluster)), config_(config), log_(log), client_(cluster_, log), targets_(config) {
  requeues_.configure(config_);
  node_shrinks_.configure(config_);
  client_.configure(config_);
}

void Engine::configure(const mlq_config_t& config) {
  config_ = config;
  client_.configure(config_);
  targets_.configure(config_);
  requeues_.configure(config_);
  node_shrinks_.configure(config_);
}

}  // namespace mlq::engine

struct mlq_engine {
  mlq_engine(const char* cluster, const mlq_config_t& config, mlq::engine::Log log)
      : guard(log), engine(cluster, config, log) {}

  mlq::engine::Guard guard;
  mlq::engine::Engine engine;
};

extern "C" {

mlq_engine_t* mlq_engine_create(const char* cluster, const mlq_config_t* config, mlq_log_fn log) {
  using namespace mlq::engine;
  mlq_engine_t* engine = nullptr;
  Guard guard{Log(log)};
  guard.run("start", [&] {
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) throw std::runtime_error("libcurl does not start");
    engine = new mlq_engine(cluster, *config, Log(log));
    return 0;
  });
  return engine;
}

void mlq_engine_configure(mlq_engine_t* engine, const mlq_config_t* config) {
  engine->guard.run("configure", [&] {
    engine->engine.configure(*config);
    return 0;
  });
}

/* libcurl stays initialised: other plugins of slurmctld may use it. */
void mlq_engine_destroy(mlq_engine_t* engine) {
  delete engine;
}

void mlq_engine_stop(mlq_engine_t* engine) {
  engine->engine.stop();
}

bool mlq_engine_passive(const mlq_engine_t* engine) {
  return engine->guard.passive();
}

int mlq_engine_pull(mlq_engine_t* engine, double now) {
  return engine->guard.run("pull", [&] { return engine->engine.pull(now); });
}

int mlq_engine_decide(mlq_engine_t* engine, double now, const mlq_job_snapshot_t* jobs, size_t count,
                      const mlq_decision_t** decisions, size_t* decision_count) {
  *decisions = nullptr;
  *decision_count = 0;
  return engine->guard.run("decide", [&] {
    const int rc = engine->engine.decide(now, jobs, count);
    *decisions = engine->engine.decisions().data();
    *decision_count = engine->engine.decisions().size();
    return rc;
  });
}

void mlq_engine_see_cluster(mlq_engine_t* engine, const mlq_cluster_snapshot_t* cluster) {
  engine->engine.see_cluster(cluster);
}

bool mlq_engine_wants_cluster(const mlq_engine_t* engine) {
  return !engine->guard.passive() && engine->engine.wants_cluster();
}

bool mlq_engine_is_needed(const mlq_engine_t* engine) {
  return engine->engine.needed();
}

size_t mlq_engine_endings(mlq_engine_t* engine, const mlq_ending_t** endings) {
  *endings = nullptr;
  if (engine->guard.passive()) return 0;
  *endings = engine->engine.endings().data();
  return engine->engine.endings().size();
}

size_t mlq_engine_sizings(mlq_engine_t* engine, const mlq_sizing_t** sizings) {
  *sizings = nullptr;
  if (engine->guard.passive()) return 0;
  *sizings = engine->engine.sizings().data();
  return engine->engine.sizings().size();
}

void mlq_engine_size_done(mlq_engine_t* engine, double now, uint32_t job_id, int64_t submit_time,
                          const char* error) {
  engine->guard.run("note of a size", [&] {
    engine->engine.size_done(now, job_id, submit_time, error);
    return 0;
  });
}

size_t mlq_engine_requeues(mlq_engine_t* engine, const mlq_requeue_t** requeues) {
  *requeues = nullptr;
  if (engine->guard.passive()) return 0;
  *requeues = engine->engine.requeues().data();
  return engine->engine.requeues().size();
}

void mlq_engine_requeue_done(mlq_engine_t* engine, double now, const mlq_requeue_t* requeue,
                             const char* error) {
  engine->guard.run("note of a requeue", [&] {
    engine->engine.requeue_done(now, *requeue, error);
    return 0;
  });
}

size_t mlq_engine_node_shrinks(mlq_engine_t* engine, const mlq_node_shrink_t** shrinks) {
  *shrinks = nullptr;
  if (engine->guard.passive()) return 0;
  *shrinks = engine->engine.node_shrinks().data();
  return engine->engine.node_shrinks().size();
}

void mlq_engine_node_shrink_done(mlq_engine_t* engine, double now, const mlq_node_shrink_t* shrink,
                                 const char* error) {
  engine->guard.run("note of nodes given back", [&] {
    engine->engine.node_shrink_done(now, *shrink, error);
    return 0;
  });
}

int mlq_engine_push(mlq_engine_t* engine, double now, const mlq_cycle_stats_t* stats) {
  return engine->guard.run("push", [&] { return engine->engine.push(now, stats); });
}

}  // extern "C"
