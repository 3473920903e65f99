// SPDX-License-Identifier: MIT
//
// A small C++ program for the static link: containers, exceptions out of new,
// aligned new, thread-local objects with destructors.
//
#include <cstdint>
#include <iostream>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

struct alignas(64) wide {
    char bytes[100];
};

static thread_local std::vector<std::string> words;

static volatile std::size_t too_large = PTRDIFF_MAX;

int main() {
    std::map<int, std::string> map;
    for (int i = 0; i < 10000; i++)
        map[i] = std::string(static_cast<std::size_t>(i % 100), 'x');
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; t++)
        threads.emplace_back([] {
            for (int i = 0; i < 1000; i++)
                words.push_back(std::to_string(i));
        });
    for (std::thread &t : threads)
        t.join();
    int caught = 0;
    try {
        delete[] new char[too_large];
    } catch (const std::bad_alloc &) {
        caught++;
    }
    if (new (std::nothrow) char[too_large] == nullptr)
        caught++;
    const auto p = std::make_unique<wide>();
    const auto at = reinterpret_cast<std::uintptr_t>(p.get());
    const bool ours = at >= 0x100000000000 && at < 0x500000000000;
    std::cout << "ours " << ours << ", caught " << caught << ", aligned "
              << (at % 64 == 0) << ", " << map.size() << std::endl;
    return 0;
}
