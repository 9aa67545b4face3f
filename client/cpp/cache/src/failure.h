#pragma once

#include <stdexcept>

namespace idem::cache {

/// Redis cannot be used now; the text says why and holds no key, value or password.
class Failure : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

} // namespace idem::cache
