"""Names that old scripts use, and what stands for them today."""

# Of Huawei's Ascend processors; none of them is on the package index.
NPU = frozenset(("acl", "hccl", "npu_bridge", "npu_device", "te", "tbe", "torch_npu"))
# Modules of Python's own that have another name now, or none.
MOVED = {
    "ConfigParser": "configparser",
    "HTMLParser": "html.parser",
    "Queue": "queue",
    "SimpleHTTPServer": "http.server",
    "SocketServer": "socketserver",
    "StringIO": "io",
    "Tkinter": "tkinter",
    "__builtin__": "builtins",
    "cPickle": "pickle",
    "cStringIO": "io",
    "commands": "subprocess",
    "cookielib": "http.cookiejar",
    "copy_reg": "copyreg",
    "distutils": "setuptools",
    "htmlentitydefs": "html.entities",
    "httplib": "http.client",
    "imp": "importlib",
    "md5": "hashlib",
    "sets": "set",
    "sha": "hashlib",
    "thread": "threading",
    "urllib2": "urllib.request",
    "urlparse": "urllib.parse",
}
NAMES = {
    "basestring": "str",
    "cmp": "(a > b) - (a < b)",
    "execfile": "exec(open(path).read())",
    "file": "open",
    "long": "int",
    "raw_input": "input",
    "reduce": "functools.reduce",
    "reload": "importlib.reload",
    "unichr": "chr",
    "unicode": "str",
    "xrange": "range",
}
METHODS = {
    "has_key": "key in d",
    "iteritems": "d.items()",
    "iterkeys": "d.keys()",
    "itervalues": "d.values()",
}
# What scripts of TensorFlow 1 reach for first.
_TF1 = """
AdamOptimizer ConfigProto FileWriter FixedLenFeature GPUOptions GradientDescentOptimizer
GraphKeys InteractiveSession MomentumOptimizer Saver Session Supervisor TFRecordReader app
assign contrib decode_csv decode_raw estimator examples flags get_collection
get_default_graph get_variable gfile global_variables global_variables_initializer layers
local_variables_initializer log logging losses merge_all merge_all_summaries parse_example
parse_single_example placeholder python_io random_normal random_uniform reset_default_graph
scalar_summary set_random_seed sparse_placeholder trainable_variables truncated_normal
variable_scope
"""
TF1 = frozenset(_TF1.split())
