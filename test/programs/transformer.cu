// A small transformer that generates tokens one by one: embedding, then in each layer norm, QKV, attention over a cache of
// keys and values, projection and MLP, at the end the logits and sampling. Weights (2 MB) come from a fixed generator.
#include <algorithm>
#include <memory>

#include "runtime_check.h"
#include "transformer_reference.h"

namespace {

using program::Shape;

__device__ float across_warp(float value) {
  for (int offset = 16; offset > 0; offset /= 2) value += __shfl_xor_sync(0xffffffffU, value, offset);
  return value;
}

__global__ void embed(const int* tokens, const float* token_table, const float* position_table, float* x, int position, int width) {
  for (int i = threadIdx.x; i < width; i += blockDim.x) {
    x[i] = token_table[tokens[position] * width + i] + position_table[position * width + i];
  }
}

// One warp.
__global__ void layer_norm(const float* x, const float* gain, const float* bias, float* out, int width) {
  float sum = 0.0F;
  for (int i = threadIdx.x; i < width; i += 32) sum += x[i];
  const float mean = across_warp(sum) / width;
  float squares = 0.0F;
  for (int i = threadIdx.x; i < width; i += 32) squares += (x[i] - mean) * (x[i] - mean);
  const float scale = rsqrtf(across_warp(squares) / width + 1e-5F);
  for (int i = threadIdx.x; i < width; i += 32) out[i] = (x[i] - mean) * scale * gain[i] + bias[i];
}

__device__ float gelu(float x) { return 0.5F * x * (1.0F + tanhf(0.7978845608F * (x + 0.044715F * x * x * x))); }

// out = activation(weights * x + bias) + residual, one warp a row; residual may be null and may be out.
__global__ void linear(const float4* weights, const float* bias, const float4* x, const float* residual, float* out, int rows, int quads,
                       bool activate) {
  const int row = blockIdx.x * blockDim.y + threadIdx.y;
  if (row >= rows) return;
  float sum = 0.0F;
  for (int i = threadIdx.x; i < quads; i += 32) {
    const float4 w = weights[row * quads + i];
    const float4 v = x[i];
    sum += w.x * v.x + w.y * v.y + w.z * v.z + w.w * v.w;
  }
  sum = across_warp(sum);
  if (threadIdx.x != 0) return;
  sum += bias[row];
  if (activate) sum = gelu(sum);
  if (residual != nullptr) sum += residual[row];
  out[row] = sum;
}

// Moves the keys and values of this position from behind the query into the caches.
__global__ void append(const float* qkv, float* keys, float* values, int position, int width) {
  const int i = threadIdx.x;
  keys[position * width + i] = qkv[width + i];
  values[position * width + i] = qkv[2 * width + i];
}

// One block of one warp a head; its scores in dynamic shared memory.
__global__ void attention(const float* query, const float* keys, const float* values, float* out, int positions, int width, float scale) {
  extern __shared__ float scores[];
  const int first = blockIdx.x * 32 + threadIdx.x;
  float largest = -INFINITY;
  for (int position = 0; position < positions; ++position) {
    const float score = across_warp(query[first] * keys[position * width + first]) * scale;
    if (threadIdx.x == 0) scores[position] = score;
    largest = fmaxf(largest, score);
  }
  __syncwarp();
  float sum = 0.0F;
  float value = 0.0F;
  for (int position = 0; position < positions; ++position) {
    const float weight = expf(scores[position] - largest);
    sum += weight;
    value += weight * values[position * width + first];
  }
  out[first] = value / sum;
}

// Draws the next token by inverse transform; one block.
__global__ void sample(const float* logits, int* tokens, int position, int count, float uniform) {
  __shared__ float weights[Shape::vocabulary];
  float largest = -INFINITY;
  for (int i = 0; i < count; ++i) largest = fmaxf(largest, logits[i]);
  for (int i = threadIdx.x; i < count; i += blockDim.x) weights[i] = expf(logits[i] - largest);
  __syncthreads();
  if (threadIdx.x != 0) return;
  float sum = 0.0F;
  for (int i = 0; i < count; ++i) sum += weights[i];
  float left = uniform * sum;
  int token = 0;
  while (token + 1 < count && left >= weights[token]) left -= weights[token++];
  tokens[position + 1] = token;
}

struct DeviceLinear {
  program::DeviceArray<float> weights;
  program::DeviceArray<float> bias;
  int rows;
  int columns;

  explicit DeviceLinear(const program::Linear& host)
      : weights(host.weights), bias(host.bias), rows(static_cast<int>(host.rows)), columns(static_cast<int>(host.columns)) {}

  void launch(cudaStream_t stream, const float* x, const float* residual, float* out, bool activate) const {
    linear<<<program::blocks_for(rows, 4), dim3(32, 4), 0, stream>>>(reinterpret_cast<const float4*>(weights.get()), bias.get(),
                                                                     reinterpret_cast<const float4*>(x), residual, out, rows, columns / 4,
                                                                     activate);
    CHECK_LAUNCH();
  }
};

struct DeviceNorm {
  program::DeviceArray<float> gain;
  program::DeviceArray<float> bias;

  explicit DeviceNorm(const program::Norm& host) : gain(host.gain), bias(host.bias) {}

  void launch(cudaStream_t stream, const float* x, float* out) const {
    layer_norm<<<1, 32, 0, stream>>>(x, gain.get(), bias.get(), out, Shape::width);
    CHECK_LAUNCH();
  }
};

struct DeviceLayer {
  DeviceNorm before_attention;
  DeviceLinear qkv;
  DeviceLinear projection;
  DeviceNorm before_mlp;
  DeviceLinear up;
  DeviceLinear down;
  program::DeviceArray<float> keys;
  program::DeviceArray<float> values;

  DeviceLayer(const program::Layer& host, std::size_t positions)
      : before_attention(host.before_attention),
        qkv(host.qkv),
        projection(host.projection),
        before_mlp(host.before_mlp),
        up(host.up),
        down(host.down),
        keys(positions * Shape::width),
        values(positions * Shape::width) {}
};

// What flows between the kernels of one position.
struct Activations {
  program::DeviceArray<float> x{Shape::width};
  program::DeviceArray<float> normed{Shape::width};
  program::DeviceArray<float> qkv{3 * Shape::width};
  program::DeviceArray<float> attended{Shape::width};
  program::DeviceArray<float> hidden{Shape::hidden};
  program::DeviceArray<float> logits{Shape::vocabulary};
};

void layer_forward(cudaStream_t stream, const DeviceLayer& layer, const Activations& with, int position) {
  layer.before_attention.launch(stream, with.x.get(), with.normed.get());
  layer.qkv.launch(stream, with.normed.get(), nullptr, with.qkv.get(), false);
  append<<<1, Shape::width, 0, stream>>>(with.qkv.get(), layer.keys.get(), layer.values.get(), position, Shape::width);
  CHECK_LAUNCH();
  attention<<<Shape::heads, 32, (position + 1) * sizeof(float), stream>>>(
      with.qkv.get(), layer.keys.get(), layer.values.get(), with.attended.get(), position + 1, Shape::width, 1.0F / std::sqrt(32.0F));
  CHECK_LAUNCH();
  layer.projection.launch(stream, with.attended.get(), with.x.get(), with.x.get(), false);
  layer.before_mlp.launch(stream, with.x.get(), with.normed.get());
  layer.up.launch(stream, with.normed.get(), nullptr, with.hidden.get(), true);
  layer.down.launch(stream, with.hidden.get(), with.x.get(), with.x.get(), false);
}

}  // namespace

int main(int argc, char** argv) {
  program::Run run(argc, argv, "transformer", 6);
  const std::vector<int> prompt{17, 4, 200};
  const std::size_t positions = prompt.size() + run.size();
  if (positions > Shape::max_positions) {
    std::fprintf(stderr, "transformer: --size is at most %zu\n", Shape::max_positions - prompt.size());
    return 2;
  }
  const program::Model model(16);
  const program::Generated want = program::generate(model, prompt, positions);

  const program::DeviceArray<float> token_table(model.token_table);
  const program::DeviceArray<float> position_table(model.position_table);
  std::vector<std::unique_ptr<DeviceLayer>> layers;
  for (const program::Layer& layer : model.layers) layers.push_back(std::make_unique<DeviceLayer>(layer, positions));
  const DeviceNorm last_norm(model.last_norm);
  const DeviceLinear to_logits(model.to_logits);
  const Activations with;
  std::vector<int> tokens(positions + 1, -1);
  std::copy(prompt.begin(), prompt.end(), tokens.begin());
  const program::DeviceArray<int> device_tokens(tokens);
  cudaStream_t stream = nullptr;
  CHECK(cudaStreamCreate(&stream));
  std::vector<float> logits;
  for (std::size_t at = 0; at < positions; ++at) {
    const int position = static_cast<int>(at);
    embed<<<1, Shape::width, 0, stream>>>(device_tokens.get(), token_table.get(), position_table.get(), with.x.get(), position,
                                          Shape::width);
    CHECK_LAUNCH();
    for (const auto& layer : layers) layer_forward(stream, *layer, with, position);
    if (at + 1 < prompt.size()) continue;
    last_norm.launch(stream, with.x.get(), with.normed.get());
    to_logits.launch(stream, with.normed.get(), nullptr, with.logits.get(), false);
    sample<<<1, 128, 0, stream>>>(with.logits.get(), device_tokens.get(), position, Shape::vocabulary, model.uniform(at));
    CHECK_LAUNCH();
    std::vector<float> row(Shape::vocabulary);
    CHECK(cudaMemcpyAsync(row.data(), with.logits.get(), row.size() * sizeof(float), cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamSynchronize(stream));
    logits.insert(logits.end(), row.begin(), row.end());
  }
  tokens = device_tokens.download();
  CHECK(cudaStreamDestroy(stream));

  run.expect_equal("tokens", tokens, want.tokens);
  run.expect_close("logits", logits, want.logits, 1e-3);
  std::printf("transformer: tokens");
  for (const int token : tokens) std::printf(" %d", token);
  std::printf("\n");
  return run.finish();
}
