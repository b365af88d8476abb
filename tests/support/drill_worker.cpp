// A worker of a fault run as a program of its own, so that it can be started with another clock:
// steady-drill-worker FOLDER URL HOST LEASE_S.
#include <cstdlib>

#include "runner/fault/parts.h"

int main(int argc, char** argv) {
    if (argc != 5) return 2;
    steady::drill::Place place;
    place.folder = argv[1];
    place.url = argv[2];
    steady::FaultOptions options;
    options.lease_s = std::atof(argv[4]);
    steady::drill::live_as_worker(place, std::atoi(argv[3]), options);
}
