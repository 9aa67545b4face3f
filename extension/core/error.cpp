#include "error.h"

#include <utility>

namespace idem::core {

Error::Error(const char *sqlstate, std::string message, std::string detail, std::string hint)
    : sqlstate_(sqlstate), message_(std::move(message)), detail_(std::move(detail)), hint_(std::move(hint))
{
}

} // namespace idem::core
