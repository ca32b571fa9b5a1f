from __future__ import annotations

from tests.diagnose.rules.planned import judge, only, stated, supposed
from tests.matrix.samples import matrix


def test_jaxs_code_is_its_clients_and_its_fix_another_extra() -> None:
    def row(cuda: int, release: str, sass: str) -> str:
        return f"jax-cuda{cuda}-pjrt,{release},linux_x86_64,,cuda,{cuda}.0,,{sass},none,,,,,jax-wheels\n"

    extras = 'jax-cuda12-plugin[with-cuda];extra==""cuda12"" jax-cuda13-plugin[with-cuda];extra==""cuda13""'
    own = "".join(f'jax,{release},any,,none,,,,,"{extras}",,,,jax-wheels\n' for release in ("0.8.0", "0.12.0"))
    lines = own + row(12, "0.8.0", "sm_70 sm_80") + row(12, "0.12.0.1", "sm_70 sm_80") + row(13, "0.8.0", "sm_80")
    plugin = stated("jax-cuda13-pjrt", "0.8.0"), stated("jax-cuda13-plugin", "0.8.0")
    found = judge(supposed(stated("jax", "0.8.0", "cuda13"), *plugin, gpus=("7.0",)), matrix(jax=lines))
    (same,) = only(found, "gpu-too-old-for-build").fixes
    assert same.command == "python3.11 -m pip install 'jax[cuda12]==0.8.0'"
