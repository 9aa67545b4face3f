// Uses a part of each header, catches an error that the library throws, and prints the library's version.

#include <idem/client.hpp>

#include <iostream>

int main()
{
    try {
        idem::client::Key key("ends with a blank ");
    } catch (const idem::client::Error &error) {
        if (error.sqlstate() != "22023") {
            return 1;
        }
        idem::client::Client client({.conninfo = "host=/nowhere"});
        std::cout << idem::client::version() << ' ' << idem::client::Key::make().text().size() << '\n';
        return idem::client::action_after("40001") == idem::client::Action::repeat ? 0 : 1;
    }
    return 1;
}
