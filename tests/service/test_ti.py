"""What the platform looks at before it keeps a job of TI's."""

import pytest

from danlu.errors import InvalidJob, Unsupported

REQUEST = {"dialect": "ti", "code": "cos://code/mnist", "entry_point": "train.py"}


@pytest.fixture
def service(platform):
    platform.put("cos://code/mnist/train.py")
    return platform.service


def test_missing_entry_point_is_reported_by_field(service):
    with pytest.raises(InvalidJob, match=r"entry_point: 'main\.py' is not in the code directory"):
        service.submit({**REQUEST, "entry_point": "main.py"})


def test_generated_name_is_that_of_outputs(service):
    job = service.submit(REQUEST)

    assert job.name.startswith("train-")
    assert job.spec.outputs == {"output_path": f"cos://danlu-ti/{job.name}/output"}
    assert "name" not in job.request


def test_two_living_jobs_may_share_an_output_path(service):
    jobs = [service.submit({**REQUEST, "output_path": "cos://out"}) for _ in range(2)]

    assert len({job.spec.outputs["output_path"] for job in jobs}) == 2


def test_a_rerun_changes_hyperparameters(service):
    first = service.submit({**REQUEST, "hyperparameters": {"lr": 0.1, "n": 1}})

    again = service.rerun(first.id, {"lr": 0.5})

    assert again.spec.params == (("lr", "0.5"), ("n", "1"))


def test_an_unknown_instance_type_lists_the_known(service):
    with pytest.raises(InvalidJob, match=r"Known: .*ML\.GN8\.3XLARGE112.*TI\.SMALL2\.1core2g"):
        service.submit({**REQUEST, "train_instance_type": "p3.2xlarge"})


def test_mpi_is_not_kept(platform, service):
    with pytest.raises(Unsupported, match="mpi"):
        service.submit({**REQUEST, "distributions": {"mpi": {"enabled": True}}})
    assert not platform.records.living()
