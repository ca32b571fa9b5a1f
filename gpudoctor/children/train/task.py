"""The task of every smoke training: one small problem with known answers. Python 3.6 and newer; NumPy is passed in.

The data. Images of 28 x 28 pixels in ten equally frequent classes: Gaussian noise (mean 0, deviation 1), and one rectangle of
14 x 5 pixels, different for each class, brighter by CONTRAST. The ten mean images are orthogonal and equally long (d = CONTRAST x sqrt(70)
deviations), so the best classifier is right with the probability that communication theory gives for ten orthogonal signals,
P = integral of phi(z) Phi(z + d)^9 dz (Proakis, Digital Communications, orthogonal signalling): 0.99999. NumPy guarantees RandomState's
stream (NEP 19), so every version of NumPy generates the same images, initial weights and batches.

Expected results. The network 784-128-10 (tanh; Adam, rate 0.001) has a loss of 2.649 with its initial weights; its mean over steps 1 to 10
is 2.0487 and over the last ten of STEPS 0.00129, with an accuracy of 1.0 on the 2,000 held-out images; after SHORT_STEPS 0.0412 and 0.9995.
TensorFlow 2.12, 2.15, 2.16, 2.18 and 2.21 agree in all digits shown; TF32 changes the fourth. Shuffled labels give 0.5 and 0.1. A healthy
run therefore ends at most at 0.01 with at least 0.99 (at most 0.1 and at least 0.98 after SHORT_STEPS).

The convolutional network has 32 filters of 5 x 5 and 64 of 3 x 3, both with stride 2 and without padding, tanh after each, and one dense layer
1600-10. With the same optimiser its loss falls from 2.33 to a mean of 0.038 over the last ten of its CONVOLUTIONAL_STEPS; its accuracy reaches
0.996. With stride 2 cuDNN has neither FFT nor Winograd algorithms (its documentation, cudnnConvolutionFwdAlgo_t and those for the
gradients), whose transformed sums would round differently from the plain ones that the tolerances are derived for.

The tolerances of the comparison with the CPU. Two devices add the same terms in different orders and round pow and tanh differently, so their
float32 results differ (unit roundoff u = 2^-24); a worst-case bound through ten steps would be uselessly wide, so each tolerance lies
about midway, in orders of magnitude, between correct and wrong devices. tests/smoke/test_task.py recomputes both with NumPy:

                                                           dense                convolutional
                                                             loss      weights    loss      weights
    sums in other orders, against float64, at most           7.0e-7     6.0e-8    3.0e-7     5.0e-8
    tanh 8 units in the last place off, at most              1.5e-6     7.0e-8    1.0e-6     3.5e-8
    pow 10 units off, at most                                4.9e-6     9.9e-8    3.0e-6     1.3e-7
    TensorFlow compiled by XLA, against its own kernels      2.4e-7     3.8e-8    5.0e-7     5.0e-8
    tolerance                                                1.0e-5     1.0e-6    1.0e-5     1.0e-6
        TF32 matmul (10 bits of fraction), at least              4.0e-5     1.0e-5    2.4e-5     1.2e-5
        one row of each matmul wrong by 1 %, at least            1.0e-4     2.5e-5    7.0e-5     1.8e-5

Three choices keep these differences small and similar everywhere. tanh has no kink: with ReLU, a unit within rounding of 0 on one device only
changes the gradient by a whole image's share. Adam's epsilon is 1e-3, a tenth of a typical gradient here: Adam divides a gradient by its
own size, so with the usual 1e-7 a weight whose gradient is all rounding moves by up to the whole rate. And its second decay is 0.9: frameworks
compute 1 - decay^step in float32, where one unit in the last place of 0.999 changes the first step by 3e-5 of its length.

The tolerance of one matmul. Whatever the order of summation, with or without fused multiply-add, |computed - exact| <= n u / (1 - n u) x (|A| |B|)
element by element, for n terms (Higham, Accuracy and Stability of Numerical Algorithms, section 3.5). The error here is divided by (|A| |B|); one row
wrong by 1 % gives at least ten times the bound, TF32 three times.
"""

import functools
import math
import typing

SIDE = 28
PIXELS = SIDE * SIDE
CLASSES = 10
HIDDEN = 128
PATCH_ROWS, PATCH_COLUMNS = 14, 5
CONTRAST = 0.8

TRAINING_IMAGES = 4096
TEST_IMAGES = 2000
BATCH = 128
STEPS = 300
SHORT_STEPS = 50
CONVOLUTIONAL_STEPS = 60
BLOCK = 10
"""Steps whose losses are averaged into one number."""
LEARNING_RATE = 1e-3
DECAYS = (0.9, 0.9)
EPSILON = 1e-3

COMPARED_STEPS = 10
LOSS_TOLERANCE = 1e-5
WEIGHT_TOLERANCE = 1e-6

STRIDE = 2


class Network(typing.NamedTuple):
    """A network to train. `shapes` are those of its kernels: height, width, inputs, outputs, or inputs, outputs."""

    name: str
    shapes: tuple
    seed: int
    steps: int
    short_steps: int


DENSE = Network("dense", ((PIXELS, HIDDEN), (HIDDEN, CLASSES)), 2, STEPS, SHORT_STEPS)
CONVOLUTIONAL = Network("convolutional", ((5, 5, 1, 32), (3, 3, 32, 64), (1600, CLASSES)), 4, CONVOLUTIONAL_STEPS, CONVOLUTIONAL_STEPS)
NETWORKS = (DENSE, CONVOLUTIONAL)
SPEED_BATCH = 1024
"""Images in a step of the speed comparison with the CPU: enough that launching kernels does not dominate a GPU's time."""

PRODUCT_SIZE = 256
UNIT_ROUNDOFF = 2.0**-24


@functools.lru_cache(maxsize=None)
def images(np, count, seed):
    """`count` images as float32 (count, 28, 28) and their classes as int32 (count,), in random order."""
    random = np.random.RandomState(seed)
    labels = random.permutation(count) % CLASSES
    pixels = random.standard_normal((count, SIDE, SIDE)).astype(np.float32)
    for label in range(CLASSES):
        top, left = PATCH_ROWS * (label // 5), 1 + PATCH_COLUMNS * (label % 5)
        pixels[labels == label, top : top + PATCH_ROWS, left : left + PATCH_COLUMNS] += np.float32(CONTRAST)
    return pixels, labels.astype(np.int32)


def training_images(np):
    return images(np, TRAINING_IMAGES, seed=0)


def test_images(np):
    """The held-out images to measure accuracy on."""
    return images(np, TEST_IMAGES, seed=1)


def batches(np, steps):
    """`steps` batches, the same in every run."""
    pixels, labels = training_images(np)
    for step in range(steps):
        first = step * BATCH % TRAINING_IMAGES
        yield pixels[first : first + BATCH], labels[first : first + BATCH]


def initial_weights(np, network):
    """Kernel and bias of each layer, float32, Glorot's uniform distribution: dense (784, 128), (128,), (128, 10), (10,)."""
    random = np.random.RandomState(network.seed)
    weights = []
    for shape in network.shapes:
        area = int(np.prod(shape[:-2]))
        limit = math.sqrt(6.0 / (area * (shape[-2] + shape[-1])))
        weights.append(random.uniform(-limit, limit, shape).astype(np.float32))
        weights.append(np.zeros(shape[-1], np.float32))
    return weights


def expected_accuracy():
    """The accuracy of the best possible classifier for this data, 0 to 1."""
    distance, step = CONTRAST * math.sqrt(PATCH_ROWS * PATCH_COLUMNS), 0.01
    total = 0.0
    for point in range(-800, 801):
        z = point * step
        below = 0.5 * math.erfc(-(z + distance) / math.sqrt(2.0))
        total += math.exp(-z * z / 2.0) * below ** (CLASSES - 1)
    return total * step / math.sqrt(2.0 * math.pi)


def factors(np):
    """Two float32 matrices of 256 x 256 to multiply."""
    random = np.random.RandomState(3)
    shape = (PRODUCT_SIZE, PRODUCT_SIZE)
    return random.standard_normal(shape).astype(np.float32), random.standard_normal(shape).astype(np.float32)


def product_error(np, left, right, product):
    """The largest |product - left right| / (|left| |right|) over all elements, computed in float64, and its bound for float32."""
    left, right = left.astype(np.float64), right.astype(np.float64)
    error = np.abs(product - left @ right) / (np.abs(left) @ np.abs(right))
    rounding = left.shape[1] * UNIT_ROUNDOFF
    return float(error.max()), rounding / (1.0 - rounding)


def largest_difference(np, ones, others):
    """The largest absolute difference between two lists of arrays or numbers; NaN if anything is NaN."""
    pairs = [np.abs(np.subtract(one, other, dtype=np.float64)).max() for one, other in zip(ones, others)]
    return float(np.max(pairs))
