// Runs a target once for each file of the folders that are named, without libFuzzer: the corpus as an ordinary test.

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int main(int count, char **folders)
{
    int files = 0;
    for (int i = 1; i < count; ++i) {
        for (const auto &entry : std::filesystem::directory_iterator(folders[i])) {
            std::ifstream file(entry.path(), std::ios::binary);
            const std::string octets{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
            (void)std::fprintf(stderr, "%s\n", entry.path().c_str()); // the last one is that of a crash
            (void)LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t *>(octets.data()), octets.size());
            ++files;
        }
    }
    (void)std::printf("%d inputs\n", files);
    return files > 0 ? 0 : 1;
}
