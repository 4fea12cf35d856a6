mkdir p && cd p
cat >main.cpp <<'C'
#include <algorithm>
#include <chrono>
#include <iostream>
#include <random>
#include <thread>
#include <unordered_map>
#include <vector>
int main()
{
	std::random_device device;
	std::mt19937 engine(device());
	std::vector<int> v(10);
	for (auto &x : v) x = (int)(engine() % 100);
	std::thread sorter([&] { std::sort(v.begin(), v.end()); });
	sorter.join();
	std::unordered_map<std::string, int> m{{"a", 1}, {"b", 2}, {"c", 3}};
	for (auto &e : m) std::cout << e.first << e.second << ' ';
	for (int x : v) std::cout << x << ' ';
	std::cout << std::chrono::system_clock::now().time_since_epoch().count() << '\n';
}
C
printf 'cmake_minimum_required(VERSION 3.16)\nproject(p CXX)\nfind_package(Threads)\nadd_executable(p main.cpp)\ntarget_link_libraries(p Threads::Threads)\n' >CMakeLists.txt
cmake -S . -B /tmp/b -G 'Unix Makefiles' >/dev/null && cmake --build /tmp/b >/dev/null && /tmp/b/p && cp /tmp/b/p ../result
