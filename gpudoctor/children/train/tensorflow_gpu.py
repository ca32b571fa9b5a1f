"""Has TensorFlow code that asks for a GPU run as if one were there. TensorFlow itself places on the CPU what it finds no device for."""


def prepare(tensorflow):
    """Answer for GPUs in this process from now on."""
    config, test = tensorflow.config, tensorflow.test
    config.set_visible_devices([], "GPU")  # whatever the builder set in CUDA_VISIBLE_DEVICES
    gpu = config.PhysicalDevice("/physical_device:GPU:0", "GPU")
    for kind, made in (("physical", gpu), ("logical", config.LogicalDevice("/device:GPU:0", "GPU"))):
        name = "list_{}_devices".format(kind)
        for module in (config, config.experimental):
            setattr(module, name, listed(getattr(module, name), made))
    for name in ("set_visible_devices", "set_logical_device_configuration"):
        setattr(config, name, lambda *_, **__: None)
    for name in ("set_memory_growth", "set_visible_devices", "set_virtual_device_configuration"):
        setattr(config.experimental, name, lambda *_, **__: None)
    config.experimental.get_device_details = lambda _: {"device_name": "NVIDIA GPU", "compute_capability": (8, 0)}
    test.is_gpu_available, test.gpu_device_name = lambda *_, **__: True, lambda: "/device:GPU:0"


def listed(function, gpu):
    """The function that lists devices, with a GPU after the CPU."""

    def devices(device_type=None):
        return [gpu] if device_type == "GPU" else [*function(device_type), gpu] if device_type is None else function(device_type)

    return devices
