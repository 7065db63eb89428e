import pytest

from danlu.job.gpus import within


@pytest.mark.parametrize(
    ("own", "asked", "seen"),
    [
        ("2,3", "0", "2"),
        ("2,3", "1,0", "3,2"),
        ("2,3", "0, 1", "2,3"),
        ("2,3", "2,3", "2,3"),
        ("2,3", "", ""),
        ("2,3", "-1", ""),
        ("2,3", "0,-1,1", "2"),
        ("2,3", "0,4", "2"),
        ("2,3", "7", ""),
        ("1", "0", "1"),
        ("0,1", "1", "1"),
        ("GPU-8f,GPU-9a", "1", "GPU-9a"),
        ("GPU-8f,GPU-9a", "GPU-8f", "GPU-8f"),
        ("GPU-8f,GPU-9a", "GPU-77", ""),
        ("2,3", "0,0", "2"),
        ("", "0", ""),
        ("", "", ""),
    ],
)
def test_selected_gpus_belong_to_the_task(own, asked, seen):
    assert within(own, asked) == seen
