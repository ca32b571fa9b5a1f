from __future__ import annotations

import pytest

from tests.diagnose.rules.planned import stack


@pytest.mark.parametrize(
    ("cudnn", "name"),
    [("8.9.7.29", "cudnn-wrong-major"), ("9.2.1.18", "cudnn-version-mismatch"), ("9.3.0.75", ""), ("9.10.2.21", "")],
)
def test_the_cudnn_that_is_there_is_compared_with_the_one_required(cudnn: str, name: str) -> None:
    found = [cause.name for cause in stack(cudnn, gpus=("8.0",)).root_causes]
    assert found == ([name] if name else [])
