// The model of transformer.cu and its forward pass on the host, in double precision: one class a kind of weights.
//
// Units: weights in rows, `rows` outputs by `columns` inputs. The same seed gives the same model everywhere.
#pragma once

#include <algorithm>

#include "program.h"

namespace program {

struct Shape {
  static constexpr int vocabulary = 256;
  static constexpr int width = 128;
  static constexpr int heads = 4;  // of 32 values each
  static constexpr int hidden = 384;
  static constexpr int layers = 3;
  static constexpr std::size_t max_positions = 512;
};

struct Linear {
  std::size_t rows;
  std::size_t columns;
  std::vector<float> weights;
  std::vector<float> bias;

  Linear(Numbers& numbers, std::size_t row_count, std::size_t column_count)
      : rows(row_count),
        columns(column_count),
        weights(numbers.units(row_count * column_count, 1.7F / std::sqrt(static_cast<float>(column_count)))),
        bias(numbers.units(row_count, 0.1F)) {}

  [[nodiscard]] std::vector<double> operator()(const std::vector<double>& x) const {
    std::vector<double> out(bias.begin(), bias.end());
    for (std::size_t row = 0; row < rows; ++row) {
      for (std::size_t i = 0; i < columns; ++i) out[row] += weights[row * columns + i] * x[i];
    }
    return out;
  }
};

struct Norm {
  std::vector<float> gain;
  std::vector<float> bias;

  explicit Norm(Numbers& numbers) : gain(numbers.units(Shape::width, 0.2F)), bias(numbers.units(Shape::width, 0.1F)) {
    for (float& value : gain) value += 1.0F;
  }

  [[nodiscard]] std::vector<double> operator()(const std::vector<double>& x) const {
    double sum = 0;
    double squares = 0;
    for (const double value : x) sum += value;
    const double mean = sum / static_cast<double>(x.size());
    for (const double value : x) squares += (value - mean) * (value - mean);
    const double scale = 1.0 / std::sqrt(squares / static_cast<double>(x.size()) + 1e-5);
    std::vector<double> out(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) out[i] = (x[i] - mean) * scale * gain[i] + bias[i];
    return out;
  }
};

struct Layer {
  Norm before_attention;
  Linear qkv;
  Linear projection;
  Norm before_mlp;
  Linear up;
  Linear down;

  explicit Layer(Numbers& numbers)
      : before_attention(numbers),
        qkv(numbers, 3 * Shape::width, Shape::width),
        projection(numbers, Shape::width, Shape::width),
        before_mlp(numbers),
        up(numbers, Shape::hidden, Shape::width),
        down(numbers, Shape::width, Shape::hidden) {}
};

struct Model {
  Numbers numbers;
  std::vector<float> token_table;
  std::vector<float> position_table;
  std::vector<Layer> layers;
  Norm last_norm;
  Linear to_logits;

  explicit Model(std::uint64_t seed)
      : numbers(seed),
        token_table(numbers.units(std::size_t{Shape::vocabulary} * Shape::width)),
        position_table(numbers.units(Shape::max_positions * Shape::width, 0.5F)),
        layers(make_layers(numbers)),
        last_norm(numbers),
        to_logits(numbers, Shape::vocabulary, Shape::width) {}

  // The random number that the sampling at a position uses, in [0, 1).
  [[nodiscard]] float uniform(std::size_t position) const { return 0.5F + 0.5F * Numbers(1000 + position).unit(); }

 private:
  static std::vector<Layer> make_layers(Numbers& numbers) {
    std::vector<Layer> layers;
    for (int i = 0; i < Shape::layers; ++i) layers.emplace_back(numbers);
    return layers;
  }
};

// Keys and values of the positions so far, in one layer.
struct Cache {
  std::vector<std::vector<double>> keys;
  std::vector<std::vector<double>> values;
};

inline std::vector<double> attend(const std::vector<double>& query, const Cache& cache) {
  std::vector<double> out(Shape::width);
  for (std::size_t head = 0; head < Shape::heads; ++head) {
    std::vector<double> weights;
    for (const auto& key : cache.keys) {
      double score = 0;
      for (std::size_t i = head * 32; i < head * 32 + 32; ++i) score += query[i] * key[i];
      weights.push_back(score / std::sqrt(32.0));
    }
    const double largest = *std::max_element(weights.begin(), weights.end());
    double sum = 0;
    for (double& weight : weights) sum += weight = std::exp(weight - largest);
    for (std::size_t position = 0; position < weights.size(); ++position) {
      for (std::size_t i = head * 32; i < head * 32 + 32; ++i) out[i] += weights[position] / sum * cache.values[position][i];
    }
  }
  return out;
}

inline void forward(const Layer& layer, Cache& cache, std::vector<double>& x) {
  const auto add = [&x](const std::vector<double>& to) {
    for (std::size_t i = 0; i < x.size(); ++i) x[i] += to[i];
  };
  const std::vector<double> qkv = layer.qkv(layer.before_attention(x));
  cache.keys.emplace_back(qkv.begin() + Shape::width, qkv.begin() + 2 * Shape::width);
  cache.values.emplace_back(qkv.begin() + 2 * Shape::width, qkv.end());
  add(layer.projection(attend(qkv, cache)));
  std::vector<double> hidden = layer.up(layer.before_mlp(x));
  for (double& h : hidden) h = 0.5 * h * (1.0 + std::tanh(0.7978845608 * (h + 0.044715 * h * h * h)));
  add(layer.down(hidden));
}

inline int draw(const std::vector<double>& logits, double uniform) {
  const double largest = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const double logit : logits) sum += std::exp(logit - largest);
  double left = uniform * sum;
  std::size_t token = 0;
  for (; token + 1 < logits.size() && left >= std::exp(logits[token] - largest); ++token) left -= std::exp(logits[token] - largest);
  return static_cast<int>(token);
}

struct Generated {
  std::vector<int> tokens;     // the prompt and what was drawn
  std::vector<double> logits;  // of each position from the prompt's last one on
};

inline Generated generate(const Model& model, const std::vector<int>& prompt, std::size_t positions) {
  Generated generated{prompt, {}};
  std::vector<Cache> caches(model.layers.size());
  for (std::size_t position = 0; position < positions; ++position) {
    std::vector<double> x(Shape::width);
    for (std::size_t i = 0; i < x.size(); ++i) {
      x[i] = model.token_table[static_cast<std::size_t>(generated.tokens[position]) * Shape::width + i] +
             model.position_table[position * Shape::width + i];
    }
    for (std::size_t layer = 0; layer < model.layers.size(); ++layer) forward(model.layers[layer], caches[layer], x);
    if (position + 1 < prompt.size()) continue;
    const std::vector<double> logits = model.to_logits(model.last_norm(x));
    generated.logits.insert(generated.logits.end(), logits.begin(), logits.end());
    generated.tokens.push_back(draw(logits, model.uniform(position)));
  }
  return generated;
}

}  // namespace program
