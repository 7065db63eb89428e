import pytest

from moxing.tensorflow.preset import arguments

PLACES = ["--data_url=d", "--train_url", "t"]


def test_words_become_values_except_moxing_flags():
    asked = arguments.read("lenet", [*PLACES, "--batch_size", "8", "--num_gpus=2", "--max_epochs="])

    assert (asked.data_url, asked.train_url, asked.checkpoint_url) == ("d", "t", "")
    assert (asked["batch_size"], asked.eval_batch_size, asked["max_epoches"]) == (8, 8, 100)
    assert asked.given == {"batch_size", "num_gpus"}


def test_size_of_pictures_is_networks_own_unless_given():
    assert arguments.read("lenet", PLACES).image_size == 28
    assert arguments.read("lenet", [*PLACES, "--image_size=40"]).image_size == 40


def test_a_switch_needs_no_value():
    assert arguments.read("lenet", [*PLACES, "--skip_corrupted"])["skip_corrupted"] is True


@pytest.mark.parametrize(
    ("words", "sentences"),
    [
        ([], ["--data_url=… must name a place", "--train_url=… must name a place"]),
        ([*PLACES, "--batch=1", "--momitor=x"], ["--batch is not a parameter", "'monitor'?"]),
        ([*PLACES, "--run_mode=eval"], ["--checkpoint_url=… must name a place, got nothing."]),
        (["data"], ["'data' is not understood: write --name=value."]),
    ],
)
def test_what_is_wrong_is_reported(words, sentences):
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        arguments.read("lenet", words)

    for sentence in sentences:
        assert sentence in str(caught.value)


def test_an_unknown_network_is_reported_with_the_nearest():
    with pytest.raises(ValueError, match="Did you mean 'lenet'"):
        arguments.read("lenett", PLACES)
