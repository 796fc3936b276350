#include <dlfcn.h>

extern "C" __attribute__((visibility("default"))) const char* name_of_inner() {
  void* inner = dlopen("libtessera_plugin_inner.so", RTLD_NOW);
  const auto name = inner == nullptr ? nullptr : reinterpret_cast<const char* (*)()>(dlsym(inner, "inner_name"));
  return name == nullptr ? "not found" : name();
}
