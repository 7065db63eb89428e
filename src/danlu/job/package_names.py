"""The package names that provide the modules scripts import."""

# Module names and their package names where these differ. Modules that were part of Python before
# 3.12 or 3.13 are looked up here only if Python no longer has them.
OTHERWISE = {
    "Crypto": "pycryptodome",
    "Levenshtein": "python-Levenshtein",
    "MySQLdb": "mysqlclient",
    "PIL": "Pillow",
    "absl": "absl-py",
    "aifc": "standard-aifc",
    "asynchat": "standard-asynchat",
    "asyncore": "standard-asyncore",
    "attr": "attrs",
    "audioop": "audioop-lts",
    "bs4": "beautifulsoup4",
    "cgitb": "standard-cgitb",
    "chunk": "standard-chunk",
    "crypt": "standard-crypt",
    "cv2": "opencv-python-headless",
    "dateutil": "python-dateutil",
    "dotenv": "python-dotenv",
    "faiss": "faiss-cpu",
    "gin": "gin-config",
    "google": "protobuf",
    "grpc": "grpcio",
    "hypertune": "cloudml-hypertune",
    "jwt": "PyJWT",
    "mailcap": "standard-mailcap",
    "mpl_toolkits": "matplotlib",
    "nntplib": "standard-nntplib",
    "obs": "esdk-obs-python",
    "past": "future",
    "pkg_resources": "setuptools<81",
    "serial": "pyserial",
    "skimage": "scikit-image",
    "sklearn": "scikit-learn",
    "smtpd": "standard-smtpd",
    "sndhdr": "standard-sndhdr",
    "sunau": "standard-sunau",
    "telnetlib": "standard-telnetlib",
    "tf_keras": "tf-keras",
    "tf_slim": "tf-slim",
    "uu": "standard-uu",
    "xdrlib": "standard-xdrlib",
    "yaml": "PyYAML",
    "zmq": "pyzmq",
}
_SAME = """
autograd boto3 cffi chainer dask datasets easydict fire fsspec future gensim
h5py horovod imageio imgaug jax jieba joblib jsonlines keras librosa lightgbm lmdb lxml
matplotlib mock moviepy mpi4py msgpack mxnet networkx nibabel nltk numba numpy onnx opt_einsum
optuna pandas patsy pexpect pickle5 plotly prettytable psutil pyarrow pycocotools pydicom
pydot pygments pymysql pytest redis regex requests s3fs scipy seaborn sentencepiece setproctitle
shapely simplejson six sklearn_crfsuite spacy statsmodels sympy tables tabulate tensorboard
tensorboardX tensorflow_addons tensorflow_datasets tensorflow_hub tensorflow_probability
tensorlayer termcolor tflearn tokenizers toolz torch torchvision tornado tqdm transformers ujson
wget xgboost xlrd xlwt
"""
SAME = frozenset(_SAME.split())
