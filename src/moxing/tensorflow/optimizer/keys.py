"""The names of optimizers and of wrappers, as scripts write them."""


class OptimizerKeys:
    ADADELTA = "adadelta"
    ADAGRAD = "adagrad"
    ADAM = "adam"
    FTRL = "ftrl"
    MOMENTUM = "momentum"
    RMSPROP = "rmsprop"
    SGD = "sgd"


class OptimizerWrapperKeys:
    BATCH_GRADIENTS = "batch_gradients"
    EASGD = "easgd"
    LARS = "lars"
