// See fake_source.h: the hand-filled source and the raw client.
#include "tests/dashboard/fake_source.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "runner/base/sha256.h"
#include "runner/spec/spec.h"
#include "tests/support/sample_record.h"

namespace steady::web {

MakeSource fake_source() {
    return [] {
        auto source = std::make_unique<Source>();
        source->list = [](const page::ListQuery&) { return page::ListPage{}; };
        source->record = [](const std::string& id) {
            std::optional<Record> found;
            if (id == "gone") return found;
            found = accepted_record();
            found->checked = true;
            return found;
        };
        source->outline = source->record;
        source->shown = source->record;
        source->runs = [](const std::string&) { return std::vector<Run>{}; };
        source->who_did = [](const std::string&) { return std::vector<page::Deed>{}; };
        source->stacks = [](std::int64_t) { return std::optional<std::string>(); };
        source->queue = [] { return std::vector<page::QueueRow>{}; };
        source->hosts = [] { return std::vector<page::HostDetail>{}; };
        source->kernels = [] { return std::vector<page::KernelRow>{}; };
        source->owners = [] { return std::vector<page::OwnerRow>{}; };
        source->tried = [](const std::string&, int, bool) { return search::Findings{}; };
        source->journal = [](const std::string&, int) { return std::vector<page::ListRow>{}; };
        source->entry = [](const std::string& slug) {
            return slug == "gone" ? std::nullopt : std::optional<std::string>("# Entry\n");
        };
        source->events = [](const std::string& id, int) {
            page::Events events;
            events.state = id == "forever" ? "running" : "done";
            return std::optional(events);
        };
        source->token_scopes = [](const std::string& sha) {
            for (const char* scope : {"read", "submit", "cancel", "admin"}) {
                if (sha == sha256_hex(std::string(scope) + "-token")) {
                    return std::vector<std::string>{scope};
                }
            }
            return std::vector<std::string>{};
        };
        source->submit = [](const Spec& spec, int, bool) {
            return Submitted{spec.id, "queued", true};
        };
        source->cancel = [](const std::string&) { return std::string("cancelled"); };
        source->requeue = [](const std::string&) { return std::string("queued"); };
        source->set_priority = [](const std::string&, int) {};
        source->rerun = [](const std::string& id, bool) { return Submitted{id, "queued", true}; };
        source->queue_depth = [] { return 0; };
        source->audits = [] { return std::vector<page::AuditRow>{}; };
        source->workers = [](const std::string& host, int) {
            return std::vector<page::WorkerRow>(host == "gone" ? 0 : 1);
        };
        source->series = [] { return std::vector<track::SeriesRow>{}; };
        source->series_detail = [](const std::string& name, int) {
            return name == "gone" ? std::nullopt : std::optional<SeriesDetail>(SeriesDetail{});
        };
        source->alerts = [](const std::string&) { return std::vector<alerts::Alert>{}; };
        source->triage_alert = [](const Triage& one) { return one.state; };
        source->revisions = [](const std::string&, const std::string&) {
            return std::vector<track::RevisionRow>{};
        };
        source->triage = [](const Triage& one) { return one.state; };
        source->add_note = [](const std::string& series, const track::Note& note) {
            return series == "gone" ? std::nullopt : std::optional<track::Note>(note);
        };
        source->searches = [](const std::string&, const std::string&) {
            return std::vector<bisect::Asked>{};
        };
        source->ask_search = [](const bisect::Asked&) { return bisect::AskedNow{1, true}; };
        source->cancel_search = [](std::int64_t id) {
            return std::string(id == 1 ? "cancelled" : "");
        };
        source->remove_note = [](const std::string&, std::int64_t note) { return note == 1; };
        source->noise = [](const std::string&) { return std::vector<page::NoiseRun>{}; };
        return source;
    };
}

namespace {
ServeOptions on_free_port(ServeOptions options) {
    options.port = 0;
    return options;
}
}  // namespace

RunningDashboard::RunningDashboard(HttpLimits limits, ServeOptions options, MakeSource source)
    : dashboard_(on_free_port(std::move(options)), std::move(source), limits),
      thread_([this] { dashboard_.run(false); }) {}

RunningDashboard::~RunningDashboard() {
    dashboard_.stop();
    thread_.join();
}

RawClient::RawClient(std::uint16_t port) : fd_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) {
        close(fd_);
        fd_ = -1;
    }
}

RawClient::~RawClient() {
    if (fd_ >= 0) close(fd_);
}

bool RawClient::send(const std::string& bytes) {
    std::size_t sent = 0;
    while (sent < bytes.size()) {
        const ssize_t n = ::send(fd_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
        if (n <= 0) return false;
        sent += static_cast<std::size_t>(n);
    }
    return true;
}

std::string RawClient::receive(const std::string& until, int timeout_ms) {
    std::string out;
    char buffer[4096];
    while (until.empty() || out.find(until) == std::string::npos) {
        pollfd ready{fd_, POLLIN, 0};
        if (poll(&ready, 1, timeout_ms) <= 0) break;
        const ssize_t n = recv(fd_, buffer, sizeof(buffer), 0);
        if (n <= 0) break;
        out.append(buffer, static_cast<std::size_t>(n));
    }
    return out;
}

std::string exchange(std::uint16_t port, const std::string& bytes) {
    RawClient client(port);
    client.send(bytes);
    return client.receive();
}

int status_of(const std::string& response) {
    return response.size() > 12 && response.starts_with("HTTP/1.")
               ? std::stoi(response.substr(9, 3))
               : 0;
}

std::string get_request(const std::string& target, const std::string& extra) {
    return "GET " + target + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" + extra +
           "\r\n";
}

}  // namespace steady::web
