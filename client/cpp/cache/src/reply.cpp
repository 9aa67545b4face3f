#include "reply.h"

#include "failure.h"

#include <hiredis/hiredis.h>

#include <algorithm>
#include <new>
#include <vector>

namespace idem::cache {

namespace {

// Fills the reply that the reader belongs to. hiredis is C: no exception may pass through it, and a null pointer is
// how it learns that memory ran out.
void *fill(const redisReadTask *task, Reply::Kind kind, std::string_view text) noexcept
{
    auto *reply = static_cast<Reply *>(task->privdata);
    try {
        reply->kind = kind;
        reply->text = text;
    } catch (const std::bad_alloc &) {
        return nullptr;
    }
    return reply;
}

// What makes our replies out of the parser's finds. The types of some arguments differ between the releases of hiredis.
redisReplyObjectFunctions make_functions()
{
    redisReplyObjectFunctions functions{};
    functions.createString = [](const redisReadTask *task, char *text, std::size_t length) -> void * {
        const auto kind = task->type == REDIS_REPLY_STRING   ? Reply::Kind::text
                          : task->type == REDIS_REPLY_STATUS ? Reply::Kind::status
                          : task->type == REDIS_REPLY_ERROR  ? Reply::Kind::error
                                                             : Reply::Kind::other;
        return fill(task, kind, std::string_view(text, length));
    };
    functions.createArray = [](const redisReadTask *, auto) -> void * { return nullptr; };
    functions.createInteger = [](const redisReadTask *task, long long) -> void * {
        return fill(task, Reply::Kind::other, {});
    };
    functions.createNil = [](const redisReadTask *task) -> void * { return fill(task, Reply::Kind::nothing, {}); };
    functions.freeObject = [](void *) {};
    return functions;
}

// hiredis only reads it, but does not say so.
redisReplyObjectFunctions functions = make_functions();

} // namespace

std::string Reply::error_code() const
{
    constexpr std::size_t kLongest = 32;
    const auto end =
        std::find_if_not(text.begin(), text.end(), [](char c) { return (c >= 'A' && c <= 'Z') || c == '_'; });
    std::string code(text.begin(), end);
    return code.empty() || code.size() > kLongest ? "an error" : code;
}

std::string write_command(std::initializer_list<std::string_view> parts)
{
    std::vector<const char *> texts;
    std::vector<std::size_t> lengths;
    for (const auto part : parts) {
        texts.push_back(part.data() == nullptr ? "" : part.data());
        lengths.push_back(part.size());
    }
    char *command = nullptr;
    const auto length = redisFormatCommandArgv(&command, static_cast<int>(parts.size()), texts.data(), lengths.data());
    if (length < 0) {
        throw std::bad_alloc();
    }
    const std::unique_ptr<char, void (*)(char *)> owner(command, &redisFreeCommand);
    return {command, static_cast<std::size_t>(length)};
}

ReplyReader::ReplyReader(std::size_t limit)
    : left_(limit), reader_(redisReaderCreateWithFunctions(&functions), &redisReaderFree)
{
    if (!reader_) {
        throw std::bad_alloc();
    }
    reader_->privdata = &reply_;
}

bool ReplyReader::feed(std::string_view octets)
{
    if (octets.size() > left_) {
        throw Failure("the answer is too long");
    }
    left_ -= octets.size();
    void *reply = nullptr;
    if (redisReaderFeed(reader_.get(), octets.data(), octets.size()) != REDIS_OK ||
        redisReaderGetReply(reader_.get(), &reply) != REDIS_OK) {
        throw Failure("the answer is not one of Redis");
    }
    if (reply == nullptr) {
        return false;
    }
    // Types that later protocols have come as other pointers. Octets behind the reply belong to no command of ours.
    if (reply != &reply_ || reader_->pos != reader_->len) {
        throw Failure("the answer is not the one to the command");
    }
    return true;
}

} // namespace idem::cache
