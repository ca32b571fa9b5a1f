"""Counts a training step of (loss function, params, batch) by shapes alone. Tested with JAX 0.6 and 0.12.

`kept` and `peak` are what XLA allocates for the compiled gradient beside its arguments and the gradients: it fuses and recomputes, so it holds less than
autodiff saves, which is `kept` where XLA does not tell. FLOPs are XLA's own count, which includes elementwise operations. The compiler is the CPU's.
"""


class Engine:
    """JAX behind the interface of fit.py."""

    def __init__(self, options, refused, _neighbour):
        import jax

        self._jax, self._options, self._refused = jax, options, refused

    def around(self, build):
        kept = []

        def parts():
            kept[:] = [build()]
            return kept[0][1:] if self.owns(kept[0]) else ()

        def traced():
            shapes = self._jax.eval_shape(parts)
            return (kept[0][0], *shapes) if self.owns(kept[0]) else kept[0]

        return traced

    def owns(self, made):
        return isinstance(made, tuple) and len(made) == 3 and callable(made[0])

    def count(self, made, batches):
        jax, (loss, params, example) = self._jax, made
        weights = jax.tree_util.tree_map(lambda one: self._like(one, one.shape), params)
        leaves, tree = jax.tree_util.tree_flatten(example)
        if not leaves or not leaves[0].ndim:
            raise self._refused("returned a batch without a batch dimension")
        before = leaves[0].shape[0]
        for batch in batches:
            sized = [self._like(one, (batch, *one.shape[1:]) if one.ndim and one.shape[0] == before else one.shape) for one in leaves]
            yield batch, self.counts(loss, weights, jax.tree_util.tree_unflatten(tree, sized))

    def counts(self, loss, params, batch):
        """The counts for params and batch as shapes."""
        jax = self._jax
        gradient = jax.jit(jax.value_and_grad(loss)).lower(params, batch)
        memory = gradient.compile().memory_analysis()
        leaves, inputs = jax.tree_util.tree_leaves(params), jax.tree_util.tree_leaves(batch)
        count, gradients = sum(one.size for one in leaves), sum(map(size, leaves))
        peak = max(0, memory.temp_size_in_bytes + memory.output_size_in_bytes - gradients) if memory else None
        return {
            "framework": jax.__name__,
            "version": jax.__version__,
            "sample": ", ".join("{} {}".format(one.dtype, "x".join(map(str, one.shape[1:]))).strip() for one in inputs),
            "parameters": count,
            "trainable": count,
            "buffer_bytes": 0,
            "input_bytes": sum(map(size, inputs)),
            "kept": self._saved(loss, params, batch) if peak is None else peak,
            "peak": peak,
            "forward_flops": flops(jax.jit(loss).lower(params, batch)),
            "flops": flops(gradient),
        }

    def _like(self, one, shape):
        dtype = {"bf16": "bfloat16", "fp16": "float16"}.get(self._options.precision)
        floating = self._jax.numpy.issubdtype(one.dtype, self._jax.numpy.floating)
        return self._jax.ShapeDtypeStruct(shape, dtype if dtype and floating else one.dtype)

    def _saved(self, loss, params, batch):
        """Residuals that are params themselves are told by identity."""
        jax = self._jax

        def residuals(params, batch):
            _, backward = jax.vjp(lambda weights: loss(weights, batch), params)
            known = {id(one) for one in jax.tree_util.tree_leaves(params)}
            return list({id(one): one for one in jax.tree_util.tree_leaves(backward) if id(one) not in known}.values())

        return sum(map(size, jax.eval_shape(residuals, params, batch)))


def size(shape):
    """Bytes of an array of that shape and type."""
    return shape.size * shape.dtype.itemsize


def flops(lowered):
    """XLA's count; older releases give a list."""
    cost = lowered.cost_analysis()
    return int((cost[0] if isinstance(cost, list) else cost)["flops"])
