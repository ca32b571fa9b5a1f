"""Rebuilds the rows of compat/others.csv of packages without GPU code that bound what the tables judge: Lightning bounds torch, numba NumPy.

    python -m scripts.refresh.between [--find] [--write | --check] [PROJECT...]

--find prints which packages belong here: those that an add-on pins or bounds, and that themselves exclude releases of a package in the tables,
and those without GPU code that require a framework.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from gpudoctor.frameworks import framework_of
from gpudoctor.matrix import Matrix
from gpudoctor.matrix.tables import NO_GPU_CODE, OTHER_RELEASES
from gpudoctor.matrix_files import open_matrix
from gpudoctor.versions import Version
from scripts.refresh.add_ons import PACKAGES
from scripts.refresh.common import Release, Wheel, arguments, group_releases, numpy_abi, refresh
from scripts.refresh.index import Index
from scripts.refresh.metadata import beside, requirements, requires

PROJECTS = {
    "accelerate": (0,),
    "allennlp": (0, 8),
    "anndata": (0, 7),
    "apache-beam": (2, 48),
    "aqlm": (1, 1),
    "audiomentations": (0, 20),
    "autokeras": (1, 0),
    "bert-score": (0, 3),
    "blackjax": (0, 9),
    "botorch": (0, 3),
    "brax": (0, 9),
    "captum": (0, 2),
    "cellpose": (3, 0),
    "chex": (0, 0, 3),
    "clearml": (1, 14),
    "compel": (1, 0),
    "controlnet-aux": (0, 0, 1),
    "coqui-tts": (0, 24),
    "cuxfilter-cu12": (24,),
    "cuxfilter-cu13": (25,),
    "darts": (0, 8),
    "dask-cudf-cu12": (24,),
    "dask-cudf-cu13": (25,),
    "deepface": (0, 0, 40),
    "demucs": (2,),
    "diffrax": (0, 0, 3),
    "diffusers": (0, 0, 2),
    "distrax": (0, 0, 1),
    "dm-haiku": (0, 0, 1),
    "e3nn": (0, 2),
    "easyocr": (1, 1),
    "equinox": (0, 1),
    "espnet": (202301,),
    "facexlib": (0, 2),
    "fairseq": (0, 9),
    "fastai": (1, 0),
    "faster-whisper": (0, 2),
    "flair": (0, 4),
    "flash-linear-attention": (0, 2),
    "flax": (0, 1),
    "galore-torch": (1,),
    "gensim": (3, 4),
    "gfpgan": (0, 2),
    "gluonts": (0, 4),
    "google-cloud-aiplatform": (1, 60),
    "gpflow": (2, 0),
    "gpytorch": (1, 0),
    "hdbscan": (0, 8, 20),
    "jax-triton": (0, 2),
    "jaxopt": (0, 1),
    "k-diffusion": (0, 0, 3),
    "keras-cv": (0, 2),
    "keras-hub": (0, 16),
    "keras-nlp": (0, 1),
    "keras-tuner": (1, 0),
    "kornia": (0, 2),
    "lightning": (1, 8, 4),
    "lineax": (0, 0, 4),
    "lion-pytorch": (0, 1),
    "litgpt": (0, 4),
    "llamafactory": (0, 8),
    "lm-eval": (0, 3),
    "lpips": (0, 1, 2),
    "mace-torch": (0, 3),
    "mediapipe": (0, 10),
    "mistral-common": (1, 0),
    "mlflow": (1, 0),
    "mlserver": (1, 3),
    "monai": (0, 1),
    "mujoco-mjx": (3, 0),
    "nemo-toolkit": (1, 20),
    "nerfstudio": (0, 1),
    "neuralforecast": (1, 6),
    "nnunetv2": (2, 1),
    "numba": (0, 43),
    "numpyro": (0, 2),
    "nvidia-modelopt": (0, 19),
    "nx-cugraph-cu12": (24,),
    "nx-cugraph-cu13": (25,),
    "opacus": (0, 9),
    "open-clip-torch": (1,),
    "openai-whisper": (20230000,),
    "opencv-contrib-python": (3, 4),
    "opencv-contrib-python-headless": (3, 4),
    "opencv-python": (3, 4),
    "opencv-python-headless": (3, 4),
    "optax": (0, 0, 1),
    "optimistix": (0, 0, 5),
    "optimum": (1, 0),
    "optimum-intel": (1, 15),
    "optimum-quanto": (0, 2),
    "orbax-checkpoint": (0, 0, 9),
    "outlines": (0, 0, 34),
    "pandas": (0, 23),
    "peft": (0, 1),
    "pyannote-audio": (1, 1),
    "pymc3": (3, 8),
    "pyro-ppl": (1, 0),
    "pytorch-forecasting": (0, 5),
    "pytorch-ignite": (0, 3),
    "pytorch-lightning": (0, 5),
    "pytorch-metric-learning": (1, 0),
    "pytorch-tabnet": (2, 0),
    "qdrant-client": (1, 7),
    "realesrgan": (0, 2),
    "rembg": (2, 0, 50),
    "sageattention": (1,),
    "sb3-contrib": (0, 10),
    "schedulefree": (1,),
    "scipy": (1, 0),
    "scvi-tools": (0, 8),
    "seaborn": (0, 9),
    "segmentation-models": (0, 2),
    "segmentation-models-pytorch": (0, 1),
    "sentence-transformers": (0, 3),
    "setfit": (0, 2),
    "simpletransformers": (0, 40),
    "sktime": (0, 24),
    "speechbrain": (0, 5, 4),
    "spektral": (0, 6),
    "stable-baselines3": (0, 6),
    "stanza": (1, 0),
    "stardist": (0, 6),
    "statsmodels": (0, 10),
    "streamlit": (0, 60),
    "super-gradients": (3, 1),
    "tabpfn": (2, 0),
    "tensordict": (0, 3),
    "tensorflow-addons": (0, 3),
    "tensorflow-datasets": (1, 0),
    "tensorflow-decision-forests": (0, 1),
    "tensorflow-hub": (0, 1),
    "tensorflow-io": (0, 5),
    "tensorflow-metadata": (0, 14),
    "tensorflow-model-optimization": (0, 1),
    "tensorflow-probability": (0, 7),
    "tensorflow-ranking": (0, 4),
    "tensorflow-recommenders": (0, 1),
    "tensorflow-serving-api": (2, 0),
    "tensorflow-text": (0, 1),
    "tf-agents": (0, 3),
    "tf-models-official": (2, 2),
    "tf2onnx": (1, 5),
    "tfx": (1, 12),
    "tianshou": (0, 3),
    "timm": (0, 1),
    "torch-fidelity": (0, 3),
    "torchao": (0, 5),
    "torchcodec": (0, 0, 3),
    "torchdata": (0, 3),
    "torchio": (0, 17),
    "torchmetrics": (0, 2),
    "torchrec": (0, 6),
    "torchrl": (0, 0, 3),
    "torchsde": (0, 2, 6),
    "torchsnapshot": (0, 1),
    "torchtext": (0, 3),
    "torchtune": (0, 1),
    "transformers": (2, 0),
    "tritonclient": (2, 30),
    "trl": (0, 0, 1),
    "tsai": (0, 2),
    "ultralytics": (8, 0),
    "weaviate-client": (4, 0),
    "whisperx": (3, 0),
}
"""By name the oldest release in the table."""
_MODULES = dict.fromkeys(
    ("opencv-python", "opencv-python-headless", "opencv-contrib-python", "opencv-contrib-python-headless"), r"cv2/(?:python-\d\.\d+/)?cv2\."
)
"""The compiled module that names the NumPy it is for, of packages whose METADATA does not bound NumPy."""
_ALSO = {*PROJECTS, *PACKAGES, "huggingface-hub"}
"""Packages whose bounds in these rows count too: faster-whisper computes with CTranslate2, transformers refuses other releases of huggingface-hub than its own range."""
_SOURCES = ("fairseq", "openai-whisper", "sentence-transformers", "timm", "fastai", "lm-eval")
"""Pure Python packages that the index has only as source."""
DOCUMENTED = {
    ("torchao", "0.12.0"): ("torch<=2.7.1,>=2.5.0",),
    ("torchao", "0.13.0"): ("torch>=2.6.0",),
    ("torchao", "0.14.0"): ("torch>=2.7.1",),
    ("torchao", "0.14.1"): ("torch>=2.7.1",),
    ("torchtext", "0.18.0"): ("torch==2.3.*",),
}
"""What a release works with by its documentation, where METADATA states less."""
_EXCLUDES = ("<", "==", "~=", "!=", ">=2")
"""What a specifier begins with that leaves out releases which somebody may want, such as NumPy 1."""
_PLATFORMS = {"linux_x86_64", "any"}


def wanted(distribution: str, release: Version) -> bool:
    """Return whether the table has this release."""
    return distribution in PROJECTS and release >= PROJECTS[distribution]


def read(wheel: Wheel) -> dict[str, Any]:
    """Return the fields that one wheel gives: only its requirements decide."""
    name, platform = wheel.release.distribution, wheel.release.platform
    required = tuple(text for text in requires(wheel.metadata(), platform, _ALSO) if "extra==" not in text)
    documented = tuple(map(beside, DOCUMENTED.get((name, str(wheel.release.release)), ())))
    source = (f"{name}-wheels", *((f"{name}-installation",) if documented else ()))
    told = {"accelerator": "none", "requires": tuple(sorted((*required, *documented))), "source": source}
    return told | ({"numpy_abi": wheel.learn("NumPy", lambda: _numpy(wheel, _MODULES[name]))} if name in _MODULES else {})


def _numpy(wheel: Wheel, module: str) -> int | None:
    """Return the NumPy that a compiled module is for."""
    name = next((name for name in wheel.zip.namelist() if re.match(module, name) and name.endswith((".so", ".pyd"))), None)
    return numpy_abi(wheel.zip.read(name)) if name else None


def find() -> Iterator[str]:
    """Yield a line for each package that belongs here and is missing."""
    index, matrix, cache = Index(), open_matrix(), arguments(tuple(PROJECTS)).cache
    yield from _beside_add_ons(index, matrix, cache)
    for name in (row.distribution for row in matrix.rows(NO_GPU_CODE) if not matrix.releases(row.distribution)):
        for release in _releases(index, name)[-1:]:
            if needed := [
                str(requirement)
                for requirement in _always(Wheel(release, index, cache))
                if framework_of(canonicalize_name(requirement.name))
            ]:
                yield f"{name} {release.release}: {', '.join(needed)}"


def _beside_add_ons(index: Index, matrix: Matrix, cache: Path) -> Iterator[str]:
    """Yield a line for each package that an add-on pins or bounds, and that excludes releases of a package in the tables."""
    asked: dict[str, set[str]] = {}
    for name in PACKAGES:
        for release in _releases(index, name)[-1:]:
            for requirement in _always(Wheel(release, index, cache)):
                if any(sign in str(requirement.specifier) for sign in _EXCLUDES) and not matrix.releases(
                    canonicalize_name(requirement.name)
                ):
                    asked.setdefault(canonicalize_name(requirement.name), set()).add(str(requirement.specifier))
    for name, specifiers in sorted(asked.items()):
        fitting = [one for one in _releases(index, name) if any(SpecifierSet(text).contains(str(one.release)) for text in specifiers)]
        for release in fitting[-1:]:
            bounds = [
                str(requirement)
                for requirement in _always(Wheel(release, index, cache))
                if (canonicalize_name(requirement.name) == "numpy" or matrix.releases(canonicalize_name(requirement.name)))
                and any(sign in str(requirement.specifier) for sign in _EXCLUDES)
            ]
            if bounds:
                yield f"{name} {release.release}: {', '.join(bounds)}"


def _releases(index: Index, name: str) -> list[Release]:
    return [release for release in group_releases(index.files(name), lambda *_: True) if release.platform in _PLATFORMS]


def _always(wheel: Wheel) -> list[Requirement]:
    return [requirement for requirement in requirements(wheel.metadata()) if "extra" not in str(requirement.marker or "")]


if __name__ == "__main__":
    if "--find" in sys.argv:
        sys.argv.remove("--find")
        print("\n".join(find()))
        sys.exit(0)
    sys.exit(refresh(OTHER_RELEASES, tuple(PROJECTS), wanted, read, _SOURCES))
