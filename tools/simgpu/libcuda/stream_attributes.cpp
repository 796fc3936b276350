// Attributes of streams: kept and told; only the priority and the synchronisation policy mean anything to a simulated GPU.
#include <algorithm>

#include "tools/simgpu/libcuda/driver.h"

using namespace tessera::simgpu;

namespace {

constexpr CUlaunchAttributeID known[] = {CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY,
                                         CU_LAUNCH_ATTRIBUTE_PRIORITY, CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP,
                                         CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN};
bool is_known(CUlaunchAttributeID id) { return std::find(std::begin(known), std::end(known), id) != std::end(known); }

}  // namespace

SIM_EXPORT CUresult cuStreamSetAttribute(CUstream handle, CUstreamAttrID id, const CUstreamAttrValue* value) SIM_NOEXCEPT {
  const Entry entry;
  CUresult error;
  Stream* s = find_stream(entry, handle, error);
  if (s == nullptr) return error;
  if (value == nullptr || !is_known(id)) return CUDA_ERROR_INVALID_VALUE;
  if (id == CU_LAUNCH_ATTRIBUTE_PRIORITY) s->priority = std::clamp(value->priority, -5, 0);
  s->attributes[id] = *value;
  return CUDA_SUCCESS;
}
SIM_EXPORT CUresult cuStreamGetAttribute(CUstream handle, CUstreamAttrID id, CUstreamAttrValue* value) SIM_NOEXCEPT {
  const Entry entry;
  CUresult error;
  const Stream* s = find_stream(entry, handle, error);
  if (s == nullptr) return error;
  if (value == nullptr || !is_known(id)) return CUDA_ERROR_INVALID_VALUE;
  const auto found = s->attributes.find(id);
  *value = found == s->attributes.end() ? CUstreamAttrValue{} : found->second;
  if (found == s->attributes.end() && id == CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY) value->syncPolicy = CU_SYNC_POLICY_AUTO;
  if (id == CU_LAUNCH_ATTRIBUTE_PRIORITY) value->priority = s->priority;
  return CUDA_SUCCESS;
}
SIM_EXPORT CUresult cuStreamCopyAttributes(CUstream to_handle, CUstream from_handle) SIM_NOEXCEPT {
  const Entry entry;
  CUresult error;
  const Stream* from = find_stream(entry, from_handle, error);
  Stream* to = from == nullptr ? nullptr : find_stream(entry, to_handle, error);
  if (to == nullptr) return error;
  if (to->context->device != from->context->device) return CUDA_ERROR_INVALID_VALUE;
  to->attributes = from->attributes;
  to->priority = from->priority;
  return CUDA_SUCCESS;
}
