#include "interpose/start.h"

#include <pthread.h>
#include <sys/auxv.h>

#include <cstdlib>
#include <exception>
#include <mutex>

#include "interpose/engine.h"
#include "interpose/report/write.h"
#include "interpose/resolve/driver.h"
#include "interpose/resolve/real.h"
#include "profiles/base/log.h"

namespace tessera::interpose::start {
namespace {

std::once_flag contact_once, driver_once;

void set(Mode mode) { detail::mode.store(mode, std::memory_order_release); }
void in_child() { set(Mode::inert); }
void at_exit() {
  if (mode() == Mode::counting || mode() == Mode::moving) report::write_at_exit(Engine::get());
}

void contact() {
  if (getauxval(AT_SECURE) != 0) return set(Mode::inert);
  Engine::make();
  const Engine& engine = Engine::get();
  for (const std::string& problem : engine.problems()) log::notice(problem);
  if (engine.policy_is_home() && engine.settings().report.empty()) return set(Mode::inert);
  pthread_atfork(nullptr, nullptr, &in_child);
  if (!engine.settings().report.empty()) std::atexit(&at_exit);
  set(Mode::counting);
}

void initialised() {
  if (mode() != Mode::counting) return;
  Engine& engine = Engine::get();
  const std::size_t told = engine.problems().size();
  const bool moving = engine.find_devices();
  for (std::size_t i = told; i < engine.problems().size(); ++i) log::notice(engine.problems()[i]);
  if (moving) set(Mode::moving);
}

void explain_stub() {
  log::notice(driver::path() +
              " is the toolkit's stub, not a driver: take its folder (…/stubs) out of LD_LIBRARY_PATH, and install the NVIDIA driver");
}

template <typename Body>
void once(std::once_flag& flag, Body body) noexcept {
  try {
    std::call_once(flag, body);
  } catch (const std::exception& problem) {
    log::error("start: {}", problem.what());
    set(Mode::inert);
  }
}

}  // namespace

bool is_inert() noexcept { return getauxval(AT_SECURE) != 0; }

void first_contact_slow() noexcept { once(contact_once, &contact); }

void driver_initialised(int result) noexcept {
  if (result == CUDA_ERROR_STUB_LIBRARY) {
    explain_stub();
  } else if (result == CUDA_SUCCESS) {
    once(driver_once, &initialised);
  }
}

}  // namespace tessera::interpose::start
