#pragma once

#include "wire.h"

#include <idem/request.hpp>

#include <array>
#include <cstddef>
#include <string>
#include <vector>

namespace idem::client {

/// The parameters of a call for one request, in the form that is exact. Points into the request, which must stay.
/// The same request gives the same octets.
class CallParameters {
public:
    explicit CallParameters(const Request &request);
    CallParameters(const CallParameters &) = delete;
    CallParameters &operator=(const CallParameters &) = delete;

    /// The statement with these parameters, which holds as long as they and its text do.
    [[nodiscard]] Statement statement(const std::string &text) const;

private:
    static constexpr std::size_t kCount = 7;
    std::array<char, 8> amount_;
    std::array<const char *, kCount> values_;
    std::array<int, kCount> lengths_;
};

/// The parameters of a call for many requests: an array for each argument, and the mode.
class BatchParameters {
public:
    /// Throws Error 54000 where an argument would be larger than the server takes.
    BatchParameters(const std::vector<const Request *> &requests, const char *mode);
    BatchParameters(const BatchParameters &) = delete;
    BatchParameters &operator=(const BatchParameters &) = delete;

    /// The statement with these parameters, which holds as long as they and its text do.
    [[nodiscard]] Statement statement(const std::string &text) const;

private:
    static constexpr std::size_t kArrays = 7;
    std::array<std::string, kArrays> arrays_;
    std::array<const char *, kArrays + 1> values_;
    std::array<int, kArrays + 1> lengths_;
};

} // namespace idem::client
