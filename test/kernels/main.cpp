#include "test/kernels/kernels.h"

int main() { return kernels::run_cases(); }
