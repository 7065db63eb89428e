"""Write folders of small pictures, one for each class: python make_data.py FOLDER"""

import os
import sys

from PIL import Image, ImageDraw


def picture(kind, number):
    """Return a white circle or bar on a dark ground; of several sizes, as photographs are."""
    side = 20 + number % 7 * 4
    image = Image.new("RGB", (side, side + number % 3), (40, number, 60))
    pen = ImageDraw.Draw(image)
    if kind == "circle":
        at = [side // 4, side // 4, side * 3 // 4, side * 3 // 4]
        pen.ellipse(at, fill=(250, 250, 250))
    else:
        pen.rectangle([side // 2 - 2, 1, side // 2 + 1, side - 2], fill=(250, 250, 250))
    return image


def main(folder):
    for number in range(80):
        kind = ("bar", "circle")[number % 2]
        os.makedirs(os.path.join(folder, kind), exist_ok=True)
        picture(kind, number).save(os.path.join(folder, kind, f"{number}.png"))


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "data")
