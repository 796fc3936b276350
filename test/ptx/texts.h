// Files of PTX that tests read: the cases of the repository, and a corpus that may stand beside the checkout.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace tessera::ptx {

struct TextFile {
  std::filesystem::path path;
  std::string text;
};

inline std::string read_text(const std::filesystem::path& path) {
  std::ifstream in{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{in}, {}};
}

// The .ptx files below a folder, sorted; none where there is no such folder.
inline std::vector<TextFile> texts_below(const std::filesystem::path& folder) {
  std::vector<TextFile> found;
  std::error_code absent;
  for (const auto& entry : std::filesystem::recursive_directory_iterator{folder, absent}) {
    if (entry.path().extension() == ".ptx") found.push_back({entry.path(), read_text(entry.path())});
  }
  std::sort(found.begin(), found.end(), [](const TextFile& a, const TextFile& b) { return a.path < b.path; });
  return found;
}

inline std::vector<TextFile> case_texts() { return texts_below(TESSERA_CASES); }

inline std::filesystem::path corpus_folder() {
  const char* chosen = std::getenv("TESSERA_CORPUS");
  return chosen != nullptr ? chosen : TESSERA_CORPUS_DEFAULT;
}

}  // namespace tessera::ptx
