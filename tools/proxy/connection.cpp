#include "connection.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>
#include <utility>

namespace idem::proxy {

namespace {

constexpr std::size_t kMaxAnswer = 65536;

// Reads what has come. Gives nothing where nothing has, and no octets at the end.
std::optional<std::string_view> read_from(int fd, std::array<char, 65536> &buffer)
{
    const ssize_t count = ::read(fd, buffer.data(), buffer.size());
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) {
        return std::nullopt;
    }
    return std::string_view(buffer.data(), count < 0 ? 0 : static_cast<std::size_t>(count));
}

// The command tag of a CommandComplete, or the SQLSTATE of an ErrorResponse.
std::string result_in(const Message &message)
{
    std::string_view body = message.body;
    if (message.type == 'C') {
        return std::string(body.substr(0, body.find('\0')));
    }
    while (!body.empty() && body.front() != '\0') {
        const std::string_view field = body.substr(0, body.find('\0'));
        if (field.front() == 'C') {
            return std::string(field.substr(1));
        }
        body.remove_prefix(std::min(field.size() + 1, body.size()));
    }
    return {};
}

} // namespace

Connection::Connection(std::uint64_t number, Socket client, Socket server, const Network &network, Plan &plan,
                       Output &output)
    : number_(number), network_(network), plan_(plan), output_(output), client_(std::move(client)),
      server_(std::move(server))
{
    if (network_.held) {
        be_held(Clock::now());
    } else if (!server_.open()) {
        stop(Clock::now());
    }
}

void Connection::want(std::vector<pollfd> &polled) const
{
    pollfd client{-1, 0, 0};
    pollfd server{-1, 0, 0};
    // A socket that is polled for nothing would still report that it has hung up, again and again.
    if (!network_.paused) {
        client.events = static_cast<short>((!stopped_ && !client_ended_ && !there_.full() ? POLLIN : 0) |
                                           (back_.blocked() ? POLLOUT : 0));
        server.events = static_cast<short>((!stopped_ && !server_ended_ && !back_.full() ? POLLIN : 0) |
                                           (there_.blocked() ? POLLOUT : 0));
        client.fd = client.events != 0 ? client_.fd() : -1;
        server.fd = server.events != 0 ? server_.fd() : -1;
    }
    polled.push_back(client);
    polled.push_back(server);
}

void Connection::serve(const pollfd &client, const pollfd &server, Clock::time_point now)
{
    if ((client.events & POLLIN) != 0 && client.revents != 0) {
        read_client(now);
    }
    if ((server.events & POLLIN) != 0 && server.revents != 0 && !stopped_) {
        read_server(now);
    }
    if (!network_.paused) {
        there_.write(server_.fd(), now);
        back_.write(client_.fd(), now);
    }
}

void Connection::read_client(Clock::time_point now)
{
    std::array<char, 65536> buffer;
    if (const auto octets = read_from(client_.fd(), buffer)) {
        if (octets->empty()) {
            client_left(now);
        } else {
            take_from_client(*octets, now);
        }
    }
}

void Connection::read_server(Clock::time_point now)
{
    std::array<char, 65536> buffer;
    if (const auto octets = read_from(server_.fd(), buffer)) {
        if (octets->empty()) {
            server_left(now);
        } else {
            take_from_server(*octets, now);
        }
    }
}

void Connection::take_from_client(std::string_view octets, Clock::time_point now)
{
    if (network_.held && !silent_) {
        be_held(now);
    }
    if (silent_) {
        return;
    }
    dialogue_.client().feed(octets);
    while (!stopped_ && !silent_) {
        const auto part = dialogue_.client().next();
        if (!part) {
            return;
        }
        if (part->message) {
            late_ = {};
            client_skips_ = beyond_pending(*part->message);
            if (const auto passage = client_skips_ ? std::nullopt : dialogue_.sent(*part->message)) {
                if (const auto decision = plan_.decide(passage->point)) {
                    strike(*decision, *passage, now);
                }
            }
        }
        if (!client_skips_ && !stopped_ && !silent_) {
            there_.push(part->octets, now + network_.one_way + late_);
        }
    }
}

// Whether a message comes after those whose answer is waited for. It is as lost as the answer is; but what a COPY
// consists of belongs to the statement before.
bool Connection::beyond_pending(const Message &message) const
{
    return pending_ && dialogue_.groups_sent() > pending_->passage.answer.groups && message.type != 'd' &&
           message.type != 'c' && message.type != 'f';
}

// Lets a fault happen to the client's message that is on its way, or begin with it.
void Connection::strike(const Decision &decision, const Passage &passage, Clock::time_point now)
{
    switch (decision.fault) {
    case Fault::cut_before_commit:
    case Fault::cut_statement:
    case Fault::cut_connect:
        report(decision, passage.point);
        stop(now + network_.one_way);
        break;
    case Fault::half_open:
        report(decision, passage.point);
        fall_silent(now);
        break;
    case Fault::delay: {
        report(decision, passage.point);
        const auto longest = std::chrono::duration_cast<std::chrono::microseconds>(network_.longest_delay).count();
        late_ = decision.amount
                    ? std::chrono::microseconds(*decision.amount * 1000)
                    : std::chrono::microseconds(decision.chance % (static_cast<std::uint64_t>(longest) + 1));
        break;
    }
    case Fault::cut_after_commit:
    case Fault::reset_after_commit:
    case Fault::swallow_answer:
    case Fault::cut_in_answer:
        if (!pending_) {
            pending_ = Pending{decision, passage, {}, {}};
        }
        break;
    }
}

void Connection::take_from_server(std::string_view octets, Clock::time_point now)
{
    if (network_.held && !silent_) {
        be_held(now);
    }
    if (silent_) {
        return;
    }
    dialogue_.server().feed(octets);
    while (!stopped_ && !silent_) {
        const auto part = dialogue_.server().next();
        if (!part) {
            return;
        }
        if (part->message) {
            answer_begins(*part->message);
            dialogue_.answered(*part->message);
        }
        if (!server_skips_) {
            back_.push(part->octets, now + network_.one_way);
        } else if (pending_->answer.size() < kMaxAnswer) {
            pending_->answer += part->octets;
        }
        if (pending_ && dialogue_.position().groups > pending_->passage.answer.groups) {
            finish_pending(now);
        }
    }
}

// Decides whether a message of the server belongs to the answer that is not to arrive.
void Connection::answer_begins(const Message &message)
{
    // Without CopyInResponse the client would not send what the server then waits for.
    server_skips_ = pending_ && dialogue_.position().reaches(pending_->passage.answer) && message.type != 'G';
    if (server_skips_ && (message.type == 'C' || message.type == 'E')) {
        pending_->result = result_in(message);
    }
}

// Does what a fault does once the server has answered, or has gone.
void Connection::finish_pending(Clock::time_point now)
{
    const Pending pending = std::move(*pending_);
    pending_.reset();
    server_skips_ = false;
    report(pending.decision, pending.passage.point, pending.result);
    const auto due = now + network_.one_way;
    switch (pending.decision.fault) {
    case Fault::swallow_answer:
        fall_silent(now);
        return;
    case Fault::cut_in_answer: {
        const std::size_t size = pending.answer.size();
        const std::size_t chosen = size == 0 ? 0 : pending.decision.chance % size;
        back_.push(std::string_view(pending.answer).substr(0, pending.decision.amount.value_or(chosen)), due);
        break;
    }
    case Fault::reset_after_commit:
        client_.reset_at_close();
        break;
    default:
        break;
    }
    stop(due);
}

void Connection::client_left(Clock::time_point now)
{
    client_ended_ = true;
    if (network_.held && !silent_) {
        be_held(now);
    }
    if (silent_) {
        client_.close();
        left_ = now;
        return;
    }
    there_.push(dialogue_.client().held(), now + network_.one_way);
    there_.end(now + network_.one_way);
}

void Connection::server_left(Clock::time_point now)
{
    server_ended_ = true;
    if (network_.held && !silent_) {
        be_held(now);
    }
    if (silent_) {
        server_.close();
        return;
    }
    if (pending_) {
        finish_pending(now);
        return;
    }
    back_.push(dialogue_.server().held(), now + network_.one_way);
    back_.end(now + network_.one_way);
}

// What is read from now on arrives nowhere, and neither side hears of it.
void Connection::fall_silent(Clock::time_point now)
{
    silent_ = true;
    pending_.reset();
    if (client_ended_) {
        client_.close();
        left_ = now;
    }
    if (server_ended_) {
        server_.close();
    }
}

// Loses what has just come, and what is on its way with it.
void Connection::be_held(Clock::time_point now)
{
    output_.fault(number_, "hold", "control", 0, {});
    there_.clear();
    back_.clear();
    fall_silent(now);
}

// Reads no more, and ends both directions behind what is on its way.
void Connection::stop(Clock::time_point due)
{
    stopped_ = true;
    there_.end(due);
    back_.end(due);
}

void Connection::report(const Decision &decision, Point point, std::string_view answer)
{
    output_.fault(number_, name_of(decision.fault), name_of(point), decision.number, answer);
}

void Connection::report_cut()
{
    output_.fault(number_, "cut", "control", 0, {});
}

bool Connection::closed(Clock::time_point now) const
{
    if (!silent_) {
        // A side that has gone takes the other one along: no client of a database closes just half of its connection.
        return there_.closed() || back_.closed();
    }
    return !client_.open() && (!server_.open() || (!network_.held && now - network_.linger >= left_));
}

Clock::time_point Connection::next() const
{
    if (network_.paused) {
        return Clock::time_point::max();
    }
    const auto moved = std::min(there_.next(), back_.next());
    return silent_ && !client_.open() && !network_.held ? std::min(moved, left_ + network_.linger) : moved;
}

} // namespace idem::proxy
