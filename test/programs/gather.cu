// Indices loaded from memory, 32 and 64 bits wide: gather, gather of rows, and scatter by a permutation.
#include "runtime_check.h"

template <class Index>
__global__ void gather(const float* table, const Index* indices, float* out, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i] = table[indices[i]];
}

template <class Index>
__global__ void gather_rows(const float* table, const Index* indices, float* out, int columns) {
  for (int i = threadIdx.x; i < columns; i += blockDim.x) {
    out[blockIdx.x * columns + i] = table[indices[blockIdx.x] * columns + i];
  }
}

__global__ void scatter(const float* in, const long long* places, float* out, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[places[i]] = in[i];
}

template <class Index>
std::vector<Index> random_indices(program::Numbers& numbers, std::size_t count, std::size_t limit) {
  std::vector<Index> indices(count);
  for (Index& index : indices) index = static_cast<Index>(numbers.below(limit));
  return indices;
}

template <class Index>
void run_gather(program::Run& run, program::Numbers& numbers, const std::vector<float>& table,
                const program::DeviceArray<float>& device_table) {
  constexpr std::size_t columns = 48;
  const std::size_t count = run.size();
  const std::vector<Index> indices = random_indices<Index>(numbers, count, table.size());
  const std::vector<Index> rows = random_indices<Index>(numbers, count / columns + 1, table.size() / columns);
  std::vector<float> want(count);
  for (std::size_t i = 0; i < count; ++i) want[i] = table[static_cast<std::size_t>(indices[i])];
  std::vector<float> want_rows;
  for (const Index row : rows) {
    for (std::size_t i = 0; i < columns; ++i) want_rows.push_back(table[static_cast<std::size_t>(row) * columns + i]);
  }

  const program::DeviceArray<Index> device_indices(indices);
  const program::DeviceArray<Index> device_rows(rows);
  const program::DeviceArray<float> device_out(count);
  const program::DeviceArray<float> device_out_rows(want_rows.size());
  gather<<<program::blocks_for(count, 128), 128>>>(device_table.get(), device_indices.get(), device_out.get(), static_cast<int>(count));
  CHECK_LAUNCH();
  gather_rows<<<static_cast<unsigned>(rows.size()), 32>>>(device_table.get(), device_rows.get(), device_out_rows.get(), columns);
  CHECK_LAUNCH();
  run.expect_equal("gather", device_out.download(), want);
  run.expect_equal("gather of rows", device_out_rows.download(), want_rows);
}

int main(int argc, char** argv) {
  program::Run run(argc, argv, "gather", 40'000);
  const std::size_t count = run.size();
  program::Numbers numbers(6);
  const std::vector<float> table = numbers.units(2 * count + 97);
  const program::DeviceArray<float> device_table(table);
  run_gather<int>(run, numbers, table, device_table);
  run_gather<long long>(run, numbers, table, device_table);

  std::vector<long long> places(count);
  for (std::size_t i = 0; i < count; ++i) places[i] = static_cast<long long>(i);
  for (std::size_t i = count; i > 1; --i) std::swap(places[i - 1], places[numbers.below(i)]);
  std::vector<float> want(count);
  for (std::size_t i = 0; i < count; ++i) want[static_cast<std::size_t>(places[i])] = table[i];
  const program::DeviceArray<long long> device_places(places);
  const program::DeviceArray<float> device_out(count);
  scatter<<<program::blocks_for(count, 128), 128>>>(device_table.get(), device_places.get(), device_out.get(), static_cast<int>(count));
  CHECK_LAUNCH();
  run.expect_equal("scatter", device_out.download(), want);
  return run.finish();
}
