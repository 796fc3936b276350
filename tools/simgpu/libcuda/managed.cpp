// Managed memory: advice, prefetching, and what may be asked of it. Its bytes lie in host memory, which every device reaches: advice is
// kept and told, and moves nothing.
#include <map>
#include <set>

#include "tools/simgpu/libcuda/capture.h"
#include "tools/simgpu/libcuda/pool.h"
#include "tools/simgpu/libcuda/work.h"

using namespace tessera::simgpu;

namespace {

// Source: the values that cuMemRangeGetAttribute documents for "none" and "not the same everywhere".
constexpr CUmemLocation nowhere{CU_MEM_LOCATION_TYPE_INVALID, {CU_DEVICE_INVALID}};

bool operator==(const CUmemLocation& a, const CUmemLocation& b) { return a.type == b.type && a.id == b.id; }

struct Advice {
  bool read_mostly = false;
  CUmemLocation preferred = nowhere, prefetched = nowhere;
  std::set<int> accessed_by;  // devices; CU_DEVICE_CPU
};

// Piecewise constant over the addresses: each entry holds up to the next one.
class AdviceMap {
 public:
  template <typename F>
  void change(std::uint64_t lo, std::uint64_t hi, F&& f) {
    split(lo);
    split(hi);
    for (auto at = pieces_.find(lo); at->first != hi; ++at) f(at->second);
  }
  // f(advice) for every piece that [lo, hi) touches.
  template <typename F>
  void each(std::uint64_t lo, std::uint64_t hi, F&& f) const {
    for (auto at = std::prev(pieces_.upper_bound(lo)); at != pieces_.end() && at->first < hi; ++at) f(at->second);
  }

 private:
  void split(std::uint64_t at) { pieces_.emplace(at, std::prev(pieces_.upper_bound(at))->second); }
  std::map<std::uint64_t, Advice> pieces_{{0, Advice{}}};
};
AdviceMap& advice() {
  static AdviceMap* const instance = new AdviceMap;  // as long as the world
  return *instance;
}

bool is_managed(std::uint64_t address, std::uint64_t bytes) {
  const HostAllocation* a = world().host_allocation_of(address);
  return a != nullptr && a->kind == HostKind::managed && bytes != 0 && bytes <= a->base + a->size - address;
}

// A device, or the host in any of its forms.
CUresult check(const CUmemLocation& location) {
  if (location.type == CU_MEM_LOCATION_TYPE_DEVICE) {
    const bool there = location.id >= 0 && static_cast<std::size_t>(location.id) < world().devices.size();
    return there ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
  }
  const bool host = location.type == CU_MEM_LOCATION_TYPE_HOST || location.type == CU_MEM_LOCATION_TYPE_HOST_NUMA ||
                    location.type == CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT;
  return host ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
CUmemLocation location_of(CUdevice device) {
  return device == CU_DEVICE_CPU ? CUmemLocation{CU_MEM_LOCATION_TYPE_HOST, {0}} : CUmemLocation{CU_MEM_LOCATION_TYPE_DEVICE, {device}};
}
int device_of(const CUmemLocation& location) {
  return location.type == CU_MEM_LOCATION_TYPE_DEVICE    ? location.id
         : location.type == CU_MEM_LOCATION_TYPE_INVALID ? CU_DEVICE_INVALID
                                                         : CU_DEVICE_CPU;
}

CUresult prefetch(Stream& stream, CUdeviceptr address, std::size_t bytes, const CUmemLocation& to) {
  if (!is_managed(address, bytes)) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult bad = check(to); bad != CUDA_SUCCESS) return bad;
  if (stream.capturing != nullptr) return may_wait_for(stream);  // documented: not in a capture
  const CUresult code = enqueue(stream, MarkWork{});
  if (code == CUDA_SUCCESS) advice().change(address, address + bytes, [&](Advice& a) { a.prefetched = to; });
  return code;
}

CUresult advise(CUdeviceptr address, std::size_t bytes, CUmem_advise what, const CUmemLocation& where) {
  const Entry entry;
  CUresult error;
  if (entry.context(error) == nullptr) return error;
  if (!is_managed(address, bytes) || what < CU_MEM_ADVISE_SET_READ_MOSTLY || what > CU_MEM_ADVISE_UNSET_ACCESSED_BY)
    return CUDA_ERROR_INVALID_VALUE;
  const bool placed = what == CU_MEM_ADVISE_SET_PREFERRED_LOCATION || what >= CU_MEM_ADVISE_SET_ACCESSED_BY;
  if (const CUresult bad = placed ? check(where) : CUDA_SUCCESS; bad != CUDA_SUCCESS) return bad;
  advice().change(address, address + bytes, [&](Advice& a) {
    switch (what) {
      case CU_MEM_ADVISE_SET_READ_MOSTLY:
      case CU_MEM_ADVISE_UNSET_READ_MOSTLY:
        a.read_mostly = what == CU_MEM_ADVISE_SET_READ_MOSTLY;
        break;
      case CU_MEM_ADVISE_SET_PREFERRED_LOCATION:
        a.preferred = where;
        break;
      case CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION:
        a.preferred = nowhere;
        break;
      case CU_MEM_ADVISE_SET_ACCESSED_BY:
        a.accessed_by.insert(device_of(where));
        break;
      case CU_MEM_ADVISE_UNSET_ACCESSED_BY:
        a.accessed_by.erase(device_of(where));
        break;
    }
  });
  return CUDA_SUCCESS;
}

// The location that the whole range has, or none.
CUmemLocation common(std::uint64_t lo, std::uint64_t hi, CUmemLocation Advice::*member) {
  CUmemLocation found = nowhere;
  bool first = true, same = true;
  advice().each(lo, hi, [&](const Advice& a) {
    same = same && (first || a.*member == found);
    found = a.*member;
    first = false;
  });
  return same ? found : nowhere;
}

CUresult give(void* data, std::size_t size, CUmem_range_attribute attribute, std::uint64_t lo, std::uint64_t hi) {
  auto* values = static_cast<int*>(data);
  if (data == nullptr || size < sizeof(int) || (attribute == CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY ? size % 4 != 0 : size != 4))
    return CUDA_ERROR_INVALID_VALUE;
  switch (attribute) {
    case CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY: {
      bool all = true;
      advice().each(lo, hi, [&](const Advice& a) { all = all && a.read_mostly; });
      *values = all ? 1 : 0;
      return CUDA_SUCCESS;
    }
    case CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY: {
      std::set<int> by;
      bool first = true;
      advice().each(lo, hi, [&](const Advice& a) {
        std::set<int> both;
        for (const int device : a.accessed_by) {
          if (first || by.count(device) != 0) both.insert(device);
        }
        by = both;
        first = false;
      });
      auto next = by.begin();
      for (std::size_t i = 0; i < size / 4; ++i) values[i] = next == by.end() ? CU_DEVICE_INVALID : *next++;
      return CUDA_SUCCESS;
    }
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION:
      *values = device_of(common(lo, hi, &Advice::preferred));
      return CUDA_SUCCESS;
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION:
      *values = device_of(common(lo, hi, &Advice::prefetched));
      return CUDA_SUCCESS;
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE:
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE:
      *values = common(lo, hi, attribute == CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE ? &Advice::preferred : &Advice::prefetched).type;
      return CUDA_SUCCESS;
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID:
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID:
      *values = common(lo, hi, attribute == CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID ? &Advice::preferred : &Advice::prefetched).id;
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

}  // namespace

void tessera::simgpu::forget_advice(std::uint64_t base, std::uint64_t size) {
  advice().change(base, base + size, [](Advice& a) { a = {}; });
}

SIM_EXPORT CUresult cuMemPrefetchAsync_v2(CUdeviceptr address, size_t bytes, CUmemLocation to, unsigned int flags,
                                          CUstream handle) SIM_NOEXCEPT {
  const Entry entry;
  CUresult error;
  Stream* s = find_stream(entry, handle, error);
  if (s == nullptr) return error;
  return flags != 0 ? CUDA_ERROR_INVALID_VALUE : prefetch(*s, address, bytes, to);
}
SIM_EXPORT CUresult cuMemPrefetchAsync(CUdeviceptr address, size_t bytes, CUdevice to, CUstream stream) SIM_NOEXCEPT {
  return cuMemPrefetchAsync_v2(address, bytes, location_of(to), 0, stream);
}
// Place `i` of `indices` begins what goes to location `i`.
SIM_EXPORT CUresult cuMemPrefetchBatchAsync(CUdeviceptr* addresses, size_t* sizes, size_t count, CUmemLocation* locations, size_t* indices,
                                            size_t location_count, unsigned long long flags, CUstream handle) SIM_NOEXCEPT {
  const Entry entry;
  CUresult error;
  Stream* s = find_stream(entry, handle, error);
  if (s == nullptr) return error;
  if (addresses == nullptr || sizes == nullptr || locations == nullptr || indices == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  if (count == 0 || location_count == 0 || location_count > count || indices[0] != 0) return CUDA_ERROR_INVALID_VALUE;
  std::size_t location = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (location + 1 < location_count && indices[location + 1] == i) ++location;
    if (const CUresult bad = prefetch(*s, addresses[i], sizes[i], locations[location]); bad != CUDA_SUCCESS) return bad;
  }
  return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuMemAdvise_v2(CUdeviceptr address, size_t bytes, CUmem_advise what, CUmemLocation where) SIM_NOEXCEPT {
  return advise(address, bytes, what, where);
}
SIM_EXPORT CUresult cuMemAdvise(CUdeviceptr address, size_t bytes, CUmem_advise what, CUdevice where) SIM_NOEXCEPT {
  return advise(address, bytes, what, location_of(where));
}

SIM_EXPORT CUresult cuMemRangeGetAttribute(void* data, size_t size, CUmem_range_attribute attribute, CUdeviceptr address,
                                           size_t bytes) SIM_NOEXCEPT {
  const Entry entry;
  CUresult error;
  if (entry.context(error) == nullptr) return error;
  return is_managed(address, bytes) ? give(data, size, attribute, address, address + bytes) : CUDA_ERROR_INVALID_VALUE;
}
SIM_EXPORT CUresult cuMemRangeGetAttributes(void** data, size_t* sizes, CUmem_range_attribute* attributes, size_t count,
                                            CUdeviceptr address, size_t bytes) SIM_NOEXCEPT {
  if (data == nullptr || sizes == nullptr || attributes == nullptr) return CUDA_ERROR_INVALID_VALUE;
  for (std::size_t i = 0; i < count; ++i) {
    const CUresult bad = cuMemRangeGetAttribute(data[i], sizes[i], attributes[i], address, bytes);
    if (bad != CUDA_SUCCESS) return bad;
  }
  return CUDA_SUCCESS;
}

SIM_EXPORT CUresult cuStreamAttachMemAsync(CUstream handle, CUdeviceptr address, size_t bytes, unsigned int flags) SIM_NOEXCEPT {
  const Entry entry;
  CUresult error;
  Stream* s = find_stream(entry, handle, error);
  if (s == nullptr) return error;
  const bool one = flags == CU_MEM_ATTACH_GLOBAL || flags == CU_MEM_ATTACH_HOST || flags == CU_MEM_ATTACH_SINGLE;
  const HostAllocation* a = world().host_allocation_of(address);
  const bool whole = a != nullptr && a->kind == HostKind::managed && a->base == address && (bytes == 0 || bytes == a->size);
  if (!one || !whole || (flags == CU_MEM_ATTACH_SINGLE && s->is_legacy)) return CUDA_ERROR_INVALID_VALUE;
  return s->capturing != nullptr ? may_wait_for(*s) : enqueue(*s, MarkWork{});
}
