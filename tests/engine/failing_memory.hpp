#pragma once

namespace cogen::test {

/// Counts the blocks of memory this process holds, and refuses one on request: everything that is allocated here,
/// also by Asio and the standard library, comes from the `malloc` that this program defines.
namespace failing_memory {

/// Refuses the n-th allocation from now on that this thread makes, counting from 0.
void refuse(long n);

/// Refuses nothing any more. Returns whether an allocation was refused since `refuse()`.
bool relent();

/// Blocks held by the whole process.
long blocks();

/// Allocations so far, of the whole process.
long allocations();

}  // namespace failing_memory
}  // namespace cogen::test
