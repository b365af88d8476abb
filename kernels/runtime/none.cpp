// Built without a CUDA toolkit, or told to leave it out: there is no GPU, and whoever asks for one
// learns why.
#include "kernels/base/error.h"
#include "kernels/runtime/gpu.h"

namespace steady::gpu {
namespace {

constexpr const char* kWhy =
    "this program was built without CUDA: install a CUDA toolkit (nvcc 12.4 or newer), so that "
    "`nvcc` is on the PATH or in /usr/local/cuda/bin, configure again with -DSTEADY_CUDA=ON and "
    "build again";

[[noreturn]] void refuse() { throw Error{kWhy}; }

}  // namespace

std::string why_none() { return kWhy; }
std::string lacking(int /*compute*/) { return kWhy; }
int count() { return 0; }
void use(int /*index*/) { refuse(); }
Info info() { refuse(); }
void* allocate(std::int64_t /*bytes*/) { refuse(); }
void* allocate_on_host(std::int64_t /*bytes*/) { refuse(); }
void release(void* /*memory*/) noexcept {}
void release_on_host(void* /*memory*/) noexcept {}
void upload(void* /*to*/, const void* /*from*/, std::int64_t /*bytes*/) { refuse(); }
void download(void* /*to*/, const void* /*from*/, std::int64_t /*bytes*/) { refuse(); }
void fill_zero(void* /*to*/, std::int64_t /*bytes*/) { refuse(); }
void enqueue_upload(void* /*to*/, const void* /*from*/, std::int64_t /*bytes*/) { refuse(); }

Registered::Registered(void* /*memory*/, std::size_t /*bytes*/) { refuse(); }
Registered::~Registered() = default;
Registered::Registered(Registered&& other) noexcept : memory_(other.memory_) {}

struct Graph::Parts {};
Graph::Graph() = default;
Graph::~Graph() = default;
bool Graph::ready() const { return false; }
void Graph::record(Launch /*how*/, void (* /*enqueue*/)(void*), void* /*context*/) { refuse(); }
void Graph::issue() { refuse(); }

void finish() { refuse(); }
std::int64_t launches() { return 0; }
Waits waits() { return {}; }

struct Watch::Parts {};
Watch::Watch() = default;
Watch::~Watch() = default;
void Watch::start() { refuse(); }
double Watch::stop_ns() { refuse(); }

double read_bytes_per_s(const void* /*memory*/, std::int64_t /*bytes*/, int /*passes*/) {
    refuse();
}

}  // namespace steady::gpu
