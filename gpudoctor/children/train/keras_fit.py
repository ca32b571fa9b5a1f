"""Counts a Keras model's training step with its backend's counters, in a scope in which variables get no values. Keras 3.

TensorFlow: `kept` are the tensors that what depends on the loss' gradient reads of what does not, which runs before. Constants are not of the step.
JAX: see jax_fit.py.
"""

import functools

ALIASING_OPERATIONS = ("Reshape", "Squeeze", "ExpandDims", "Identity", "StopGradient", "PreventGradient", "CheckNumerics")
"""Operations whose result shares the memory of their first input."""
HIDING_OPERATIONS = ("While", "StatelessWhile", "If", "StatelessIf", "Case", "StatelessCase")
"""Operations that compute what their graph does not show."""


class Engine:
    """Keras behind the interface of fit.py."""

    def __init__(self, options, refused, neighbour):
        import keras

        self._keras, self._options, self._refused, self._neighbour = keras, options, refused, neighbour
        if not hasattr(keras, "StatelessScope"):
            raise refused("needs Keras 3; this is Keras {}".format(keras.__version__))
        self._scope = keras.StatelessScope()

    def around(self, build):
        """The scope stays open: its end would give all variables their values."""
        self._scope.__enter__()
        self._keras.Variable.__init__ = without_value(self._keras.Variable.__init__)
        if self._options.precision in ("bf16", "fp16"):
            self._keras.config.set_dtype_policy({"bf16": "mixed_bfloat16", "fp16": "mixed_float16"}[self._options.precision])
        return build

    def owns(self, made):
        return isinstance(made, self._keras.Model)

    def count(self, made, batches):
        backend = self._keras.config.backend()
        count = getattr(self, "_" + backend, None)
        if count is None:
            raise self._refused("is a Keras model on {}, which cannot be traced: set KERAS_BACKEND to jax or tensorflow".format(backend))
        weights = set(map(id, made.weights))
        for batch in batches:
            inputs = self._inputs(made, batch)
            flat = self._keras.tree.flatten(inputs)
            facts = {
                "framework": self._keras.__name__,
                "version": "{} ({})".format(self._keras.__version__, backend),
                "sample": ", ".join("{} {}".format(one.dtype, "x".join(map(str, one.shape[1:]))).strip() for one in flat),
                "parameters": made.count_params(),
                "trainable": sum(element_count(variable.shape) for variable in made.trainable_variables),
                "buffer_bytes": sum(byte_count(variable) for variable in made.variables if id(variable) not in weights),
                "input_bytes": sum(map(byte_count, flat)),
            }
            yield batch, dict(facts, **count(made, inputs))

    def _inputs(self, model, batch):
        """Symbolic inputs with that batch, and --seq or --image for other open dimensions."""
        keras, options = self._keras, self._options
        inputs = getattr(model, "inputs", None)
        if not inputs and not (options.image or options.seq):
            raise self._refused("returned a model that is not built: start it with keras.Input, or give --image HxW or --seq L")
        if not inputs:
            shape, dtype = ((batch, *options.image, 3), "float32") if options.image else ((batch, options.seq), "int32")
            model(keras.KerasTensor(shape, dtype))
            return keras.KerasTensor(shape, dtype)
        sides = list(options.image or ([options.seq] if options.seq else []))

        def sized(one):
            given = iter(sides)
            shape = [batch, *(next(given, None) if side is None else side for side in one.shape[1:])]
            if None in shape:
                raise self._refused("has an input of shape {}: give --image HxW or --seq L".format(tuple(one.shape)))
            return keras.KerasTensor(shape, one.dtype)

        return sized(inputs[0]) if len(inputs) == 1 else keras.tree.map_structure(sized, model.input)

    def _loss(self, model, trained, fixed, inputs):
        """Cross entropy over classes or tokens, or the mean of squares of anything else, as a function of the variables' values."""
        ops = self._keras.ops
        output = self._keras.tree.flatten(model.stateless_call(trained, fixed, inputs, training=True)[0])[0]
        tokens = any("int" in str(one.dtype) for one in self._keras.tree.flatten(inputs))
        if len(output.shape) == 2 or (len(output.shape) > 2 and tokens):
            named = getattr(getattr(model.layers[-1], "activation", None), "__name__", "")
            labels = ops.zeros(output.shape[:-1], "int32")
            return ops.mean(self._keras.losses.sparse_categorical_crossentropy(labels, output, from_logits=named != "softmax"))
        return ops.mean(ops.square(ops.cast(output, "float32")))

    def _jax(self, model, inputs):
        import jax

        trained, fixed, batch = (
            jax.tree_util.tree_map(lambda one: jax.ShapeDtypeStruct(one.shape, one.dtype), part)
            for part in (model.trainable_variables, model.non_trainable_variables, inputs)
        )
        engine = self._neighbour(jax.__name__ + "_fit").Engine(self._options, self._refused, self._neighbour)
        counts = engine.counts_of_step(lambda params, given: self._loss(model, params, *given), trained, (fixed, batch))
        return {key: counts[key] for key in ("kept", "peak", "forward_flops", "flops")}

    def _tensorflow(self, model, inputs):
        import tensorflow as tf

        tf.config.run_functions_eagerly(True)  # or a tf.function would be one operation
        for layer in model._flatten_layers():  # noqa: SLF001 -- there is no public way to those inside of others
            if hasattr(layer, "unroll"):  # a loop keeps as much for each sample
                layer.unroll = True
        graph = tf.__internal__.FuncGraph("step")  # unlike tf.Graph it takes constants that layers made eagerly
        with graph.as_default():
            trained, fixed = ([placeholder(tf, one) for one in part] for part in (model.trainable_variables, model.non_trainable_variables))
            loss = self._loss(model, trained, fixed, self._keras.tree.map_structure(functools.partial(placeholder, tf), inputs))
            start = placeholder(tf, loss)
            gradients = [gradient for gradient in tf.gradients(loss, trained, start) if gradient is not None]
        own, forward = {one.op for one in (*trained, *fixed)}, with_all_read([loss.op])
        varying = with_all_after(
            [operation for operation in graph.get_operations() if operation.type == "Placeholder" or operation.op_def.is_stateful], graph
        )
        run = forward | with_all_read(
            getattr(gradient, "values", gradient).op for gradient in gradients
        )  # of an embedding, values by index
        backward = with_all_after([start.op], graph) & run
        hidden = sorted({one.type for one in backward}.intersection(HIDING_OPERATIONS))
        if hidden:
            told = "trains through {} of TensorFlow, whose steps its graph does not show: unroll it, or set KERAS_BACKEND to jax"
            raise self._refused(told.format(hidden[0]))
        scaled = {product for one in backward for product in scaled_products(one, run) if product.inputs[1].op not in backward}
        read = [tensor for one in backward for tensor in (one.inputs[:1] if one in scaled else one.inputs) if tensor.op not in backward]
        kept = {
            one.ref(): one
            for one in map(memory_owner, read)
            if one.shape.is_fully_defined() and before_cast(one.op) not in own and one.op in varying
        }
        return {
            "forward_flops": sum(map(operation_flops, forward)),
            "flops": sum(map(operation_flops, run)),
            "kept": sum(map(byte_count, (*kept.values(), *(one.inputs[1] for one in scaled)))),
            "peak": None,
        }


def without_value(make):
    """Variable's __init__, for which a value is what an initializer returns: in the scope it refuses values, such as an optimizer's learning rate."""

    def made(variable, initializer, shape=None, *others, **named):
        if callable(initializer):
            return make(variable, initializer, shape, *others, **named)
        return make(variable, lambda *_, **__: initializer, getattr(initializer, "shape", ()), *others, **named)

    return made


def with_all_read(operations):
    """Operations and all that they read, directly or not: others are in the graph, but never run."""
    found, left = set(), list(operations)
    while left:
        operation = left.pop()
        if operation not in found:
            found.add(operation)
            left += [tensor.op for tensor in operation.inputs]
    return found


def with_all_after(starts, graph):
    """Operations and all that cannot run before one of them."""
    found = set(starts)
    for operation in graph.get_operations():  # each after what it reads
        if not found.isdisjoint((*(read.op for read in operation.inputs), *operation.control_inputs)):
            found.add(operation)
    return found


def before_cast(operation):
    """What made the value, in whichever type."""
    return operation.inputs[0].op if operation.type == "Cast" else operation


def scaled_products(operation, run):
    """The product x y in (x y) c, if c is constant. TensorFlow turns it into x (y c), so y c is made in forward if y is.

    https://github.com/tensorflow/tensorflow/blob/master/tensorflow/core/grappler/optimizers/constant_folding.cc (ConstantPushDown)
    """
    parts = [tensor.op for tensor in operation.inputs] if operation.type == "Mul" else []
    if any(before_cast(part).type == "Const" for part in parts):
        return [part for part in parts if part.type == "Mul" and run.intersection(part.outputs[0].consumers()) == {operation}]
    return []


def placeholder(tf, like):
    """A tensor without a value."""
    return tf.compat.v1.placeholder(like.dtype, like.shape)


def memory_owner(tensor):
    """The tensor whose memory this one shares."""
    same = passed_on_inputs(tensor.op)
    return memory_owner(same[0]) if same else tensor


def passed_on_inputs(operation):
    """The input that an operation returns as it is, in a list that is empty if it has none. The optimizer of graphs drops products with 1."""
    from tensorflow import get_static_value

    if operation.type != "Mul":
        return operation.inputs[:1] if operation.type in ALIASING_OPERATIONS else []
    return [
        tensor
        for tensor, other in zip(operation.inputs, operation.inputs[::-1])
        if other.op.type == "Const" and get_static_value(other).tolist() == 1
    ]


def element_count(shape):
    """How many values that shape has."""
    return functools.reduce(int.__mul__, map(int, shape), 1)


def byte_count(one):
    """Bytes of a tensor or variable."""
    import ml_dtypes  # noqa: F401 -- which makes bfloat16 known to NumPy
    import numpy as np

    return element_count(one.shape) * np.dtype(getattr(one.dtype, "name", one.dtype)).itemsize


def operation_flops(operation):
    """Two for each multiply-add of a matmul or convolution. The graph's profiler skips einsum and approximates strided convolutions."""
    kind, shapes = operation.type, [tensor.shape for tensor in operation.inputs]
    if kind == "Einsum":
        terms = operation.get_attr("equation").decode().partition("->")[0].split(",")
        sizes = {label: int(side) for term, shape in zip(terms, shapes) for label, side in zip(term, shape)}
        return 2 * element_count(sizes.values())
    if "MatMul" in kind:
        turned = any(operation.get_attr(name) for name in ("transpose_a", "adj_x") if name in operation.node_def.attr)
        return 2 * element_count(operation.outputs[0].shape) * int(shapes[0][-2 if turned else -1])
    if not kind.startswith(("Conv", "DepthwiseConv")):
        return 0
    made = operation.outputs[0].shape
    weights, output = {"Input": (shapes[1], shapes[-1]), "Filter": (made, shapes[-1])}.get(kind.partition("Backprop")[2], (shapes[1], made))
    return 2 * element_count(output) * element_count(weights[:-2]) * (1 if kind.startswith("Depthwise") else int(weights[-2]))
