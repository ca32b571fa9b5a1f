"""Counts a training step of (loss function, params, batch) by shapes alone. Tested with JAX 0.6 and 0.12.

FLOPs are those of every matmul and convolution that the gradient needs. `kept` is what autodiff saves for backward. `peak` is what XLA
allocates for the compiled gradient beside its arguments and the gradients; it fuses and recomputes, so this can be less. For inference `alive` is what it
allocates for the compiled loss. The compiler is the CPU's.
"""

import math

VALUE_ERRORS = ("ConcretizationTypeError", "TracerArrayConversionError", "TracerIntegerConversionError", "NonConcreteBooleanIndexError")
"""The errors for values of arrays that are only traced."""
REFUSAL = "has a loss that depends on values of arrays, so jax.jit cannot compile it: use jnp.where, jax.lax.cond or a fixed size"


class Engine:
    """JAX behind the interface of fit.py."""

    def __init__(self, options, refused, _neighbour):
        import jax

        self._jax, self._options, self._refused = jax, options, refused
        self._unknown = tuple(getattr(jax.errors, name) for name in VALUE_ERRORS)

    def around(self, build):
        kept = []

        def parts():
            kept[:] = [build()]
            return kept[0][1:] if self.owns(kept[0]) else ()

        def traced():
            try:
                shapes = self._jax.eval_shape(parts)
            except self._unknown:  # what it builds depends on values, such as those of linspace
                return build()
            return (kept[0][0], *shapes) if self.owns(kept[0]) else kept[0]

        return traced

    def owns(self, made):
        return isinstance(made, tuple) and len(made) == 3 and callable(made[0])

    def count(self, made, batches):
        jax, (loss, params, example) = self._jax, made
        weights = jax.tree_util.tree_map(lambda parameter: self._shape_in_precision(parameter, parameter.shape), params)
        leaves, tree = jax.tree_util.tree_flatten(example)
        if not leaves or not leaves[0].ndim:
            raise self._refused("returned a batch without a batch dimension")
        before = leaves[0].shape[0]
        for batch in batches:
            sized = [
                self._shape_in_precision(leaf, (batch, *leaf.shape[1:]) if leaf.ndim and leaf.shape[0] == before else leaf.shape)
                for leaf in leaves
            ]
            try:
                yield batch, self.counts_of_step(loss, weights, jax.tree_util.tree_unflatten(tree, sized))
            except self._unknown as error:
                raise self._refused(REFUSAL) from error

    def counts_of_step(self, loss, params, batch):
        """The counts for params and batch as shapes."""
        jax = self._jax
        leaves, inputs = jax.tree_util.tree_leaves(params), jax.tree_util.tree_leaves(batch)
        count, gradients, convolutions = sum(leaf.size for leaf in leaves), sum(map(byte_count, leaves)), {}
        run = loss if self._options.infer else jax.value_and_grad(loss)
        memory = jax.jit(run).lower(params, batch).compile().memory_analysis()
        made = memory.temp_size_in_bytes + memory.output_size_in_bytes if memory else None
        if self._options.infer:
            own = {"kept": 0, "peak": 0, "alive": made if made is None else made + sum(map(byte_count, inputs))}
        else:
            own = {"kept": self._residual_bytes(loss, params, batch), "peak": made if made is None else max(0, made - gradients)}
        return {
            "framework": jax.__name__,
            "version": jax.__version__,
            "sample": ", ".join("{} {}".format(tensor.dtype, "x".join(map(str, tensor.shape[1:]))).strip() for tensor in inputs),
            "parameters": count,
            "trainable": count,
            "buffer_bytes": 0,
            "input_bytes": sum(map(byte_count, inputs)),
            "forward_flops": flops_of_jaxpr(jax.make_jaxpr(loss)(params, batch).jaxpr, convolutions),
            "flops": flops_of_jaxpr(jax.make_jaxpr(run)(params, batch).jaxpr, convolutions),
            **own,
        }

    def _shape_in_precision(self, one, shape):
        dtype = {"bf16": "bfloat16", "fp16": "float16"}.get(self._options.precision)
        floating = self._jax.numpy.issubdtype(one.dtype, self._jax.numpy.floating)
        return self._jax.ShapeDtypeStruct(shape, dtype if dtype and floating else one.dtype)

    def _residual_bytes(self, loss, params, batch):
        """Bytes of residuals, each once. Those that are params are told by identity; constants are no tracers."""
        jax = self._jax

        def residuals(params, batch):
            _, backward = jax.vjp(lambda weights: loss(weights, batch), params)
            known = {id(leaf) for leaf in jax.tree_util.tree_leaves(params)}
            traced = [leaf for leaf in jax.tree_util.tree_leaves(backward) if isinstance(leaf, jax.core.Tracer)]
            return list({id(one): one for one in traced if id(one) not in known}.values())

        return sum(map(byte_count, jax.eval_shape(residuals, params, batch)))


def byte_count(shape):
    """Bytes of an array of that shape and type."""
    return shape.size * shape.dtype.itemsize


def flops_of_jaxpr(jaxpr, convolutions):
    """Two for each multiply-add of matmul and convolution that an output depends on; a loop whose end is not known runs once.

    `convolutions` are the forward ones by the sizes of their arrays, in any order: each gradient of one has the same sizes and costs the same,
    while its own shape would also count the zeros between and around its values.
    """
    needed, total = set(map(id, jaxpr.outvars)), 0
    for equation in reversed(jaxpr.eqns):
        if not needed.intersection(map(id, equation.outvars)):
            continue
        needed.update(map(id, equation.invars))
        name, parameters = equation.primitive.name, equation.params
        *shapes, made = [getattr(one.aval, "shape", ()) for one in (*equation.invars, equation.outvars[0])]
        if name in ("dot_general", "ragged_dot_general"):
            total += 2 * math.prod(shapes[0]) * math.prod(output_sides(shapes[1], parameters))
        elif name == "conv_general_dilated":
            own = 2 * math.prod(made) * math.prod(shapes[1]) // shapes[1][parameters["dimension_numbers"].rhs_spec[0]]
            total += convolutions.setdefault(tuple(sorted(map(math.prod, (*shapes, made)))), own)
        else:
            parts = [flops_of_jaxpr(part, convolutions) for part in inner_jaxprs(parameters)]
            total += (max if name == "cond" else sum)(parts or [0]) * parameters.get("length", 1)
    return total


def output_sides(second, parameters):
    """The sides of a matmul's second array that are neither summed nor shared with the first, nor count groups of rows."""
    ragged = parameters.get("ragged_dot_dimension_numbers")
    (_, summed), (_, shared) = ragged.dot_dimension_numbers if ragged else parameters["dimension_numbers"]
    groups = ragged.rhs_group_dimensions if ragged else ()
    return [side for place, side in enumerate(second) if place not in (*summed, *shared, *groups)]


def inner_jaxprs(parameters):
    """The jaxprs among an equation's parameters: of functions, loops and branches."""
    for value in parameters.values():
        for one in value if isinstance(value, (tuple, list)) else (value,):
            jaxpr = getattr(one, "jaxpr", one)
            if hasattr(jaxpr, "eqns"):
                yield jaxpr
