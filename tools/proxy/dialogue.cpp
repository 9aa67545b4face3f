#include "dialogue.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace idem::proxy {

namespace {

// What the code of an opening stands for: major version 1234 is none, but a request.
constexpr std::uint32_t kCancel = 1234U << 16U | 5678U;
constexpr std::uint32_t kTls = 1234U << 16U | 5679U;
constexpr std::uint32_t kGss = 1234U << 16U | 5680U;

std::uint32_t read_code(std::string_view octets)
{
    std::uint32_t value = 0;
    for (const char octet : octets.substr(0, 4)) {
        value = value << 8U | static_cast<unsigned char>(octet);
    }
    return value;
}

// Takes a text that ends with a NUL, or with what there is of it.
std::string_view take_text(std::string_view &octets)
{
    const std::string_view text = octets.substr(0, octets.find('\0'));
    octets.remove_prefix(std::min(text.size() + 1, octets.size()));
    return text;
}

bool has(const std::vector<Deed> &deeds, Deed deed)
{
    return std::find(deeds.begin(), deeds.end(), deed) != deeds.end();
}

} // namespace

std::optional<Passage> Dialogue::sent(const Message &message)
{
    std::optional<Point> point;
    Position answer{groups_sent_, executed_};
    std::string_view body = message.body;
    switch (message.type) {
    case '\0':
        point = open(message);
        break;
    case 'Q':
        point = query(take_text(body));
        break;
    case 'P': {
        const std::string name(take_text(body));
        statements_[name] = deeds_of(take_text(body));
        break;
    }
    case 'B': {
        const std::string portal(take_text(body));
        const auto statement = statements_.find(take_text(body));
        portals_[portal] = statement == statements_.end() ? std::vector<Deed>{} : statement->second;
        break;
    }
    case 'C':
        if (!body.empty()) {
            auto &closed = body.front() == 'S' ? statements_ : portals_;
            body.remove_prefix(1);
            if (const auto found = closed.find(take_text(body)); found != closed.end()) {
                closed.erase(found);
            }
        }
        break;
    case 'E':
        point = execute(take_text(body));
        break;
    case 'F':
        point = in_block_ ? Point::statement : Point::autocommit;
        ++groups_sent_;
        break;
    case 'S':
        // What is committed here are the results of the whole group.
        answer.results = 0;
        point = sync();
        break;
    default:
        break;
    }
    return point ? std::optional(Passage{*point, answer}) : std::nullopt;
}

std::optional<Point> Dialogue::open(const Message &message)
{
    switch (read_code(message.body)) {
    case kTls:
    case kGss:
        asked_for_encryption_ = true;
        server_.expect(Framer::Phase::encryption_answer);
        return std::nullopt;
    case kCancel:
        client_.expect(Framer::Phase::opaque);
        server_.expect(Framer::Phase::opaque);
        return Point::cancel;
    default:
        opened_ = true;
        client_.expect(Framer::Phase::messages);
        return Point::connect;
    }
}

std::optional<Point> Dialogue::query(std::string_view text)
{
    const std::vector<Deed> deeds = deeds_of(text);
    bool commits = false;
    for (const Deed deed : deeds) {
        switch (deed) {
        case Deed::begin:
            in_block_ = true;
            break;
        case Deed::commit:
        case Deed::rollback:
            in_block_ = false;
            break;
        case Deed::work:
            commits = commits || !in_block_;
            break;
        case Deed::session:
            break;
        }
    }
    ++groups_sent_;
    executed_ = 0;
    implicit_ = false;
    if (has(deeds, Deed::commit)) {
        return Point::commit;
    }
    if (has(deeds, Deed::rollback)) {
        return Point::rollback;
    }
    // BEGIN makes a block of what was done before it in the same text.
    if (commits && !in_block_) {
        return Point::autocommit;
    }
    if (has(deeds, Deed::work) || has(deeds, Deed::session)) {
        return Point::statement;
    }
    return deeds.empty() ? std::nullopt : std::optional(Point::begin);
}

std::optional<Point> Dialogue::execute(std::string_view portal)
{
    ++executed_;
    const auto found = portals_.find(portal);
    if (found == portals_.end() || found->second.empty()) {
        return std::nullopt;
    }
    switch (found->second.front()) {
    case Deed::begin:
        in_block_ = true;
        return Point::begin;
    case Deed::commit:
        in_block_ = implicit_ = false;
        return Point::commit;
    case Deed::rollback:
        in_block_ = implicit_ = false;
        return Point::rollback;
    case Deed::work:
        implicit_ = implicit_ || !in_block_;
        return Point::statement;
    case Deed::session:
        return Point::statement;
    }
    return std::nullopt;
}

std::optional<Point> Dialogue::sync()
{
    ++groups_sent_;
    executed_ = 0;
    const bool commits = std::exchange(implicit_, false) && !in_block_;
    return commits ? std::optional(Point::autocommit) : std::nullopt;
}

void Dialogue::answered(const Message &message)
{
    if (asked_for_encryption_) {
        take_encryption_answer(message.type);
        return;
    }
    switch (message.type) {
    case 'C': // CommandComplete
    case 'I': // EmptyQueryResponse
    case 's': // PortalSuspended
        ++position_.results;
        break;
    case 'E':
        // The server does nothing more of this group.
        position_.results = std::numeric_limits<std::uint64_t>::max();
        break;
    case 'Z':
        if (ready_) {
            position_ = {position_.groups + 1, 0};
        }
        ready_ = true;
        if (position_.groups == groups_sent_ && executed_ == 0 && !message.body.empty()) {
            in_block_ = message.body.front() != 'I';
        }
        break;
    default:
        break;
    }
}

void Dialogue::take_encryption_answer(char answer)
{
    asked_for_encryption_ = false;
    if (answer == 'S' || answer == 'G') {
        client_.expect(Framer::Phase::opaque);
        server_.expect(Framer::Phase::opaque);
    } else {
        server_.expect(Framer::Phase::messages);
    }
}

} // namespace idem::proxy
