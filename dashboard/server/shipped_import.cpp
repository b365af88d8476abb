// The page's own database role may not write records; the import uses the login of whoever started
// the server, and says so where that login may not either.
#include "dashboard/server/shipped_import.h"

#include <exception>

namespace steady::web {

ShippedImport::State ShippedImport::state() {
    const std::lock_guard lock(mutex_);
    return state_;
}

bool ShippedImport::begin(const ShippedRecords& records) {
    const std::lock_guard lock(mutex_);
    if (state_.word == "running") return false;
    state_ = {.word = "running", .read = 0, .refused = 0, .trouble = ""};
    thread_ = std::jthread([this, records](const std::stop_token& stop) { run(records, stop); });
    return true;
}

void ShippedImport::end() {
    std::jthread last;
    {
        const std::lock_guard lock(mutex_);
        last.swap(thread_);
    }
}

void ShippedImport::run(const ShippedRecords& records, const std::stop_token& stop) {
    std::string trouble;
    try {
        records.import([&](int read, int refused) {
            const std::lock_guard lock(mutex_);
            state_.read = read;
            state_.refused = refused;
            return !stop.stop_requested();
        });
    } catch (const std::exception& error) {
        trouble = error.what();
    }
    const std::lock_guard lock(mutex_);
    state_.word = trouble.empty() ? "done" : "failed";
    state_.trouble = trouble;
}

}  // namespace steady::web
