#pragma once

#include <string>

namespace idem::client {

/// The statements of the calls, with explicit columns: a function that gives more in a later version changes nothing.
struct Calls {
    /// In the schema named, or, where that is empty, found by the search_path. Throws Error 22023 for a name with NUL.
    explicit Calls(const std::string &schema);

    std::string create;
    std::string try_create;
    std::string create_many;
    std::string has_create_many; ///< Asks whether the server's extension has that function.
    std::string version;
};

} // namespace idem::client
