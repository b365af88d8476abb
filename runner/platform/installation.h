// Where the parts of Steady lie. A build and a bundle hold them in one folder; an installation
// spreads them below its prefix: bin/, libexec/steady/, share/steady/. Nothing but the place of the
// running program decides which it is.
#pragma once

#include <string>

namespace steady {

// A program that only Steady itself starts: beside this one, else in <prefix>/libexec/steady.
std::string part_path(const std::string& name);

// <prefix>/share/steady of an installation; empty in a checkout or a bundle.
std::string shipped_dir();

// For an installed Steady outside of any project: experiments/, journal/ and models/ of this user.
// /var/lib/steady as root, else $XDG_DATA_HOME/steady or ~/.local/share/steady. Not created here.
std::string data_dir();

}  // namespace steady
