// The import of the records that come with Steady, asked for on the page: it runs beside the
// requests, once at a time, and the page asks how far it is.
#pragma once

#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace steady::web {

struct ShippedRecords {
    int records = 0;  // files that there are
    // Reads them; told(read, refused) after each file, false: stop. Throws Error.
    std::function<void(const std::function<bool(int, int)>& told)> import;
};

class ShippedImport {
public:
    struct State {
        std::string word = "idle";  // idle, running, done, failed
        int read = 0, refused = 0;
        std::string trouble;  // why it failed
    };

    State state();
    // False: one runs already.
    bool begin(const ShippedRecords& records);
    void end();  // stops after the file in hand, and waits

private:
    void run(const ShippedRecords& records, const std::stop_token& stop);

    std::mutex mutex_;
    State state_;
    std::jthread thread_;
};

}  // namespace steady::web
