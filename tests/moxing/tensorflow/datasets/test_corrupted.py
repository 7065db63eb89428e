"""Files that are called images and are none."""

from typing import Any

import pytest

from .conftest import picture


def dataset_of(folder: str, **options: Any) -> Any:
    import moxing.tensorflow as mox

    meta = mox.ImageClassificationRawMetadata(folder)
    return mox.ImageClassificationRawDataset(meta, num_epochs=1, shuffle=False, **options)


def broken() -> dict[str, bytes]:
    jpeg = picture(60, (32, 32), "JPEG")
    return {"empty": b"", "cut": jpeg[: len(jpeg) // 2], "page": b"<html>not found</html>"}


@pytest.mark.parametrize("fault", ["empty", "cut", "page"])
def test_a_file_that_is_no_image_is_named(
    tf: Any, flowers: str, write_files: Any, all_of: Any, fault: str
) -> None:
    write_files(flowers, {"roses/broken.jpg": broken()[fault]})
    image = dataset_of(flowers).get(["image"])

    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        all_of(image)

    assert f"{flowers}/roses/broken.jpg: these bytes are no image" in str(caught.value)
    assert "skip_corrupted=True" in str(caught.value)


def test_corrupted_files_are_skipped_and_named_on_request(
    tf: Any, flowers: str, write_files: Any, all_of: Any, log_lines: list[str]
) -> None:
    faults = broken()
    write_files(flowers, {f"roses/{name}.jpg": data for name, data in faults.items()})
    dataset = dataset_of(flowers, skip_corrupted=True, image_size=4, batch_size=5)

    ((images, labels),) = all_of(dataset.get(["image", "label"]))

    assert images[:, 0, 0, 0].tolist() == [30, 40, 50, 10, 20]
    assert labels.tolist() == [0, 0, 0, 1, 1]
    for name, data in faults.items():
        path = f"{flowers}/roses/{name}.jpg"
        reported = (
            f"WARNING: {path} is left out: its {len(data)} bytes are no image that can be decoded."
        )
        assert reported in log_lines


def test_skipped_file_is_reported_once(
    tf: Any, garden: str, write_files: Any, all_of: Any, log_lines: list[str]
) -> None:
    import moxing.tensorflow as mox

    write_files(garden, {"roses/page.jpg": broken()["page"]})
    meta = mox.ImageClassificationRawMetadata(garden)
    dataset = mox.ImageClassificationRawDataset(meta, num_epochs=3, skip_corrupted=True)

    assert len(all_of(dataset.get(["label"]))) == 12
    assert sum("page.jpg is left out" in line for line in log_lines) == 1


def test_a_folder_without_any_image_ends(
    tf: Any, tmp_path: Any, write_files: Any, all_of: Any
) -> None:
    """It would look for one without end, since epochs have none."""
    import moxing.tensorflow as mox

    pages = {f"roses/{number}.jpg": broken()["page"] for number in range(3)}
    meta = mox.ImageClassificationRawMetadata(write_files(str(tmp_path / "data"), pages))

    dataset = mox.ImageClassificationRawDataset(meta, skip_corrupted=True)

    with pytest.raises(tf.errors.OpError, match="None of the 3 files is an image"):
        all_of(dataset.get(["image"]), times=1)


def test_images_of_every_kind_are_read(
    tf: Any, tmp_path: Any, write_files: Any, all_of: Any
) -> None:
    kinds = {"a.jpg": "JPEG", "b.PNG": "PNG", "c.gif": "GIF", "d.bmp": "BMP", "e.webp": "WEBP"}
    files = {f"aster/{name}": picture(77, (3, 5), kind) for name, kind in kinds.items()}
    more = b"bytes a camera has added"
    files |= {
        f"tulip/{name}": files[f"aster/{name}"] + more for name in ("a.jpg", "b.PNG", "c.gif")
    }

    found = all_of(dataset_of(write_files(str(tmp_path / "data"), files)).get(["image"]))

    assert [image.shape for (image,) in found] == [(3, 5, 3)] * 8
    assert all(abs(int(image[1, 1, 1]) - 77) <= 1 for (image,) in found)


def test_a_record_that_holds_no_image_is_reported(
    tf: Any, tmp_path: Any, write_records: Any, all_of: Any
) -> None:
    import moxing.tensorflow as mox

    records = [
        {"image/encoded": picture(1), "image/class/label": 0},
        {"image/encoded": b"none", "image/class/label": 1},
        {"image/encoded": picture(2), "image/class/label": 2},
    ]
    write_records(str(tmp_path), {"a.tfrecord": records})
    meta = mox.ImageClassificationTFRecordMetadata(str(tmp_path), "*.tfrecord")

    with pytest.raises(tf.errors.InvalidArgumentError, match=r"A record of .*a?\*.tfrecord"):
        all_of(mox.ImageClassificationTFRecordDataset(meta, num_epochs=1).get(["image"]))
    skipping = mox.ImageClassificationTFRecordDataset(
        meta, num_epochs=1, shuffle=False, skip_corrupted=True
    )
    assert all_of(skipping.get(["label"])) == [[0], [2]]
