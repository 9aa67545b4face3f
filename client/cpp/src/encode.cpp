#include "encode.h"

#include "raise.h"

#include <cstdint>
#include <string_view>

namespace idem::client {
namespace {

// From the server's catalogue; they never change.
constexpr Oid kInt8 = 20;
constexpr Oid kText = 25;
constexpr Oid kInt8Array = 1016;
constexpr Oid kTextArray = 1009;
constexpr Oid kJsonb = 3802;
constexpr Oid kJsonbArray = 3807;

// The server's limit for one value, with some room for what surrounds it.
constexpr std::size_t kMostOctets = 0x3FF00000;

// Octets of a number, the highest first.
template <std::size_t N>
std::array<char, N> big_endian(std::uint64_t number)
{
    std::array<char, N> octets;
    for (std::size_t i = 0; i < N; ++i) {
        octets[i] = static_cast<char>(number >> (8 * (N - 1 - i)));
    }
    return octets;
}

void append_int4(std::string &target, std::uint32_t number)
{
    const auto octets = big_endian<4>(number);
    target.append(octets.data(), octets.size());
}

// The binary form of an array with one dimension, as array_recv() reads it.
class Array {
public:
    Array(std::string &target, Oid element, std::size_t count) : target_(target)
    {
        append_int4(target_, count > 0 ? 1 : 0);
        append_int4(target_, 1); // there may be NULLs
        append_int4(target_, element);
        if (count > 0) {
            append_int4(target_, static_cast<std::uint32_t>(count));
            append_int4(target_, 1); // the lower bound
        }
    }

    void add_null() { append_int4(target_, 0xFFFFFFFF); }

    void add(std::string_view prefix, std::string_view value)
    {
        append_int4(target_, static_cast<std::uint32_t>(prefix.size() + value.size()));
        target_ += prefix;
        target_ += value;
        if (target_.size() > kMostOctets) {
            raise({"54000", "the batch is too large", {}, "Split it."});
        }
    }

    void add(std::string_view value) { add({}, value); }

private:
    std::string &target_;
};

} // namespace

CallParameters::CallParameters(const Request &request)
    : amount_(big_endian<8>(static_cast<std::uint64_t>(request.amount_minor)))
{
    std::size_t place = 0;
    const auto add = [&](const char *value, std::size_t length) {
        values_[place] = value;
        lengths_[place++] = static_cast<int>(length);
    };
    if (request.details.size() > kMostOctets) {
        raise({"54000", "details is too long"});
    }
    add(request.tenant_id.data(), request.tenant_id.size());
    add(request.key.text().data(), request.key.text().size());
    add(amount_.data(), amount_.size());
    add(request.currency.data(), request.currency.size());
    add(request.details.c_str(), request.details.size());
    add(request.operation.data(), request.operation.size());
    add(request.order_ref ? request.order_ref->data() : nullptr, request.order_ref ? request.order_ref->size() : 0);
}

Statement CallParameters::statement(const std::string &text) const
{
    // details as text, which jsonb's own input function reads.
    static constexpr std::array<Oid, kCount> kTypes{kText, kText, kInt8, kText, kJsonb, kText, kText};
    static constexpr std::array<int, kCount> kFormats{1, 1, 1, 1, 0, 1, 1};
    return {text.c_str(), kCount, kTypes.data(), values_.data(), lengths_.data(), kFormats.data()};
}

BatchParameters::BatchParameters(const std::vector<const Request *> &requests, const char *mode)
{
    constexpr std::string_view kJsonbVersion("\1");
    constexpr std::array<Oid, kArrays> kElements{kText, kText, kInt8, kText, kJsonb, kText, kText};
    const auto fill = [&](std::size_t place, auto add) {
        Array array(arrays_[place], kElements[place], requests.size());
        for (const Request *request : requests) {
            add(array, *request);
        }
        values_[place] = arrays_[place].data();
        lengths_[place] = static_cast<int>(arrays_[place].size());
    };
    fill(0, [](Array &array, const Request &request) { array.add(request.tenant_id); });
    fill(1, [](Array &array, const Request &request) { array.add(request.key.text()); });
    fill(2, [](Array &array, const Request &request) {
        const auto amount = big_endian<8>(static_cast<std::uint64_t>(request.amount_minor));
        array.add({amount.data(), amount.size()});
    });
    fill(3, [](Array &array, const Request &request) { array.add(request.currency); });
    fill(4, [&](Array &array, const Request &request) { array.add(kJsonbVersion, request.details); });
    fill(5, [](Array &array, const Request &request) { array.add(request.operation); });
    fill(6, [](Array &array, const Request &request) {
        request.order_ref ? array.add(*request.order_ref) : array.add_null();
    });
    values_[kArrays] = mode;
    lengths_[kArrays] = static_cast<int>(std::string_view(mode).size());
}

Statement BatchParameters::statement(const std::string &text) const
{
    static constexpr std::array<Oid, kArrays + 1> kTypes{kTextArray,  kTextArray, kInt8Array, kTextArray,
                                                         kJsonbArray, kTextArray, kTextArray, kText};
    static constexpr std::array<int, kArrays + 1> kFormats{1, 1, 1, 1, 1, 1, 1, 1};
    return {text.c_str(), kArrays + 1, kTypes.data(), values_.data(), lengths_.data(), kFormats.data()};
}

} // namespace idem::client
