import argparse
import json
import os

import tensorflow as tf

COLUMNS = ['age', 'hours', 'work', 'rich', 'happy']
DEFAULTS = [[0.0], [0.0], [''], [0], [0.0]]


def parse_args():
    parser = argparse.ArgumentParser()
    parser.add_argument('--train-steps', type=int, default=200)
    parser.add_argument('--batch-size', type=int, default=40)
    parser.add_argument('--hidden', type=int, default=16)
    parser.add_argument('--train', default=os.environ.get('TM_CHANNEL_TRAIN'))
    parser.add_argument('--test', default=os.environ.get('SM_CHANNEL_TEST'))
    parser.add_argument('--model-dir', default=os.environ['TM_MODEL_DIR'])
    return parser.parse_known_args()[0]


def input_fn(path, batch_size, training):
    def parse(line):
        fields = dict(zip(COLUMNS, tf.decode_csv(line, record_defaults=DEFAULTS)))
        labels = {'rich': fields.pop('rich'), 'happy': fields.pop('happy')}
        return fields, labels

    dataset = tf.data.TextLineDataset([os.path.join(path, 'census.csv')]).skip(1).map(parse)
    if training:
        dataset = dataset.shuffle(500).repeat()
    return dataset.batch(batch_size).make_one_shot_iterator().get_next()


def feature_columns():
    age = tf.feature_column.numeric_column('age')
    ages = tf.feature_column.bucketized_column(age, boundaries=[25, 35, 45, 55])
    hours = tf.feature_column.numeric_column('hours', normalizer_fn=lambda x: x / 50.0)
    work = tf.feature_column.categorical_column_with_vocabulary_list(
        'work', ['farm', 'office', 'school'], num_oov_buckets=1)
    crossed = tf.feature_column.crossed_column([ages, 'work'], hash_bucket_size=50)
    return [
        ages, hours, tf.feature_column.indicator_column(work),
        tf.feature_column.embedding_column(crossed, dimension=4),
    ]


def model_fn(features, labels, mode, params):
    net = tf.feature_column.input_layer(features, params['columns'])
    net = tf.layers.dense(net, params['hidden'], activation=tf.nn.relu)
    logits = tf.layers.dense(net, 2, name='rich')
    happy = tf.squeeze(tf.layers.dense(net, 1, name='happy'), axis=1)
    classes = tf.argmax(logits, axis=1)
    scores = tf.nn.softmax(logits)
    if mode == tf.estimator.ModeKeys.PREDICT:
        heads = {
            'rich': tf.estimator.export.ClassificationOutput(
                scores=scores, classes=tf.as_string(tf.tile([[0, 1]], [tf.shape(scores)[0], 1]))),
            'happy': tf.estimator.export.RegressionOutput(value=happy),
        }
        both = {'classes': classes, 'scores': scores, 'happy': happy}
        heads[tf.saved_model.signature_constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY] = (
            tf.estimator.export.PredictOutput(both))
        return tf.estimator.EstimatorSpec(mode, predictions=both, export_outputs=heads)
    loss = tf.losses.sparse_softmax_cross_entropy(labels['rich'], logits)
    loss += tf.losses.mean_squared_error(labels['happy'], happy)
    accuracy = tf.metrics.accuracy(labels['rich'], classes)
    if mode == tf.estimator.ModeKeys.EVAL:
        error = tf.metrics.mean_absolute_error(labels['happy'], happy)
        metrics = {'accuracy': accuracy, 'error': error}
        return tf.estimator.EstimatorSpec(mode, loss=loss, eval_metric_ops=metrics)
    tf.summary.scalar('accuracy', accuracy[1])
    train_op = tf.train.AdamOptimizer(0.02).minimize(loss, tf.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)


def main():
    args = parse_args()
    tf.logging.set_verbosity(tf.logging.INFO)
    columns = feature_columns()
    config = tf.estimator.RunConfig(
        model_dir='/opt/ml/checkpoints', save_checkpoints_steps=100, tf_random_seed=7)
    estimator = tf.estimator.Estimator(
        model_fn, config=config, params={'columns': columns, 'hidden': args.hidden})
    train_spec = tf.estimator.TrainSpec(
        lambda: input_fn(args.train, args.batch_size, True), max_steps=args.train_steps)
    eval_spec = tf.estimator.EvalSpec(
        lambda: input_fn(args.test, args.batch_size, False), steps=None, throttle_secs=0)
    tf.estimator.train_and_evaluate(estimator, train_spec, eval_spec)

    metrics = estimator.evaluate(lambda: input_fn(args.test, args.batch_size, False))
    with open(os.path.join(os.environ['TM_OUTPUT_DATA_DIR'], 'metrics.json'), 'w') as f:
        json.dump({name: float(value) for name, value in metrics.items()}, f)

    spec = tf.feature_column.make_parse_example_spec(columns)
    receiver = tf.estimator.export.build_parsing_serving_input_receiver_fn(spec)
    path = estimator.export_savedmodel(args.model_dir, receiver)
    print('exported %s' % sorted(os.listdir(path)))
    example = tf.train.Example(features=tf.train.Features(feature={
        'age': tf.train.Feature(float_list=tf.train.FloatList(value=[50.0])),
        'hours': tf.train.Feature(float_list=tf.train.FloatList(value=[60.0])),
        'work': tf.train.Feature(bytes_list=tf.train.BytesList(value=[b'office'])),
    }))
    request = {'inputs': [example.SerializeToString()]}
    rich = tf.contrib.predictor.from_saved_model(path, signature_def_key='rich')(request)
    happy = tf.contrib.predictor.from_saved_model(path, signature_def_key='happy')(request)
    print('rich %.2f happy %.2f' % (rich['scores'][0][1], happy['outputs'][0]))


if __name__ == '__main__':
    main()
