// Makes messages of PostgreSQL's protocol.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace idem::proxy::test {

inline std::string four_octets(std::size_t value)
{
    std::string octets;
    for (unsigned shift = 32; shift > 0;) {
        shift -= 8;
        octets += static_cast<char>(value >> shift & 0xffU);
    }
    return octets;
}

inline std::string message(char type, std::string_view body)
{
    return type + four_octets(body.size() + 4) + std::string(body);
}

// What opens a connection: a code, and what follows it.
inline std::string opening(std::uint32_t code, std::string_view body = {})
{
    return four_octets(body.size() + 8) + four_octets(code) + std::string(body);
}

// A text with the NUL that ends it.
inline std::string text(std::string_view value)
{
    return std::string(value) + '\0';
}

inline std::string startup()
{
    return opening(3U << 16U, text("user") + text("u") + '\0');
}

inline std::string query(std::string_view statement)
{
    return message('Q', text(statement));
}

inline std::string parse(std::string_view name, std::string_view statement)
{
    return message('P', text(name) + text(statement) + std::string(2, '\0'));
}

inline std::string bind(std::string_view portal, std::string_view name)
{
    return message('B', text(portal) + text(name) + std::string(6, '\0'));
}

inline std::string execute(std::string_view portal)
{
    return message('E', text(portal) + std::string(4, '\0'));
}

inline std::string sync()
{
    return message('S', {});
}

inline std::string complete(std::string_view tag)
{
    return message('C', text(tag));
}

inline std::string ready(char status)
{
    return message('Z', std::string(1, status));
}

constexpr std::uint32_t kTlsRequest = 80877103;
constexpr std::uint32_t kGssRequest = 80877104;
constexpr std::uint32_t kCancelRequest = 80877102;

} // namespace idem::proxy::test
