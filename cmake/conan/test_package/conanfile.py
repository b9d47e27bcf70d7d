import os

from conan import ConanFile
from conan.tools.build import can_run
from conan.tools.cmake import CMake, cmake_layout


class TestPackage(ConanFile):
    settings = "os", "arch", "compiler", "build_type"
    generators = "CMakeDeps", "CMakeToolchain", "PkgConfigDeps"

    def requirements(self):
        self.requires(self.tested_reference_str)

    def layout(self):
        cmake_layout(self)

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    # With a model it generates, too: conan create cmake/conan -c user.cogen:model=FILE
    def test(self):
        if can_run(self):
            model = self.conf.get("user.cogen:model", default="")
            self.run(f"{os.path.join(self.cpp.build.bindir, 'consumer')} {model}", env="conanrun")
