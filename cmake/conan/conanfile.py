"""Conan recipe of cogen, for CPUs. It packs the checkout that it lies in: conan create cmake/conan"""

import os
import re

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain
from conan.tools.files import copy, load, rmdir
from conan.tools.gnu import PkgConfigDeps

CHECKOUT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")


class Cogen(ConanFile):
    name = "cogen"
    description = "Text generation by co_await"
    license = "Apache-2.0"
    topics = ("language-models", "coroutines", "asio")
    package_type = "static-library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"system_libraries": [True, False], "xgrammar": [True, False]}
    default_options = {"system_libraries": False, "xgrammar": True}

    def set_version(self):
        self.version = re.search(r'version = "([^"]+)"', load(self, f"{CHECKOUT}/lib/include/cogen/version.hpp"))[1]

    def export_sources(self):
        for folder in ("lib", "cache", "scheduler", "cmake"):
            copy(self, f"{folder}/*", CHECKOUT, self.export_sources_folder)
        for file in ("CMakeLists.txt", "LICENSE", "CHANGELOG.md"):
            copy(self, file, CHECKOUT, self.export_sources_folder)
        # Where scripts/bootstrap puts XGrammar.
        deps = os.environ.get("COGEN_DEPS", f"{CHECKOUT}/.deps")
        copy(self, "*", f"{deps}/xgrammar", f"{self.export_sources_folder}/.deps/xgrammar")

    def requirements(self):
        if not self.options.system_libraries:
            self.requires("boost/[>=1.81]", transitive_headers=True)
            self.requires("fmt/[>=9]", transitive_headers=True)
            self.requires("pcre2/[>=10.40]")
            self.requires("utf8proc/[>=2.8]")
            self.requires("xxhash/[>=0.8]")

    def validate(self):
        check_min_cppstd(self, 20)

    def layout(self):
        self.folders.build = f"build/{str(self.settings.build_type).lower()}"
        self.folders.generators = f"{self.folders.build}/generators"

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables.update({
            "COGEN_TORCH": False, "COGEN_TESTS": False, "COGEN_EXAMPLES": False, "COGEN_BENCH": False, "COGEN_MPI": False,
            "COGEN_WERROR": False, "CMAKE_UNITY_BUILD": True, "CMAKE_UNITY_BUILD_BATCH_SIZE": "12",
            "COGEN_XGRAMMAR": bool(self.options.xgrammar), "COGEN_DEPS": f"{self.source_folder}/.deps"})
        toolchain.generate()
        CMakeDeps(self).generate()
        PkgConfigDeps(self).generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()

    # cogen's own package files are found in it; they ask for what it needs as they do anywhere.
    def package_info(self):
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = ["lib/cmake/cogen"]
