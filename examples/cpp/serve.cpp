//===- serve.cpp - continuous batching over a paged cache -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Requests of different lengths join and leave a batch. In each step every
// running request has a part of its prompt or its last token in it, one behind
// the other; of each layer the keys and values go into the cache, rotated, and
// attention reads them there. Greedy tokens are compared with those of the same
// model in double.
//
//   serve [--target=cpu|cuda] [--requests=N] [--fault=slots|positions]
//
// A fault is planted to see that it is found.
//
//===----------------------------------------------------------------------===//

#include "device.h"
#include "model.h"

#include <fa/fa.hpp>

#include <chrono>
#include <cstdio>
#include <deque>
#include <memory>

using M = Model;
static constexpr int kPage = 8, kPages = 96, kMostRunning = 6, kChunk = 12;

struct Request {
  int number, count;       ///< of new tokens
  std::vector<int> tokens; ///< the prompt, and what was generated
  size_t prompt;           ///< length
  size_t done = 0;         ///< tokens in the cache
  std::vector<int> pages;
};

/// Integers and rows of one step, for all layers.
struct Step {
  std::vector<int64_t> slots;
  std::vector<int32_t> positions, offsets = {0}, lengths, table;
  std::vector<std::vector<float>> x; ///< of each token
};

class Server {
public:
  Server(const Model &model, const std::string &target, std::string fault)
      : model(model), device(target), context(optionsOf(target)),
        appendPlan(context, appendDesc()), attend(context, attentionDesc()),
        fault(std::move(fault)) {
    if (!context || !appendPlan || !attend)
      throw std::runtime_error(fa::lastError());
    for (int n = kPages; n-- > 0;)
      free.push_back(n);
    size_t most = kMostRunning * kChunk, rows = most * M::kDim * sizeof(float);
    for (int l = 0; l < M::kLayers; ++l)
      for (auto *pools : {&keys, &values})
        pools->push_back(device.allocate(size_t(kPages) * kPage * M::kKvHeads *
                                         M::kDim * sizeof(float)));
    q = device.allocate(rows * M::kHeads);
    out = device.allocate(rows * M::kHeads);
    k = device.allocate(rows * M::kKvHeads);
    v = device.allocate(rows * M::kKvHeads);
    slots = device.allocate(most * 8);
    positions = device.allocate(most * 4);
    offsets = device.allocate((kMostRunning + 1) * 4);
    lengths = device.allocate(kMostRunning * 4);
    table = device.allocate(kMostRunning * kPages * 4);
    cosines = device.allocate(model.cosines.size() * 4);
    sines = device.allocate(model.sines.size() * 4);
    device.write(cosines, model.cosines);
    device.write(sines, model.sines);
  }

  void add(Request request) { waiting.push_back(std::move(request)); }
  bool isBusy() const { return !waiting.empty() || !running.empty(); }
  size_t numRunning() const { return running.size(); }
  size_t numWaiting() const { return waiting.size(); }

  /// One step of all that run; those that are done with it.
  std::vector<Request> step() {
    admit();
    Step step = plan();
    for (int l = 0; l < M::kLayers; ++l)
      runLayer(l, step);
    std::vector<Request> finished;
    for (size_t n = 0; n < running.size(); ++n) {
      Request &request = *running[n];
      request.done += step.offsets[n + 1] - step.offsets[n];
      if (request.done < request.tokens.size())
        continue; // more of the prompt
      request.tokens.push_back(model.choose(step.x[step.offsets[n + 1] - 1]));
      if (request.tokens.size() < request.prompt + request.count)
        continue;
      free.insert(free.end(), request.pages.begin(), request.pages.end());
      finished.push_back(std::move(request));
      running[n] = nullptr;
    }
    std::erase(running, nullptr);
    return finished;
  }

private:
  static faContextOptions optionsOf(const std::string &target) {
    faContextOptions options = fa::contextOptions(target.c_str());
    options.compile = FA_COMPILE_LAZY;
    return options;
  }
  static faAppendDesc appendDesc() {
    faAppendDesc desc = fa::append(FA_F32, M::kDim);
    desc.rope = FA_ROPE_HALVES;
    desc.rotaryDim = M::kRotary;
    desc.hasQueries = 1;
    return desc;
  }
  static faAttentionDesc attentionDesc() {
    faAttentionDesc desc = fa::attention(FA_F32, M::kDim);
    desc.causal = FA_CAUSAL_BOTTOM_RIGHT;
    desc.hasOffsets = desc.hasPages = desc.hasLengths = 1;
    return desc;
  }

  /// As long as there are pages for all that a request may need.
  void admit() {
    while (!waiting.empty() && running.size() < kMostRunning) {
      Request &next = waiting.front();
      size_t needed = (next.prompt + next.count + kPage - 1) / kPage;
      if (free.size() < needed)
        return;
      next.pages.assign(free.end() - needed, free.end());
      free.resize(free.size() - needed);
      running.push_back(std::make_unique<Request>(std::move(next)));
      waiting.pop_front();
    }
  }

  Step plan() {
    Step step;
    for (const auto &request : running) {
      size_t end = std::min(request->tokens.size(), request->done + kChunk);
      for (size_t n = request->done; n < end; ++n) {
        size_t at = n + (fault == "slots" && n % 3 == 1);
        step.slots.push_back(int64_t(request->pages[at / kPage]) * kPage +
                             at % kPage);
        step.positions.push_back(int32_t(n) + (fault == "positions" && n > 4));
        step.x.push_back(model.embed<float>(request->tokens[n]));
      }
      step.offsets.push_back(static_cast<int32_t>(step.slots.size()));
      step.lengths.push_back(static_cast<int32_t>(end));
      for (size_t n = 0; n < kPages; ++n) // what is behind is not read
        step.table.push_back(n < request->pages.size() ? request->pages[n]
                                                       : -1);
    }
    device.write(slots, step.slots);
    device.write(positions, step.positions);
    device.write(offsets, step.offsets);
    device.write(lengths, step.lengths);
    device.write(table, step.table);
    return step;
  }

  void runLayer(int l, Step &step) {
    const Model::Layer &layer = model.layers[l];
    std::vector<float> hostQ, hostK, hostV;
    auto append = [](std::vector<float> &to, const std::vector<float> &from) {
      to.insert(to.end(), from.begin(), from.end());
    };
    for (const std::vector<float> &x : step.x) {
      std::vector<float> input = Model::normalize(x);
      append(hostQ, Model::multiply(layer.q, input));
      append(hostK, Model::multiply(layer.k, input));
      append(hostV, Model::multiply(layer.v, input));
    }
    device.write(q, hostQ);
    device.write(k, hostK);
    device.write(v, hostV);
    launch(l, step);
    std::vector<float> attended(hostQ.size());
    device.read(attended, out);
    constexpr int width = M::kHeads * M::kDim;
    for (size_t n = 0; n < step.x.size(); ++n)
      model.finishLayer(layer,
                        std::vector<float>(&attended[n * width],
                                           &attended[n * width] + width),
                        step.x[n]);
  }

  void launch(int l, const Step &step) {
    auto rows = static_cast<int64_t>(step.x.size()), b = int64_t(numRunning());
    auto tokens = [&](void *data, int64_t heads) {
      return fa::tensor(data, FA_F32, {rows, heads, M::kDim});
    };
    auto packed = [&](void *data) { // the same as [heads, rows, d]
      return fa::tensor(data, FA_F32, {M::kHeads, rows, M::kDim},
                        {M::kDim, M::kHeads * M::kDim, 1});
    };
    auto pool = [&](void *data) {
      return fa::tensor(data, FA_F32, {kPages, M::kKvHeads, kPage, M::kDim});
    };
    auto turns = [&](void *data) {
      return fa::tensor(data, FA_F32, {M::kPositions, M::kRotary / 2});
    };
    check(appendPlan.launch(
        {tokens(k, M::kKvHeads), tokens(v, M::kKvHeads),
         fa::tensor(slots, FA_I64, {rows}), pool(keys[l]), pool(values[l]),
         fa::tensor(positions, FA_I32, {rows}), turns(cosines), turns(sines),
         tokens(q, M::kHeads)}));
    check(attend.launch(
        {packed(q), pool(keys[l]), pool(values[l]),
         fa::tensor(lengths, FA_I32, {b}), fa::tensor(offsets, FA_I32, {b + 1}),
         fa::tensor(table, FA_I32, {b, kPages}),
         fa::scalar(1 / std::sqrt(float(M::kDim))), packed(out)}));
  }

  static void check(faStatus status) {
    if (status != FA_SUCCESS)
      throw std::runtime_error(fa::lastError());
  }

  const Model &model;
  Device device;
  fa::Context context;
  fa::Plan appendPlan, attend;
  std::string fault;
  std::deque<Request> waiting;
  std::vector<std::unique_ptr<Request>> running;
  std::vector<int> free;            ///< pages
  std::vector<void *> keys, values; ///< pools of the layers
  void *q, *k, *v, *out, *slots, *positions, *offsets, *lengths, *table,
      *cosines, *sines;
};

static int serve(const std::string &target, int requests,
                 const std::string &fault) {
  Model model(7);
  std::mt19937 random(11);
  Server server(model, target, fault);
  std::vector<std::vector<int>> expected;
  for (int n = 0; n < requests; ++n) {
    Request request{n, 4 + int(random() % 24), {}, 1 + random() % 40};
    for (size_t i = 0; i < request.prompt; ++i)
      request.tokens.push_back(int(random() % M::kVocabulary));
    expected.push_back(model.generate(request.tokens, request.count));
    server.add(std::move(request));
  }
  auto begin = std::chrono::steady_clock::now();
  int wrong = 0, steps = 0, finished = 0;
  size_t tokens = 0;
  for (; server.isBusy(); ++steps) {
    for (const Request &request : server.step()) {
      std::vector<int> found(request.tokens.begin() + request.prompt,
                             request.tokens.end());
      ++finished;
      tokens += found.size();
      if (found != expected[request.number]) {
        ++wrong;
        std::printf("\nrequest %d: expected other tokens\n", request.number);
      }
    }
    std::printf("\rstep %d: %zu running, %zu waiting, %d done", steps + 1,
                server.numRunning(), server.numWaiting(), finished);
    std::fflush(stdout);
  }
  std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
  std::printf("\n%zu tokens of %d requests in %d steps, %.0f tokens a second; "
              "%s\n",
              tokens, finished, steps, tokens / time.count(),
              wrong ? "wrong" : "equal to float64");
  return wrong != 0;
}

int main(int argc, char **argv) {
  std::string target = "cpu", fault;
  int requests = 24;
  for (int n = 1; n < argc; ++n) {
    std::string option = argv[n];
    size_t at = option.find('=');
    std::string value = at == std::string::npos ? "" : option.substr(at + 1);
    if (option.starts_with("--target="))
      target = value;
    else if (option.starts_with("--requests="))
      requests = std::atoi(value.c_str());
    else if (option == "--fault=slots" || option == "--fault=positions")
      fault = value;
    else
      return std::fprintf(stderr, "serve: unknown option %s\n", argv[n]), 2;
  }
  try {
    return serve(target, requests, fault);
  } catch (const std::exception &error) {
    return std::fprintf(stderr, "serve: %s\n", error.what()), 3;
  }
}
