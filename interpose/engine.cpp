#include "interpose/engine.h"

#include <cstdlib>
#include <string_view>

#include "interpose/resolve/driver.h"
#include "interpose/resolve/real.h"

namespace tessera::interpose {
namespace {

Engine* the_engine = nullptr;

}  // namespace

void Engine::make() {
  if (the_engine == nullptr) the_engine = new Engine();
}
Engine& Engine::get() { return *the_engine; }

Engine::Engine() : settings_(Settings::from_environment()), problems_(settings_.problems) {
  auto placer = Placer::make(settings_);
  if (placer.ok()) {
    placer_ = std::move(placer).value();
  } else {
    problems_.push_back(placer.error().message() + "; running as without Tessera");
  }
  if (placer_.is_home()) home_only_ = "the policy is home";
  const char* blocking = std::getenv("CUDA_LAUNCH_BLOCKING");
  launches_block_ = blocking != nullptr && std::string_view(blocking) == "1";
}

bool Engine::find_devices() {
  call<Entry::cuDriverGetVersion>(&driver_version_);
  is_simulated_ = driver::is_simulated();
  if (!helpers_.find()) {
    if (home_only_.empty()) home_only_ = "the driver doesn't say which GPUs there are";
    return false;
  }
  if (home_only_.empty() && helpers_.count() < 2) home_only_ = "there is one GPU";
  if (home_only_.empty()) {
    std::vector<std::string> names;
    names.reserve(static_cast<std::size_t>(helpers_.count()));
    for (int device = 0; device < helpers_.count(); ++device) names.push_back(helpers_.name(device));
    if (Status ready = placer_.devices(names); !ready.ok()) {
      problems_.push_back(ready.error().message());
      home_only_ = ready.error().what;
    }
  }
  return home_only_.empty();
}

CUcontext current_context() noexcept {
  CUcontext context = nullptr;
  return call<Entry::cuCtxGetCurrent>(&context) == CUDA_SUCCESS ? context : nullptr;
}

int current_device() noexcept {
  CUdevice device = -1;
  return call<Entry::cuCtxGetDevice>(&device) == CUDA_SUCCESS ? device : -1;
}

}  // namespace tessera::interpose
