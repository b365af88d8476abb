// A record's figures, whole and one by one: the journal shows all of them in one file, the page
// each where it belongs. Complete SVG files.
#pragma once

#include <string>

#include "runner/record/record.h"

namespace steady {

std::string entry_figure(const Record& record);  // all that have data, one below the other
std::string intervals_figure(const Record& record);
std::string pairs_figure(const Record& record);         // with the evidence below
std::string distribution_figure(const Record& record);  // of the values that pairs are made of
std::string profile_figure(const Record& record);

}  // namespace steady
