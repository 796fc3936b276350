// Launching: one operation a node, behind the stream and behind the graph's last launch; conditional bodies run as part of their node.
#include <algorithm>
#include <cstring>

#include "tools/simgpu/libcuda/capture.h"
#include "tools/simgpu/libcuda/observe.h"
#include "tools/simgpu/machine/conditions.h"

using namespace tessera::simgpu;

namespace {

// What the graph names must still be there, and what it allocates mustn't.
CUresult check(const Graph& graph, bool free_first) {
  for (const auto& node : graph.nodes) {
    if (const auto* child = std::get_if<ChildNode>(&node->content)) {
      if (const CUresult bad = check(*child->graph, free_first); bad != CUDA_SUCCESS) return bad;
    }
    if (const auto* c = std::get_if<ConditionalNode>(&node->content)) {
      for (const auto& body : c->bodies) {
        if (const CUresult bad = check(*body, free_first); bad != CUDA_SUCCESS) return bad;
      }
    }
    if (const CUresult bad = usable(*node); bad != CUDA_SUCCESS) return bad;
    const auto* event = std::get_if<EventNode>(&node->content);
    if (event != nullptr && world().events.find(event->event) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    const auto* made = std::get_if<AllocNode>(&node->content);
    if (made != nullptr && made->memory->live && !free_first) return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

// Fresh or freed memory holds nothing that a program may rely on.
OperationPtr poison(const GraphMemoryPtr& memory, const char* name, Context& context) {
  const OperationPtr operation = operation_of(MarkWork{}, context);
  operation->kind = OperationKind::memory;
  operation->name = name;
  operation->work = [memory](Operation& self, Random*) {
    std::memset(reinterpret_cast<void*>(memory->address), poison_byte, memory->size);
    if (recording()) self.touched = {{memory->address, memory->address + memory->size, touched_written}};
    return Step::ended;
  };
  return operation;
}

// Runs a body's nodes one after the other, inside the operation of the conditional node.
class BodyRun {
 public:
  BodyRun(Operation& self, Context& context) : self_(self), context_(context) {}
  void run(const Graph& graph) {
    for (const GraphNode* node : in_topological_order(graph)) std::visit([&](const auto& c) { node_(c, *node); }, node->content);
  }
  void run(const ConditionalNode& c) {
    const auto body = [&](std::size_t i) { run(*c.bodies[i]); };
    switch (c.type) {
      case CU_GRAPH_COND_TYPE_IF:
        if (condition(c.handle) != 0)
          body(0);
        else if (c.bodies.size() > 1)
          body(1);
        return;
      case CU_GRAPH_COND_TYPE_WHILE:
        while (condition(c.handle) != 0 && context_.sticky == CUDA_SUCCESS) body(0);
        return;
      case CU_GRAPH_COND_TYPE_SWITCH:
        if (condition(c.handle) < c.bodies.size()) body(condition(c.handle));
        return;
    }
  }

 private:
  void node_(const KernelNode& c, const GraphNode& node) { do_(c.work, node); }
  void node_(const CopyNode& c, const GraphNode& node) { do_(c.work, node); }
  void node_(const FillNode& c, const GraphNode& node) { do_(c.work, node); }
  void node_(const ChildNode& c, const GraphNode& /*node*/) { run(*c.graph); }
  void node_(const ConditionalNode& c, const GraphNode& /*node*/) { run(c); }
  template <typename T>
  void node_(const T& /*content*/, const GraphNode& /*node*/) {}  // documented: nothing else may be in a body

  void do_(const Work& work, const GraphNode& node) {
    const OperationPtr part = operation_of(node.enabled ? work : Work{MarkWork{}}, *node.context);
    part->issued = earliest_begin(self_) + self_.duration;
    if (part->work) (void)part->work(*part, nullptr);
    self_.duration += part->duration;
    self_.touched.insert(self_.touched.end(), part->touched.begin(), part->touched.end());
  }

  Operation& self_;
  Context& context_;
};

class Submission {
 public:
  Submission(Stream& stream, Nanoseconds issued) : stream_(stream), issued_(issued) {}

  // What has ended when the graph has: never empty unless `before` is.
  std::vector<OperationPtr> submit(const Graph& graph, const std::vector<OperationPtr>& before) {
    std::unordered_map<const GraphNode*, std::vector<OperationPtr>> ends;
    std::vector<OperationPtr> all;
    for (const GraphNode* node : in_topological_order(graph)) {
      std::vector<OperationPtr> after;
      for (const auto& [earlier, data] : node->after) after.insert(after.end(), ends[earlier].begin(), ends[earlier].end());
      if (node->after.empty()) after = before;
      std::vector<OperationPtr> end = std::visit([&](const auto& c) { return node_(c, *node, after); }, node->content);
      all.insert(all.end(), end.begin(), end.end());
      ends[node] = std::move(end);
    }
    return all.empty() ? before : all;
  }

 private:
  using Operations = std::vector<OperationPtr>;

  Operations give_(const OperationPtr& operation, const Operations& after) {
    operation->issued = issued_;
    operation->after = after;
    world().scheduler.submit(operation);
    return {operation};
  }
  Operations work_(const Work& work, const GraphNode& node, const Operations& after) {
    return give_(operation_of(node.enabled ? work : Work{MarkWork{}}, *node.context), after);
  }
  Operations node_(const EmptyNode& /*c*/, const GraphNode& node, const Operations& after) { return work_(MarkWork{}, node, after); }
  Operations node_(const KernelNode& c, const GraphNode& node, const Operations& after) { return work_(c.work, node, after); }
  Operations node_(const CopyNode& c, const GraphNode& node, const Operations& after) { return work_(c.work, node, after); }
  Operations node_(const FillNode& c, const GraphNode& node, const Operations& after) { return work_(c.work, node, after); }
  Operations node_(const HostWork& c, const GraphNode& node, const Operations& after) { return work_(c, node, after); }
  Operations node_(const CallbackWork& c, const GraphNode& node, const Operations& after) { return work_(c, node, after); }
  Operations node_(const ChildNode& c, const GraphNode& /*node*/, const Operations& after) { return submit(*c.graph, after); }
  Operations node_(const EventNode& c, const GraphNode& node, Operations after) {
    if (!c.record && c.event->mark != nullptr) after.push_back(c.event->mark);
    Operations made = work_(MarkWork{}, node, after);
    if (c.record) c.event->mark = made.front();
    return made;
  }
  Operations node_(const AllocNode& c, const GraphNode& node, const Operations& after) {
    c.memory->set_live(true);
    return give_(poison(c.memory, "graph allocation", *node.context), after);
  }
  Operations node_(const FreeNode& c, const GraphNode& node, const Operations& after) {
    c.memory->set_live(false);
    return give_(poison(c.memory, "graph free", *node.context), after);
  }
  Operations node_(const ConditionalNode& c, const GraphNode& node, const Operations& after) {
    const OperationPtr operation = operation_of(MarkWork{}, *node.context);
    operation->kind = OperationKind::kernel;
    operation->name = "conditional node";
    operation->engines = {{&node.context->device->clock, Engine::compute}};
    operation->work = [&c, context = node.context](Operation& self, Random*) {
      BodyRun(self, *context).run(c);
      return Step::ended;
    };
    return give_(operation, after);
  }
  Operations node_(const BatchNode& c, const GraphNode& node, Operations after) {
    for (const Work& work : c.works) after = work_(work, node, after);
    return after;
  }

  Stream& stream_;
  Nanoseconds issued_;
};

// Gives the conditions their values at the launch, where that was asked for.
OperationPtr assign_conditions(const Graph& graph, Context& context) {
  std::vector<std::pair<std::uint64_t, unsigned>> values;
  const auto collect = [&](const auto& self, const Graph& g) -> void {
    for (const auto& node : g.nodes) {
      if (const auto* child = std::get_if<ChildNode>(&node->content)) self(self, *child->graph);
      const auto* c = std::get_if<ConditionalNode>(&node->content);
      if (c == nullptr) continue;
      const auto found = graph_catalogue().conditions.find(c->handle);
      if (found != graph_catalogue().conditions.end() && found->second.second.second)
        values.emplace_back(c->handle, found->second.second.first);
      for (const auto& body : c->bodies) self(self, *body);
    }
  };
  collect(collect, graph);
  if (values.empty()) return nullptr;
  const OperationPtr operation = operation_of(MarkWork{}, context);
  operation->name = "conditions' default values";
  operation->work = [values](Operation&, Random*) {
    for (const auto& [handle, value] : values) (void)set_condition(handle, value);
    return Step::ended;
  };
  return operation;
}

CUresult launch(GraphExec& exec, Stream& stream) {
  if (const CUresult bad = check(*exec.graph, (exec.flags & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH) != 0); bad != CUDA_SUCCESS)
    return bad;
  World& w = world();
  const Nanoseconds issued = w.clock.call() + static_cast<Nanoseconds>(stream.context->device->model->launch_latency_s * 1e9);
  std::vector<OperationPtr> before = before_next_on(stream);
  if (exec.last != nullptr && std::find(before.begin(), before.end(), exec.last) == before.end()) before.push_back(exec.last);
  if (const OperationPtr assign = assign_conditions(*exec.graph, *stream.context)) {
    assign->issued = issued;
    assign->after = before;
    w.scheduler.submit(assign);
    before = {assign};
  }
  const OperationPtr end = operation_of(MarkWork{}, *stream.context);
  end->name = "end of a graph";
  end->after = Submission(stream, issued).submit(*exec.graph, before);
  order_behind(stream, end);
  exec.last = end;
  return CUDA_SUCCESS;
}

}  // namespace

SIM_EXPORT CUresult cuGraphLaunch(CUgraphExec handle, CUstream stream_handle) SIM_NOEXCEPT {
  const Entry entry;
  CUresult error;
  Stream* stream = find_stream(entry, stream_handle, error);
  if (stream == nullptr) return error;
  GraphExec* exec = graph_catalogue().execs.find(handle);
  if (exec == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult bad = may_use(*stream); bad != CUDA_SUCCESS) return bad;
  return stream->capturing == nullptr ? launch(*exec, *stream) : capture(*stream, ChildNode{copy_of(*exec->graph)});
}
// Launches need no preparation here.
SIM_EXPORT CUresult cuGraphUpload(CUgraphExec handle, CUstream stream) SIM_NOEXCEPT {
  const Entry entry;
  CUresult error;
  if (find_stream(entry, stream, error) == nullptr) return error;
  return graph_catalogue().execs.find(handle) == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}
