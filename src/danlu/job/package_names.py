"""By which names the modules that scripts import are installed."""

# Names people import, and the names they are installed by where these differ.
OTHERWISE = {
    "Crypto": "pycryptodome",
    "Levenshtein": "python-Levenshtein",
    "MySQLdb": "mysqlclient",
    "PIL": "Pillow",
    "absl": "absl-py",
    "attr": "attrs",
    "bs4": "beautifulsoup4",
    "cv2": "opencv-python-headless",
    "dateutil": "python-dateutil",
    "dotenv": "python-dotenv",
    "faiss": "faiss-cpu",
    "gin": "gin-config",
    "google": "protobuf",
    "grpc": "grpcio",
    "hypertune": "cloudml-hypertune",
    "jwt": "PyJWT",
    "mpl_toolkits": "matplotlib",
    "obs": "esdk-obs-python",
    "past": "future",
    "pkg_resources": "setuptools<81",
    "serial": "pyserial",
    "skimage": "scikit-image",
    "sklearn": "scikit-learn",
    "tf_keras": "tf-keras",
    "tf_slim": "tf-slim",
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
