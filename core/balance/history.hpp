// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <array>
#include <cstddef>

namespace mlq::balance {

/// The newest N values; [0] is the newest. No heap.
template <typename T, std::size_t N>
class Recent {
 public:
  void push(const T& value) {
    head_ = (head_ + N - 1) % N;
    values_[head_] = value;
    if (size_ < N) ++size_;
  }
  const T& operator[](std::size_t age) const { return values_[(head_ + age) % N]; }
  std::size_t size() const { return size_; }
  bool full() const { return size_ == N; }
  void clear() { size_ = 0; }

 private:
  std::array<T, N> values_{};
  std::size_t head_ = 0, size_ = 0;
};

/// Exponentially forgotten mean and deviation, for normalising inputs.
class RunningScale {
 public:
  void add(double value) {
    count_ = count_ < 200 ? count_ + 1 : count_;
    const double rate = 1.0 / count_;
    const double delta = value - mean_;
    mean_ += rate * delta;
    variance_ += rate * (delta * (value - mean_) - variance_);
  }
  double mean() const { return mean_; }
  double variance() const { return variance_; }

 private:
  double mean_ = 0, variance_ = 0;
  int count_ = 0;
};

}  // namespace mlq::balance
