// Where alerts go: a webhook and mail, as the settings name them.
#pragma once

#include <string>

#include "runner/cli/command_line.h"

namespace steady {

// A webhook or an address for mail is set.
bool has_alert_channel(const Arguments& arguments);

// Makes alerts of what was found, for the page and for `steady alerts list`.
void gather_alerts(const Arguments& arguments);

struct AlertsSent {
    int sent = 0, failed = 0;
    std::string failure;  // of the first that failed, with the next command
};

// Gathers what nobody was told yet and sends it on every channel; what fails is tried three times
// now, and again by later calls. Throws Error only for settings that are wrong.
AlertsSent send_alerts(const Arguments& arguments);

}  // namespace steady
