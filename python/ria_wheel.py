# SPDX-License-Identifier: MIT
"""What pip asks for (PEP 517): a wheel of what CMake installs. It needs Python alone, so that pip downloads nothing;
CMake, a compiler and ria's libraries are the machine's own. RIA_BUILD_DIR: a build folder to use, default build."""
import base64
import hashlib
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1]
VERSION = re.search(r"project\(ria VERSION (\S+)", (SOURCE / "CMakeLists.txt").read_text())[1]


def metadata():
    return (
        f"Metadata-Version: 2.1\nName: ria\nVersion: {VERSION}\n"
        "Summary: Visual place recognition by Riemannian Invariant Aggregation\nLicense: MIT\n"
        f"Requires-Python: >=3.9\nRequires-Dist: numpy\nDescription-Content-Type: text/markdown\n\n{(SOURCE / 'README.md').read_text()}"
    )


def installed(folder):
    """Builds and installs: the package with the library and its plugins inside it."""
    build = Path(os.environ.get("RIA_BUILD_DIR", SOURCE / "build"))
    flags = [] if (build / "CMakeCache.txt").exists() else ["-DRIA_BUILD_TESTS=OFF", "-DCMAKE_BUILD_TYPE=Release"]
    generator = ["-G", "Ninja"] if flags and shutil.which("ninja") else []
    run = lambda *command: subprocess.run(command, check=True, stdout=sys.stderr)
    run("cmake", "-S", str(SOURCE), "-B", str(build), f"-DPython_EXECUTABLE={sys.executable}", *generator, *flags)
    run("cmake", "--build", str(build), "--parallel", str(os.cpu_count()), "--target", "ria", "ria_python", "ria_plugins")
    run("cmake", "--install", str(build), "--prefix", str(folder), "--component", "wheel")


def record(files):
    """A line a file: name, hash, size."""
    lines = []
    for name, content in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        lines.append(f"{name},sha256={digest},{len(content)}\n")
    return "".join(lines)


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    abi = f"cp{sys.version_info.major}{sys.version_info.minor}"
    tag = f"{abi}-{abi}-{re.sub('[-.]', '_', sysconfig.get_platform())}"
    about = f"ria-{VERSION}.dist-info"
    files = {}
    with tempfile.TemporaryDirectory() as folder:
        installed(folder)
        for file in sorted(Path(folder).rglob("*")):
            if file.is_file():
                files[str(file.relative_to(folder))] = file.read_bytes()
    files[f"{about}/METADATA"] = metadata().encode()
    files[f"{about}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: ria\nRoot-Is-Purelib: false\nTag: {tag}\n".encode()
    files[f"{about}/RECORD"] = (record(files) + f"{about}/RECORD,,\n").encode()
    name = f"ria-{VERSION}-{tag}.whl"
    with zipfile.ZipFile(Path(wheel_directory) / name, "w", zipfile.ZIP_DEFLATED) as wheel:
        for path, content in files.items():
            entry = zipfile.ZipInfo(path)
            entry.external_attr = (0o755 if path.endswith(".so") else 0o644) << 16
            wheel.writestr(entry, content, zipfile.ZIP_DEFLATED)
    return name


def build_sdist(sdist_directory, config_settings=None):
    name = f"ria-{VERSION}"
    file = f"{name}.tar.gz"
    subprocess.run(["git", "-C", str(SOURCE), "archive", f"--prefix={name}/", "-o", str(Path(sdist_directory) / file), "HEAD"], check=True)
    return file
