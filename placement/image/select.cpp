#include "placement/image/select.h"

namespace tessera::image {
namespace {

const Entry* newest(std::span<const Entry> entries, unsigned sm, EntryKind kind) {
  const Entry* best = nullptr;
  for (const Entry& e : entries) {
    if (e.kind == kind && runs_on(e, sm) && (best == nullptr || e.sm > best->sm)) best = &e;
  }
  return best;
}

}  // namespace

bool runs_on(const Entry& e, unsigned sm) {
  const bool same_major = e.sm / 10 == sm / 10;
  if (e.arch_suffix == 'a') return e.sm == sm;
  switch (e.kind) {
    case EntryKind::cubin:
      return same_major && e.sm <= sm;
    case EntryKind::ptx:
      return e.sm <= sm && (e.arch_suffix != 'f' || same_major);
    default:
      return false;
  }
}

const Entry* best_ptx_for(std::span<const Entry> entries, unsigned sm) { return newest(entries, sm, EntryKind::ptx); }

const Entry* best_for(std::span<const Entry> entries, unsigned sm) {
  const Entry* code = newest(entries, sm, EntryKind::cubin);
  return code != nullptr ? code : best_ptx_for(entries, sm);
}

}  // namespace tessera::image
