"""``distutils``, which left Python with 3.12: the parts that scripts, not builds, used."""
