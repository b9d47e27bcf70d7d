#include "network/parallel/watchers.hpp"
#include "network/parallel/world.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <mpi.h>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace cogen::parallel {

namespace {

using clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

/// A rank that has not been heard of for so long has ended or stalled.
constexpr auto patience = 1500ms;
constexpr auto heartbeat = 250ms;

/// How long a wait polls, and then for how long it sleeps between two polls.
constexpr auto polling = 200us;
constexpr auto nap = 20us;
constexpr auto long_nap = 500us;  ///< where nothing has come for many naps

constexpr std::size_t max_message = std::size_t{1} << 30;  ///< MPI counts bytes in an int

enum tag : int { data, failure };

void require(int result, const char* action) {
  if (result == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(result, text.data(), &length);
  throw rank_error(
      fmt::format("MPI cannot {}: {}", action, std::string_view(text.data(), static_cast<std::size_t>(length))));
}

/// Requests that have been started. The last of their bytes are used until it is destroyed.
class started {
 public:
  started(const started&) = delete;
  started& operator=(const started&) = delete;
  started() = default;

  /// What has not ended is cancelled.
  ~started() {
    for (auto& request : requests_) {
      if (request == MPI_REQUEST_NULL) continue;
      MPI_Cancel(&request);
      MPI_Request_free(&request);
    }
  }

  MPI_Request& add() { return requests_.emplace_back(MPI_REQUEST_NULL); }

  bool have_ended() {
    int ended = 0;
    require(MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &ended, statuses()), "exchange messages");
    return ended != 0;
  }

  std::int64_t length(std::size_t index) const {
    int length = 0;
    MPI_Get_count(&statuses_[index], MPI_BYTE, &length);
    return length;
  }

  bool has_ended(std::size_t index) const { return requests_[index] == MPI_REQUEST_NULL; }

 private:
  MPI_Status* statuses() {
    statuses_.resize(requests_.size());
    return statuses_.data();
  }

  std::vector<MPI_Request> requests_;
  std::vector<MPI_Status> statuses_;
};

/// Initializes MPI unless the program has, and finalizes it if it was the one.
class mpi_session {
 public:
  mpi_session() {
    int initialized = 0, level = 0;
    MPI_Initialized(&initialized);
    if (initialized != 0)
      MPI_Query_thread(&level);
    else
      MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &level);
    is_own_ = initialized == 0;
    if (level < MPI_THREAD_MULTIPLE)
      throw std::invalid_argument("load_options.parallel needs MPI_THREAD_MULTIPLE, which MPI does not provide");
  }
  mpi_session(const mpi_session&) = delete;
  mpi_session& operator=(const mpi_session&) = delete;
  ~mpi_session() {
    if (is_own_) MPI_Finalize();
  }

  /// After a rank has failed, ending MPI in order would wait for it for ever.
  void abandon() { is_own_ = false; }

 private:
  bool is_own_ = false;
};

/// Sends a heartbeat to all other ranks and notes theirs, on a thread of its own: a rank that computes is alive. Then
/// calls `look`.
class heartbeats {
 public:
  heartbeats(MPI_Comm world, std::function<void(const heartbeats&)> look)
      : look_(std::move(look)), heard_(static_cast<std::size_t>(size_of(world))) {
    MPI_Comm_dup(world, &between_);
    MPI_Comm_rank(between_, &rank_);
    for (auto& each : heard_) each.store(clock::now());
    thread_ = std::thread([this] { run(); });
  }
  heartbeats(const heartbeats&) = delete;
  heartbeats& operator=(const heartbeats&) = delete;
  ~heartbeats() {
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    wake_.notify_one();
    thread_.join();
  }

  /// Throws rank_error if the rank has not been heard of for too long.
  void check(int rank, clock::time_point now) const {
    const auto silence = now - heard_[static_cast<std::size_t>(rank)].load();
    if (rank == rank_ || silence < patience) return;
    throw rank_error(fmt::format("rank {} has ended or stalled: nothing has been heard of it for {} ms", rank,
                                 std::chrono::duration_cast<std::chrono::milliseconds>(silence).count()));
  }

 private:
  static int size_of(MPI_Comm world) {
    int size = 0;
    MPI_Comm_size(world, &size);
    return size;
  }

  void run() {
    std::unique_lock lock(mutex_);
    while (!wake_.wait_for(lock, heartbeat, [this] { return stopped_; })) {
      for (int rank = 0; rank < static_cast<int>(heard_.size()); ++rank)
        if (rank != rank_) MPI_Send(nullptr, 0, MPI_BYTE, rank, 0, between_);  // empty: never waits for the receiver
      note_those_of_others();
      look_(*this);
    }
  }

  void note_those_of_others() {
    MPI_Status status;
    for (int found = 1; found != 0;) {
      MPI_Iprobe(MPI_ANY_SOURCE, 0, between_, &found, &status);
      if (found == 0) return;
      MPI_Recv(nullptr, 0, MPI_BYTE, status.MPI_SOURCE, 0, between_, MPI_STATUS_IGNORE);
      heard_[static_cast<std::size_t>(status.MPI_SOURCE)].store(clock::now());
    }
  }

  const std::function<void(const heartbeats&)> look_;
  MPI_Comm between_ = MPI_COMM_NULL;
  int rank_ = 0;
  std::vector<std::atomic<clock::time_point>> heard_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopped_ = false;
  std::thread thread_;
};

class mpi_transport final : public transport {
 public:
  mpi_transport() {
    MPI_Comm_dup(MPI_COMM_WORLD, &world_);
    MPI_Comm_set_errhandler(world_, MPI_ERRORS_RETURN);
    MPI_Comm_rank(world_, &rank_);
    MPI_Comm_size(world_, &size_);
    local_rank_ = rank_on_this_machine();
    if (size_ > 1) beats_.emplace(world_, [this](const heartbeats& beats) { look_for_failures(beats); });
  }
  mpi_transport(const mpi_transport&) = delete;
  mpi_transport& operator=(const mpi_transport&) = delete;

  int rank() const noexcept override { return rank_; }
  int size() const noexcept override { return size_; }
  int local_rank() const noexcept override { return local_rank_; }

  void exchange(std::span<const outgoing> out, std::span<const incoming> in) override {
    if (!error_.empty()) throw rank_error(error_);
    try {
      begin_and_wait(out, in);
    } catch (const rank_error& error) {
      error_ = error.what();
      watchers_.tell(error_);
      session_.abandon();
      throw;
    }
  }

  void fail(const std::string& why) noexcept override {
    if (!error_.empty()) return;
    try {
      error_ = fmt::format("this rank has failed: {}", why);
      watchers_.tell(error_);
      session_.abandon();
      tell_others(why);
    } catch (...) {  // without memory for the text, others find out by its silence
    }
  }

  /// The thread of heartbeats tells the others.
  void fail_soon(std::string_view why) noexcept override {
    try {
      const std::lock_guard lock(failure_mutex_);
      if (failure_.empty() && own_failure_.empty()) own_failure_ = why.empty() ? "unknown" : why;
    } catch (...) {  // as above
    }
  }

  std::shared_ptr<void> watch(std::function<void(const std::string& why)> failed) override {
    return watchers_.add(std::move(failed));
  }

 private:
  static constexpr std::size_t max_text = 500;  ///< short enough that sending it never waits for the receiver

  void tell_others(const std::string& why) const {
    const auto text = why.substr(0, max_text);
    for (int receiver = 0; receiver < size_; ++receiver)
      if (receiver != rank_) MPI_Send(text.data(), static_cast<int>(text.size()), MPI_BYTE, receiver, failure, world_);
  }

  int rank_on_this_machine() const {
    MPI_Comm machine = MPI_COMM_NULL;
    require(MPI_Comm_split_type(world_, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &machine), "find its machine");
    int rank = 0;
    MPI_Comm_rank(machine, &rank);
    MPI_Comm_free(&machine);
    return rank;
  }

  void begin_and_wait(std::span<const outgoing> out, std::span<const incoming> in) {
    started requests;
    const auto in_pieces = [](auto bytes, const auto& begin) {
      for (std::size_t offset = 0; offset < bytes.size(); offset += max_message)
        begin(bytes.subspan(offset, std::min(max_message, bytes.size() - offset)));
    };
    std::vector<incoming> pieces;
    for (const auto& each : in)
      in_pieces(each.bytes, [&](std::span<std::byte> piece) {
        require(MPI_Irecv(piece.data(), static_cast<int>(piece.size()), MPI_BYTE, each.sender, data, world_,
                          &requests.add()),
                "receive");
        pieces.push_back({each.sender, piece});
      });
    std::vector<int> ranks;
    std::ranges::transform(pieces, std::back_inserter(ranks), &incoming::sender);
    for (const auto& each : out)
      in_pieces(each.bytes, [&](std::span<const std::byte> piece) {
        require(MPI_Isend(piece.data(), static_cast<int>(piece.size()), MPI_BYTE, each.receiver, data, world_,
                          &requests.add()),
                "send");
        ranks.push_back(each.receiver);
      });
    wait(requests, ranks);
    for (std::size_t index = 0; index < pieces.size(); ++index)
      if (requests.length(index) != static_cast<std::int64_t>(pieces[index].bytes.size()))
        throw rank_error(fmt::format("rank {} sent {} bytes where {} were expected", pieces[index].sender,
                                     requests.length(index), pieces[index].bytes.size()));
  }

  /// ranks: whom each request is about.
  void wait(started& requests, std::span<const int> ranks) {
    const auto begin = clock::now();
    auto checked = begin;
    while (!requests.have_ended()) {
      const auto now = clock::now();
      if (now - begin < polling) continue;
      std::this_thread::sleep_for(now - begin < 100 * polling ? nap : long_nap);
      if (now - checked < 1ms) continue;
      checked = now;
      check_failures();
      for (std::size_t index = 0; index < ranks.size(); ++index)
        if (!requests.has_ended(index)) beats_->check(ranks[index], now);
    }
  }

  /// On the thread of heartbeats.
  void look_for_failures(const heartbeats& beats) {
    tell_own_failure();
    if (watchers_.empty()) return;
    try {
      check_failures();
      for (int rank = 0; rank < size_; ++rank) beats.check(rank, clock::now());
    } catch (const rank_error& error) {
      watchers_.tell(error.what());
    }
  }

  void tell_own_failure() {
    const std::lock_guard lock(failure_mutex_);
    if (own_failure_.empty() || !failure_.empty()) return;
    failure_ = fmt::format("this rank has failed: {}", own_failure_);
    tell_others(own_failure_);
  }

  /// Throws rank_error if a rank has called fail(), or this one fail_soon().
  void check_failures() {
    const std::lock_guard lock(failure_mutex_);
    if (failure_.empty()) receive_failure();
    if (!failure_.empty()) throw rank_error(failure_);
  }

  void receive_failure() {
    int found = 0;
    MPI_Status status;
    MPI_Iprobe(MPI_ANY_SOURCE, failure, world_, &found, &status);
    if (found == 0) return;
    int length = 0;
    MPI_Get_count(&status, MPI_BYTE, &length);
    std::string why(static_cast<std::size_t>(length), '\0');
    MPI_Recv(why.data(), length, MPI_BYTE, status.MPI_SOURCE, failure, world_, MPI_STATUS_IGNORE);
    failure_ = fmt::format("rank {} has failed: {}", status.MPI_SOURCE, why);
  }

  mpi_session session_;
  MPI_Comm world_ = MPI_COMM_NULL;
  int rank_ = 0;
  int local_rank_ = 0;
  int size_ = 1;
  std::string error_;  // of the first exchange that failed
  std::mutex failure_mutex_;
  std::string failure_;      // what another rank has told, or this one is to tell
  std::string own_failure_;  // of fail_soon()
  watchers watchers_;
  std::optional<heartbeats> beats_;  // ends before what its thread uses
};

}  // namespace

std::shared_ptr<transport> world() {
  static const auto only = std::make_shared<mpi_transport>();
  return only;
}

}  // namespace cogen::parallel
