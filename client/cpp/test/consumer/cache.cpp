// Gives a client a cache, asks the cache for what it cannot have, catches an error that it throws, and prints the
// library's version.

#include <idem/cache.hpp>

#include <iostream>
#include <memory>
#include <string_view>

int main()
{
    using idem::cache::Redis;
    const auto cache = std::make_shared<Redis>(
        idem::cache::RedisOptions{.unix_socket = "/nowhere", .warn = [](std::string_view /*text*/) {}});
    const idem::client::Request request{
        .tenant_id = "shop-7", .key = idem::client::Key::make(), .amount_minor = 4480, .currency = "EUR"};
    idem::client::Client client({.conninfo = "host=/nowhere", .cache = cache});
    if (cache->find(request)) {
        return 1;
    }
    try {
        Redis impossible({.connections = 0});
    } catch (const idem::client::Error &error) {
        std::cout << idem::client::version() << ' ' << request.key.text().size() << '\n';
        return error.sqlstate() == "22023" ? 0 : 1;
    }
    return 1;
}
