#include "board.hpp"

#include <cerrno>
#include <fcntl.h>
#include <sys/mman.h>
#include <system_error>
#include <unistd.h>

namespace idem::verify {

Board Board::make(const std::filesystem::path &folder)
{
    return {folder, O_CREAT | O_TRUNC};
}

Board Board::join(const std::filesystem::path &folder)
{
    return {folder, 0};
}

Board::Board(const std::filesystem::path &folder, int flags)
{
    const std::filesystem::path path = folder / "board";
    const int file = open(path.c_str(), O_RDWR | O_CLOEXEC | flags, 0600);
    void *memory = MAP_FAILED;
    if (file >= 0 && ftruncate(file, sizeof(Content)) == 0) {
        memory = mmap(nullptr, sizeof(Content), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    }
    const int error = errno;
    if (file >= 0) {
        close(file);
    }
    if (memory == MAP_FAILED) {
        throw std::system_error(error, std::generic_category(), "could not map " + path.string());
    }
    // A file of zeroes is a board at its beginning.
    content_ = static_cast<Content *>(memory);
}

Board::~Board()
{
    munmap(content_, sizeof(Content));
}

} // namespace idem::verify
