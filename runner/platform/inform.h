// Lines for people beside a result: progress, and what a worker does. A log on a full disk or a
// terminal that is gone must not end a measurement, so nothing here fails.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <utility>

namespace steady {

inline void put_text(std::FILE* to, const std::string& text) {
    static_cast<void>(std::fwrite(text.data(), 1, text.size(), to));
    std::fflush(to);  // a log file is read while the work goes on
    std::clearerr(to);
}

template <typename... Values>
void inform(fmt::format_string<Values...> format, Values&&... values) {
    put_text(stderr, fmt::format(format, std::forward<Values>(values)...));
}

}  // namespace steady
