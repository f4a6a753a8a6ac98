//===- Mesh.h - The ranks of a program -*- C++ -*-===//
//
// Part of the hk project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A mesh numbers the ranks that run one program: named axes with a size each,
// written "tp=2,ep=4", of which the last one counts fastest. For the operators'
// verifiers, the interpreter, which evaluates all ranks, and the runtime, which
// is one of them.
//
//===----------------------------------------------------------------------===//

#ifndef HK_CONTRACT_MESH_H
#define HK_CONTRACT_MESH_H

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hk {

/// Most ranks of a mesh; more is a misspelt number.
inline constexpr int64_t kMaxRanks = 4096;

struct MeshAxis {
  std::string name;
  int64_t size = 1;
};

class Mesh {
public:
  const std::vector<MeshAxis> &axes() const { return list; }

  int64_t numRanks() const {
    int64_t count = 1;
    for (const MeshAxis &axis : list)
      count *= axis.size;
    return count;
  }

  /// The number of the axis of this name, or -1.
  int find(std::string_view name) const {
    for (std::size_t i = 0; i < list.size(); ++i)
      if (list[i].name == name)
        return int(i);
    return -1;
  }

  /// Place of `rank` along `axis`.
  int64_t placeOf(int64_t rank, int axis) const {
    return rank / strideOf(axis) % list[axis].size;
  }
  /// The rank at `place` along `axis` that differs from `rank` in nothing else.
  int64_t rankAt(int64_t rank, int axis, int64_t place) const {
    return rank + (place - placeOf(rank, axis)) * strideOf(axis);
  }

  /// What is wrong with `text`, or "" and the mesh it describes.
  static std::string parse(std::string_view text, Mesh &mesh) {
    mesh.list.clear();
    std::string_view rest = text;
    do {
      std::size_t comma = rest.find(',');
      std::string error = mesh.addAxis(rest.substr(0, comma));
      if (!error.empty())
        return error;
      rest = comma == rest.npos ? std::string_view() : rest.substr(comma + 1);
      if (comma != std::string_view::npos && rest.empty())
        return "an axis is missing behind the last comma";
    } while (!rest.empty());
    if (mesh.numRanks() > kMaxRanks)
      return "it has more than " + std::to_string(kMaxRanks) + " ranks";
    return "";
  }

private:
  int64_t strideOf(int axis) const {
    int64_t stride = 1;
    for (std::size_t i = std::size_t(axis) + 1; i < list.size(); ++i)
      stride *= list[i].size;
    return stride;
  }

  static bool isWord(std::string_view text) {
    for (char c : text)
      if (!(c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
            (c >= '0' && c <= '9')))
        return false;
    return !text.empty();
  }

  std::string addAxis(std::string_view part) {
    std::size_t equals = part.find('=');
    std::string_view name = part.substr(0, equals);
    std::string_view digits =
        equals == part.npos ? std::string_view() : part.substr(equals + 1);
    std::string shown(part);
    if (!isWord(name))
      return "'" + shown + "' does not begin with the name of an axis";
    int64_t size = 0;
    bool isNumber = !digits.empty() && digits.size() <= 9;
    for (char c : digits) {
      isNumber = isNumber && c >= '0' && c <= '9';
      size = isNumber ? size * 10 + (c - '0') : 0;
    }
    if (!isNumber || size < 1 || size > kMaxRanks)
      return "'" + shown + "' has no size from 1 to " +
             std::to_string(kMaxRanks) + " behind '='";
    if (find(name) >= 0)
      return "two axes are named '" + std::string(name) + "'";
    if (list.size() == kMaxAxes)
      return "it has more than " + std::to_string(kMaxAxes) + " axes";
    list.push_back({std::string(name), size});
    return "";
  }

  static constexpr std::size_t kMaxAxes = 8;
  std::vector<MeshAxis> list;
};

} // namespace hk

#endif // HK_CONTRACT_MESH_H
