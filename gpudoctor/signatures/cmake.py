"""What CMake says of CUDA, and dlib and OpenCV when they are built without CUDA or cuDNN, or run so: their CMakeLists.txt and modules/dnn/src."""

from __future__ import annotations

from gpudoctor.signatures.signature import Signature

CMAKE = (
    # Modules/CMakeDetermineCompilerId.cmake: MSBuild does not find the files that CUDA's installer puts into Visual Studio
    Signature(
        r"\bNo CUDA toolset found\b",
        ("nvcc-toolkit-missing",),
        "Visual Studio lacks the part of the CUDA toolkit that builds with it",
        ("No CUDA toolset found.",),
        cure="Install the CUDA toolkit after Visual Studio, with its Visual Studio Integration.",
    ),
    # dlib/CMakeLists.txt of 19.x
    Signature(
        r"your compiler failed to compile a simple CUDA program",
        ("host-compiler-unsupported",),
        "nvcc cannot compile with this host compiler",
        ("*** CUDA was found but your compiler failed to compile a simple CUDA program so dlib isn't going to use CUDA.",),
        tells="nvcc --version; c++ --version",
    ),
    Signature(
        r"(?i:\bcudnn v\d{1,2}(?:\.\d{1,2})? or greater not found)|Since cuDNN is not found DLIB WILL NOT USE CUDA|[Ff]ound CUDA, but (?:didn't find|did not find|CMake was unable to find)(?: the)? cuDNN|CUDA backend requires cuDNN|Could NOT find (?i:cudnn)\b|(?i:\bcudnn not found\b)",
        ("cudnn-missing",),
        "a build found no cuDNN",
        (
            "-- *** cuDNN V5.0 OR GREATER NOT FOUND. ***",
            "-- *** Dlib requires cuDNN V5.0 OR GREATER.  Since cuDNN is not found DLIB WILL NOT USE CUDA. ***",
            "DNN: CUDA backend requires cuDNN.  Please resolve dependency or disable OPENCV_DNN_CUDA=OFF",
            '-- Could NOT find CUDNN (missing: CUDNN_LIBRARY CUDNN_INCLUDE_DIR) (Required is at least version "7.5")',
        ),
        despite_versions=True,  # the framework may load one that the build does not find
    ),
    Signature(
        r"we failed to compile the \S{0,40}test_for_cudnn\b",
        ("cudnn-version-mismatch",),
        "the build does not compile with the cuDNN that it found",
        ("*** Found cuDNN, but we failed to compile the dlib/cmake_utils/test_for_cudnn project. ***",),
    ),
    Signature(
        r"Found CUDA, but CMake was unable to find the cu(?:BLAS|RAND|SOLVER) libraries|Disabling CUDA support for dlib",
        ("nvcc-toolkit-missing",),
        "dlib found no CUDA toolkit that it can use",
        ("-- Disabling CUDA support for dlib.  DLIB WILL NOT USE CUDA",),
        vague=True,
        last=True,  # the reason stands before it
    ),
    # modules/dnn/src/net_impl.cpp and dnn.cpp; modules/core/include/opencv2/core/private.cuda.hpp
    Signature(
        r"DNN module was not built with CUDA backend|The library is compiled without CUDA support|OpenCV was (?:not (?:built|compiled) with|(?:built|compiled) without) CUDA",
        ("cpu-only-build",),
        "this build of OpenCV has no CUDA",
        (
            "setUpNet DNN module was not built with CUDA backend; switching to CPU",
            "error: (-216:No CUDA support) The library is compiled without CUDA support in function 'throw_no_cuda'",
        ),
        about_packages=True,
        cure="Compile OpenCV with -D WITH_CUDA=ON -D OPENCV_DNN_CUDA=ON: the wheels of opencv-python have no CUDA.",
    ),
)
