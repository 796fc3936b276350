// A grid-stride loop over a struct of pointers that is passed by value, and a second struct with an array of pointers.
#include "runtime_check.h"

struct Columns {
  const float* price;
  const int* amount;
  float discount;
  float* total;
  int count;
};

struct Parts {
  const float* parts[4];
  float* sum;
  long long count;
};

__global__ void totals(Columns columns) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < columns.count; i += gridDim.x * blockDim.x) {
    columns.total[i] = columns.price[i] * static_cast<float>(columns.amount[i]) - columns.discount;
  }
}

__global__ void add_parts(const __grid_constant__ Parts parts) {
  const long long stride = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < parts.count; i += stride) {
    float sum = 0.0F;
#pragma unroll
    for (int part = 0; part < 4; ++part) sum += parts.parts[part][i];
    parts.sum[i] = sum;
  }
}

int main(int argc, char** argv) {
  program::Run run(argc, argv, "struct_of_pointers", 60'000);
  const std::size_t count = run.size();
  program::Numbers numbers(7);
  const std::vector<float> price = numbers.units(count, 100.0F);
  std::vector<int> amount(count);
  for (int& value : amount) value = static_cast<int>(numbers.below(1000));
  std::vector<double> total(count);
  std::vector<double> sum(count);
  for (std::size_t i = 0; i < count; ++i) {
    total[i] = static_cast<double>(price[i]) * amount[i] - 0.5;
    sum[i] = total[i] + 2.0 * price[i] + total[i];
  }

  const program::DeviceArray<float> device_price(price);
  const program::DeviceArray<int> device_amount(amount);
  const program::DeviceArray<float> device_total(count);
  const program::DeviceArray<float> device_sum(count);
  totals<<<20, 128>>>(Columns{device_price.get(), device_amount.get(), 0.5F, device_total.get(), static_cast<int>(count)});
  CHECK_LAUNCH();
  const Parts parts{
      {device_total.get(), device_price.get(), device_price.get(), device_total.get()}, device_sum.get(), static_cast<long long>(count)};
  add_parts<<<20, 128>>>(parts);
  CHECK_LAUNCH();
  run.expect_close("total", device_total.download(), total, 1e-5);
  run.expect_close("sum", device_sum.download(), sum, 1e-5);
  return run.finish();
}
