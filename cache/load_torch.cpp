// LibTorch registers thousands of operators when it is loaded: 0.2 s and 110 MiB, which most programs on a processor
// have no use for. So its functions are found when the first of them is called. cmake/delayed-torch defines each as
//
//     function: jmp *entry.target       where `target` is at first
//     first:    leaq entry, %r11
//               jmp cogen_call_torch    which makes `target` the function itself, and goes there.

#include <dlfcn.h>
#include <filesystem>
#include <link.h>
#include <stdexcept>
#include <string>

namespace {

struct entry {
  void* target;
  const char* name;
};

[[noreturn]] void refuse(const char* problem) { throw std::runtime_error(std::string(problem) + ": " + dlerror()); }

/// It lies beside the part of it that is linked.
std::filesystem::path torch_beside_c10() {
  void* const c10 = dlopen("libc10.so", RTLD_LAZY | RTLD_NOLOAD);
  link_map* loaded = nullptr;
  if (!c10 || dlinfo(c10, RTLD_DI_LINKMAP, &loaded) != 0) refuse("LibTorch cannot be found");
  const auto path = std::filesystem::path(loaded->l_name).replace_filename("libtorch_cpu.so");
  dlclose(c10);
  return path;
}

void* loaded_torch() {
  static void* const library = [] {
    void* const opened = dlopen(torch_beside_c10().c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (!opened) refuse("LibTorch cannot be loaded");
    return opened;
  }();
  return library;
}

}  // namespace

extern "C" __attribute__((visibility("hidden"), used)) void* cogen_find_torch(entry& stub) {
  void* const function = dlsym(loaded_torch(), stub.name);
  if (!function) refuse("LibTorch lacks a function");
  __atomic_store_n(&stub.target, function, __ATOMIC_RELEASE);
  return function;
}

// All registers that may hold arguments are kept (System V ABI, AMD64 supplement, 3.2.3). The frame is described, so
// that what is thrown passes to the function's caller.
asm(R"(
.text
.globl cogen_call_torch
.hidden cogen_call_torch
.type cogen_call_torch, @function
cogen_call_torch:
.cfi_startproc
pushq %rbp
.cfi_def_cfa_offset 16
.cfi_offset %rbp, -16
movq %rsp, %rbp
.cfi_def_cfa_register %rbp
subq $192, %rsp
movq %rdi, (%rsp)
movq %rsi, 8(%rsp)
movq %rdx, 16(%rsp)
movq %rcx, 24(%rsp)
movq %r8, 32(%rsp)
movq %r9, 40(%rsp)
movq %rax, 48(%rsp)
movups %xmm0, 64(%rsp)
movups %xmm1, 80(%rsp)
movups %xmm2, 96(%rsp)
movups %xmm3, 112(%rsp)
movups %xmm4, 128(%rsp)
movups %xmm5, 144(%rsp)
movups %xmm6, 160(%rsp)
movups %xmm7, 176(%rsp)
movq %r11, %rdi
call cogen_find_torch
movq %rax, %r11
movups 176(%rsp), %xmm7
movups 160(%rsp), %xmm6
movups 144(%rsp), %xmm5
movups 128(%rsp), %xmm4
movups 112(%rsp), %xmm3
movups 96(%rsp), %xmm2
movups 80(%rsp), %xmm1
movups 64(%rsp), %xmm0
movq 48(%rsp), %rax
movq 40(%rsp), %r9
movq 32(%rsp), %r8
movq 24(%rsp), %rcx
movq 16(%rsp), %rdx
movq 8(%rsp), %rsi
movq (%rsp), %rdi
leave
.cfi_def_cfa %rsp, 8
jmp *%r11
.cfi_endproc
.size cogen_call_torch, . - cogen_call_torch
)");
