//===- model.h - a small transformer with random weights ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Everything but attention, in float or double, as plain loops; and the whole
// model in double, a token at a time, which is what a server is compared with.
//
//===----------------------------------------------------------------------===//

#ifndef EXAMPLES_CPP_MODEL_H
#define EXAMPLES_CPP_MODEL_H

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

struct Model {
  static constexpr int kVocabulary = 96, kLayers = 2, kWidth = 64, kHeads = 4,
                       kKvHeads = 2, kDim = 16, kInner = 128, kPositions = 256,
                       kRotary = kDim;
  using Matrix = std::vector<float>; ///< [outputs, inputs]

  struct Layer {
    Matrix q, k, v, o, up, down;
  };
  Matrix embedding; ///< [vocabulary, width]
  std::vector<Layer> layers;
  std::vector<float> cosines, sines; ///< [positions, rotary / 2]

  explicit Model(unsigned seed) : random(seed) {
    embedding = make(kVocabulary, kWidth, 1);
    for (int n = 0; n < kLayers; ++n)
      layers.push_back(
          {make(kHeads * kDim, kWidth), make(kKvHeads * kDim, kWidth),
           make(kKvHeads * kDim, kWidth), make(kWidth, kHeads * kDim),
           make(kInner, kWidth), make(kWidth, kInner)});
    for (int n = 0; n < kPositions; ++n)
      for (int i = 0; i < kRotary / 2; ++i) {
        double angle = n * std::pow(10000.0, -2.0 * i / kRotary);
        cosines.push_back(static_cast<float>(std::cos(angle)));
        sines.push_back(static_cast<float>(std::sin(angle)));
      }
  }

  template <typename T> std::vector<T> embed(int token) const {
    const float *row = &embedding[token * kWidth];
    return std::vector<T>(row, row + kWidth);
  }

  template <typename T>
  static std::vector<T> multiply(const Matrix &w, const std::vector<T> &x) {
    std::vector<T> y(w.size() / x.size());
    for (size_t n = 0; n < y.size(); ++n)
      for (size_t i = 0; i < x.size(); ++i)
        y[n] += w[n * x.size() + i] * x[i];
    return y;
  }

  template <typename T> static std::vector<T> normalize(std::vector<T> x) {
    T sum = 0;
    for (T e : x)
      sum += e * e;
    for (T &e : x)
      e /= std::sqrt(sum / x.size() + T(1e-5));
    return x;
  }

  /// What comes behind attention, whose output for this token is `attended`.
  template <typename T>
  void finishLayer(const Layer &layer, const std::vector<T> &attended,
                   std::vector<T> &x) const {
    add(x, multiply(layer.o, attended));
    std::vector<T> inner = multiply(layer.up, normalize(x));
    for (T &e : inner)
      e = std::max(e, T(0));
    add(x, multiply(layer.down, inner));
  }

  /// The most likely token.
  template <typename T> int choose(const std::vector<T> &x) const {
    std::vector<T> scores = multiply(embedding, normalize(x));
    return static_cast<int>(std::max_element(scores.begin(), scores.end()) -
                            scores.begin());
  }

  /// `count` tokens behind `prompt`, everything in double.
  std::vector<int> generate(std::vector<int> prompt, int count) const {
    std::vector<int> result;
    std::vector<std::vector<double>> keys[kLayers], values[kLayers];
    for (size_t n = 0; int(result.size()) < count; ++n) {
      std::vector<double> x = embed<double>(prompt[n]);
      for (int l = 0; l < kLayers; ++l) {
        std::vector<double> input = normalize(x);
        std::vector<double> q = multiply(layers[l].q, input);
        keys[l].push_back(multiply(layers[l].k, input));
        values[l].push_back(multiply(layers[l].v, input));
        rotate(q, n);
        rotate(keys[l].back(), n);
        finishLayer(layers[l], attend(q, keys[l], values[l]), x);
      }
      if (n + 1 < prompt.size())
        continue;
      result.push_back(choose(x));
      prompt.push_back(result.back());
    }
    return result;
  }

private:
  Matrix make(int outputs, int inputs, double scale = 0) {
    std::normal_distribution<double> normal(
        0, scale ? scale : 1.5 / std::sqrt(double(inputs)));
    Matrix w(size_t(outputs) * inputs);
    for (float &e : w)
      e = static_cast<float>(normal(random));
    return w;
  }
  template <typename T>
  static void add(std::vector<T> &x, const std::vector<T> &y) {
    for (size_t n = 0; n < x.size(); ++n)
      x[n] += y[n];
  }
  /// Halves of each head, by position `n`.
  void rotate(std::vector<double> &x, size_t n) const {
    constexpr int half = kRotary / 2;
    for (size_t head = 0; head < x.size(); head += kDim)
      for (int i = 0; i < half; ++i) {
        double c = cosines[n * half + i], s = sines[n * half + i];
        double a = x[head + i], b = x[head + half + i];
        x[head + i] = a * c - b * s;
        x[head + half + i] = b * c + a * s;
      }
  }
  static std::vector<double>
  attend(const std::vector<double> &q,
         const std::vector<std::vector<double>> &keys,
         const std::vector<std::vector<double>> &values) {
    std::vector<double> out(q.size());
    for (int h = 0; h < kHeads; ++h) {
      int shared = h / (kHeads / kKvHeads) * kDim;
      std::vector<double> p;
      for (const auto &key : keys) {
        double score = 0;
        for (int d = 0; d < kDim; ++d)
          score += q[h * kDim + d] * key[shared + d];
        p.push_back(score / std::sqrt(double(kDim)));
      }
      double most = *std::max_element(p.begin(), p.end()), sum = 0;
      for (double &e : p)
        sum += e = std::exp(e - most);
      for (size_t j = 0; j < p.size(); ++j)
        for (int d = 0; d < kDim; ++d)
          out[h * kDim + d] += p[j] / sum * values[j][shared + d];
    }
    return out;
  }

  std::mt19937 random;
};

#endif // EXAMPLES_CPP_MODEL_H
