"""What an agent elsewhere is handed: the server's keys, and files that its settings name."""

from pathlib import Path

from danlu.settings import Endpoint, Secret, Settings
from danlu.taskdir import handover
from danlu.taskdir.handover import Handover, settings_of, settings_to_hand_over

CANARY = "canary-57183"


def _handed(settings):
    values, files = settings_to_hand_over(settings)
    text = Handover("job", 2, "worker-0", {"SK": CANARY}, values, files).dump()
    return handover.load(text)


def test_agent_elsewhere_follows_settings_of_its_server(tmp_path):
    stores = {"s3": Endpoint("http://store", secret_key=Secret(CANARY), addressing="virtual")}
    served = Settings(
        home=tmp_path / "server",
        stores=stores,
        cluster_store="s3://bucket/x",
        strict_packages=True,
        code_files=7,
        node_home=str(tmp_path / "node"),
    )

    handed = _handed(served)
    there = settings_of(handed, tmp_path / "node")

    assert (handed.job_id, handed.attempt, handed.task) == ("job", 2, "worker-0")
    assert handed.secrets == {"SK": CANARY}
    assert there.home == tmp_path / "node"
    assert there.stores == stores
    assert isinstance(there.stores["s3"].secret_key, Secret)
    assert (there.cluster_store, there.strict_packages, there.code_files) == (
        "s3://bucket/x",
        True,
        7,
    )
    assert there.store == served.store


def test_the_certificate_of_a_store_goes_along(tmp_path):
    bundle = tmp_path / "ca.pem"
    bundle.write_text("-----BEGIN CERTIFICATE-----")
    served = Settings(home=tmp_path, stores={"s3": Endpoint("https://s", ca_bundle=str(bundle))})
    handed = _handed(served)
    bundle.unlink()

    kept = settings_of(handed, tmp_path / "node").stores["s3"].ca_bundle

    assert Path(kept).parent == tmp_path / "node"
    assert Path(kept).read_text() == "-----BEGIN CERTIFICATE-----"


def test_repr_of_handover_hides_secrets(tmp_path):
    stores = {"s3": Endpoint("http://store", secret_key=Secret(CANARY))}

    assert CANARY not in repr(_handed(Settings(home=tmp_path, stores=stores)))
