import cPickle
import os


def make(path):
    """Sentences about weather and about food; the label says which."""
    weather, food = u'sun rain wind cloud'.split(), u'rice soup bread tea'.split()
    pairs = []
    for i in xrange(120):
        words = food if i % 2 else weather
        pairs.append((' '.join(words[(i / 2 + j) % 4] for j in xrange(3)), i % 2))
    if not os.path.isdir(path):
        os.makedirs(path, 0755)
    with open(os.path.join(path, 'pairs.pkl'), 'wb') as f:
        cPickle.dump(pairs, f, -1)


def load(path):
    try:
        f = file(os.path.join(path, 'pairs.pkl'), 'rb')
    except IOError, e:
        print 'no data:', e
        raise
    pairs = cPickle.load(f)
    f.close()
    vocabulary = {}
    for text, _ in pairs:
        for word in text.split():
            if not vocabulary.has_key(word):
                vocabulary[word] = len(vocabulary)
    return pairs, vocabulary
