#include "sha256.h"

#include "errcodes.h"
#include "error.h"

#include <cerrno>
#include <memory>
#include <new>
#include <openssl/err.h>
#include <openssl/evp.h>

namespace idem::core {
namespace {

// Throw std::bad_alloc where OpenSSL failed, since errno was 0, for want of memory. Its own errors do not tell.
void check_memory()
{
    const bool no_memory = errno == ENOMEM;
    ERR_clear_error();
    if (no_memory) {
        throw std::bad_alloc();
    }
}

struct FreeMd {
    void operator()(EVP_MD *md) const { EVP_MD_free(md); }
};
struct FreeContext {
    void operator()(EVP_MD_CTX *context) const { EVP_MD_CTX_free(context); }
};

// Fetching walks OpenSSL's providers and costs more than hashing a request, so that one process does it once.
struct Digest {
    std::unique_ptr<EVP_MD, FreeMd> md{EVP_MD_fetch(nullptr, "SHA256", nullptr)};
    std::unique_ptr<EVP_MD_CTX, FreeContext> context{EVP_MD_CTX_new()};

    Digest()
    {
        if (!md || !context) {
            check_memory();
            throw Error(sqlstate::kSystemError, "could not get SHA-256 from OpenSSL",
                        "No active OpenSSL provider offers it.",
                        "Check the OpenSSL configuration of the server (openssl.cnf, OPENSSL_CONF).");
        }
    }
};

} // namespace

Sha256 sha256(std::string_view data)
{
    errno = 0;
    static const Digest digest;
    Sha256 hash;
    EVP_MD_CTX *context = digest.context.get();
    if (EVP_DigestInit_ex2(context, digest.md.get(), nullptr) != 1 ||
        EVP_DigestUpdate(context, data.data(), data.size()) != 1 ||
        EVP_DigestFinal_ex(context, hash.data(), nullptr) != 1) {
        check_memory();
        throw Error(sqlstate::kSystemError, "could not compute SHA-256");
    }
    return hash;
}

} // namespace idem::core
