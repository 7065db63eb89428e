"""What metadata of a folder of images tells of its classes, however their labels are kept."""


class ClassesOfFolder:
    """A mix-in; whoever uses it has ``base_dir``, ``redirect_dir`` and ``labels_list``."""

    base_dir: str
    redirect_dir: str | None
    labels_list: list[str]

    @property
    def num_classes(self) -> int:
        return len(self.labels_list)

    @property
    def labels_to_names(self) -> dict[int, str]:
        return dict(enumerate(self.labels_list))

    @property
    def names_to_labels(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self.labels_list)}

    @property
    def read_dir(self) -> str:
        """The folder the files are read from."""
        return self.redirect_dir or self.base_dir

    def __str__(self) -> str:
        return self.base_dir
