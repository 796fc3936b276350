// Pointers that are in memory, not in the parameters: a launch whose reach nobody can tell from its parameters must
// still see what the launches before it wrote, wherever they ran, and those after it what it wrote.
#include "runtime_check.h"

__global__ void affine(unsigned* values, unsigned factor, unsigned offset, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) values[i] = values[i] * factor + offset;
}

// Rotates the rows of the table by one place, by value.
__global__ void rotate(unsigned* const* rows, int row_count, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const unsigned first = rows[0][i];
  for (int row = 0; row + 1 < row_count; ++row) rows[row][i] = rows[row + 1][i];
  rows[row_count - 1][i] = first;
}

int main(int argc, char** argv) {
  program::Run run(argc, argv, "pointer_table", 10'000);
  constexpr std::size_t rows = 3;
  const std::size_t count = run.size();
  const int n = static_cast<int>(count);
  const unsigned blocks = program::blocks_for(count, 128);
  program::Numbers numbers(12);
  std::vector<std::vector<unsigned>> want(rows, std::vector<unsigned>(count));
  for (auto& row : want) {
    for (unsigned& value : row) value = static_cast<unsigned>(numbers.bits());
  }
  const program::DeviceArray<unsigned> row0(want[0]);
  const program::DeviceArray<unsigned> row1(want[1]);
  const program::DeviceArray<unsigned> row2(want[2]);
  const program::DeviceArray<unsigned>* device[rows] = {&row0, &row1, &row2};
  const program::DeviceArray<unsigned*> table(std::vector<unsigned*>{row0.get(), row1.get(), row2.get()});

  for (unsigned round = 0; round < 3; ++round) {
    for (std::size_t row = 0; row < rows; ++row) {
      const unsigned factor = 3 + 2 * static_cast<unsigned>(row);
      affine<<<blocks, 128>>>(device[row]->get(), factor, round, n);
      CHECK_LAUNCH();
      for (unsigned& value : want[row]) value = value * factor + round;
    }
    rotate<<<blocks, 128>>>(table.get(), rows, n);
    CHECK_LAUNCH();
    want.push_back(want.front());
    want.erase(want.begin());
  }
  CHECK(cudaDeviceSynchronize());
  for (std::size_t row = 0; row < rows; ++row) run.expect_equal("row", device[row]->download(), want[row]);
  return run.finish();
}
