"""What matplotlib and OpenCV took from scripts of before, in a script as a task runs it."""


def test_styles_of_seaborn_and_title_of_window(task):
    script = """
    import matplotlib.pyplot as plt
    plt.style.use('seaborn')
    print(plt.rcParams['axes.facecolor'])
    plt.style.use(['ggplot', 'seaborn-darkgrid'])
    print(plt.rcParams['axes.facecolor'], plt.rcParams['axes.grid'])
    with plt.style.context('seaborn-white'):
        print(plt.rcParams['axes.grid'])
    figure = plt.figure()
    figure.canvas.manager.set_window_title = print
    figure.canvas.set_window_title('losses')
    try:
        plt.style.use('seaborn-none')
    except OSError as error:
        print('seaborn-none' in str(error))
    """

    printed = task.run(script, DISPLAY="", WAYLAND_DISPLAY="").splitlines()

    assert printed == ["#EAEAF2", "#EAEAF2 True", "False", "losses", "True"]
    notes = task.notes("mapped")
    assert ("train.py", 3, "matplotlib style 'seaborn' read as 'seaborn-v0_8'") in notes
    title = "canvas.set_window_title read as canvas.manager.set_window_title"
    assert ("train.py", 11, title) in notes


def test_opencv_cuts_off_coordinates(task):
    script = """
    import cv2
    import numpy as np
    def drawn(function, *args, **options):
        image = np.zeros((12, 12), 'uint8')
        function(image, *args, **options)
        return image
    near = np.float32([1.9, 2.9])
    small = dict(fontFace=0, fontScale=0.5, color=255)
    old = [
        drawn(cv2.rectangle, (1.9, 2.2), (7.9, 8.0), 255),
        drawn(cv2.circle, (5.5, 5.5), 3.7, 255),
        drawn(cv2.line, tuple(near), pt2=(9.0, 9.9), color=255),
        drawn(cv2.line, near, near + 5, 255, 1.0),
        drawn(cv2.putText, 'a', (1.5, 9.5), **small),
    ]
    new = [
        drawn(cv2.rectangle, (1, 2), (7, 8), 255),
        drawn(cv2.circle, (5, 5), 3, 255),
        drawn(cv2.line, (1, 2), (9, 9), 255),
        drawn(cv2.line, (1, 2), (6, 7), 255, 1),
        drawn(cv2.putText, 'a', (1, 9), **small),
    ]
    print([bool((a == b).all() and a.any()) for a, b in zip(old, new)])
    print(cv2.resize(np.zeros((4, 4), 'uint8'), (3.0, 2.5)).shape)
    print(cv2.resize(np.zeros((4, 4), 'uint8'), None, fx=0.5, fy=0.5).shape)
    try:
        cv2.line(np.zeros((4, 4), 'uint8'), 'ab', (1.0, 2.0), 255)
    except cv2.error:
        print('refused')
    """

    assert task.run(script).splitlines() == [
        "[True, True, True, True, True]",
        "(2, 3)",
        "(2, 2)",
        "refused",
    ]
    texts = [text for _, _, text in task.notes("mapped")]
    cut = "coordinates that are no whole numbers were cut off, as before OpenCV 4"
    assert texts.count(f"cv2.resize: {cut}") == 1
    assert f"cv2.rectangle: {cut}" in texts
