extern "C" __attribute__((visibility("default"))) const char* inner_name() { return "inner"; }
