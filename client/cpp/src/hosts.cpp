#include "hosts.h"

#include "handles.h"
#include "raise.h"
#include "server_error.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <random>
#include <string_view>

namespace idem::client {
namespace {

using Settings = std::map<std::string, std::string>;

constexpr char kTarget[] = "target_session_attrs";

// What libpq makes of a connection string. There is no call of libpq for that alone, so a connection is begun with a
// value for one keyword that it refuses before it does anything else; that keyword's value is not told. A target that
// stands before the string gives way to it, but not to the service file and the environment.
Settings settings_but(const char *refused, const std::string &conninfo, const char *target)
{
    const std::array<const char *, 5> keywords{kTarget, "dbname", "client_encoding", refused, nullptr};
    const std::array<const char *, 5> values{target, conninfo.c_str(), "UTF8", "none-such", nullptr};
    const ConnectionPtr connection(PQconnectStartParams(keywords.data(), values.data(), 1));
    const std::unique_ptr<PQconninfoOption, void (*)(PQconninfoOption *)> options(PQconninfo(connection.get()),
                                                                                  &PQconninfoFree);
    if (!options) {
        raise({"08001", "libpq is out of memory"});
    }
    Settings settings;
    for (const PQconninfoOption *option = options.get(); option->keyword != nullptr; ++option) {
        if (option->val != nullptr && std::string_view(option->keyword) != refused) {
            settings[option->keyword] = option->val;
        }
    }
    // The port has a value in every string that could be read.
    if (!settings.contains("port")) {
        raise({"08001", "the connection string is not valid", one_line(connection_error(connection.get()).c_str())});
    }
    return settings;
}

// The target that the string, the service file or the environment asks for, else read-write. Only in the service file,
// `any` cannot be told from nothing, since it is what libpq takes by itself.
std::string target_of(const std::string &conninfo)
{
    constexpr char kSpoiled[] = "channel_binding";
    std::string given = settings_but(kSpoiled, conninfo, nullptr)[kTarget];
    if (given != "any" || settings_but(kSpoiled, conninfo, "read-write")[kTarget] == "any") {
        return given;
    }
    const char *environment = std::getenv("PGTARGETSESSIONATTRS");
    return environment != nullptr && std::string_view(environment) == "any" ? "any" : "read-write";
}

std::vector<std::string> split(const std::string &list)
{
    std::vector<std::string> parts(1);
    for (const char c : list) {
        if (c == ',') {
            parts.emplace_back();
        } else {
            parts.back() += c;
        }
    }
    return parts;
}

// Takes a list out of the settings; an empty one where there is none.
std::vector<std::string> take_list(Settings &settings, const char *keyword)
{
    const auto node = settings.extract(keyword);
    return node.empty() || node.mapped().empty() ? std::vector<std::string>{} : split(node.mapped());
}

} // namespace

std::vector<ConnectionParameters> resolve_hosts(const std::string &conninfo)
{
    if (conninfo.find('\0') != std::string::npos) {
        raise({"08001", "the connection string is not valid", "It contains NUL."});
    }
    Settings settings = settings_but(kTarget, conninfo, nullptr);
    settings[kTarget] = target_of(conninfo);
    settings.erase("service"); // read already
    settings.erase("servicefile");
    const std::vector<std::string> hosts = take_list(settings, "host");
    const std::vector<std::string> addresses = take_list(settings, "hostaddr");
    const std::vector<std::string> ports = take_list(settings, "port");
    const std::size_t count = std::max({hosts.size(), addresses.size(), std::size_t{1}});
    if ((!hosts.empty() && hosts.size() != count) || (!addresses.empty() && addresses.size() != count) ||
        (ports.size() > 1 && ports.size() != count)) {
        raise({"08001", "the connection string is not valid", "The numbers of hosts, addresses and ports differ."});
    }
    for (const std::string &port : ports) {
        if (port.find_first_not_of("0123456789") != std::string::npos) { // a part of a password, after a slash in a URI
            raise({"08001", "the connection string is not valid", "A port is not a number."});
        }
    }
    std::vector<ConnectionParameters> all;
    for (std::size_t i = 0; i < count; ++i) {
        ConnectionParameters one(settings.begin(), settings.end());
        const auto add = [&](const char *keyword, const std::vector<std::string> &list) {
            if (!list.empty()) {
                one.emplace_back(keyword, list.size() == 1 ? list.front() : list[i]);
            }
        };
        add("host", hosts);
        add("hostaddr", addresses);
        add("port", ports);
        all.push_back(std::move(one));
    }
    if (settings.contains("load_balance_hosts") && settings["load_balance_hosts"] == "random") {
        std::shuffle(all.begin(), all.end(), std::mt19937(std::random_device{}()));
    }
    return all;
}

} // namespace idem::client
