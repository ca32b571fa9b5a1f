"""NVML's answers about the driver and each GPU, through NVIDIA's own binding. Runs under gpudoctor's interpreter with -I -S.

A failed call costs its own field, a lost GPU its own answers. A mark before each call names it in case of a hang.
"""

import gc
import sys

sys.path.insert(0, __file__.rpartition("/")[0] + "/../target")
sys.path.insert(0, __file__.rpartition("/")[0])
import gpudoctor_answer as answer
from nvml_counters import FIELDS, PCIE_REPLAYS, SINGLE, Counters
from nvml_details import HELD_FIELDS, Details
from nvml_library import Nvml, Record, load
from nvml_links import LINK_COUNT, Links
from nvml_questions import ANCESTORS, LICENCES, MIG_QUESTIONS, P2P, QUESTIONS, cuda, licences, number, text, truth, word

del sys.path[:2]
gc.disable()  # it would take two of forty milliseconds

# nvml.h, nvmlReturn_t
INVALID_ARGUMENT, NOT_FOUND = 2, 6
VGPU, P2P_READ = "vgpu", 0
PAIR_QUESTIONS = (
    ("ancestor", ("nvmlDeviceGetTopologyCommonAncestor",), word(ANCESTORS)),
    ("p2p", ("nvmlDeviceGetP2PStatus", P2P_READ), word(P2P)),
)
UNTOLD = ("gpus", "pairs", "confidential", "confidential_ready", "alarms")  # without nvmlInit
MOST_INSTANCES = 64  # a GPU has seven slices


def filled(fields, values):
    """The values by field; a missing value applies to each."""
    return dict(zip(fields, [values] * len(fields) if isinstance(values, dict) else values))


class Gpu:
    """One GPU, by its index."""

    def __init__(self, nvml, index):
        self.nvml, self.index = nvml, index
        self.record = nvml.record = Record()
        handle = nvml.ask((("nvmlDeviceGetHandleByIndex", index),), lambda value: (value,), devices=(index,))
        self.open = not isinstance(handle, dict)
        self.handle = handle
        self.counters = Counters(nvml.pynvml, handle, self.ask, nvml.failure)
        self.links = Links(self.ask, self.counters.read)
        self.details = Details(self.ask, "--identify" in sys.argv)

    def ask(self, calls, convert, *, quiet=False):
        return self.nvml.ask(calls, convert, self.handle, (self.index,), quiet=quiet)

    def tell(self, told):
        answer.say(dict(told, type="nvml-gpu", index=self.index))

    def describe(self):
        if not self.open:
            asked = [field for fields, _, _ in QUESTIONS for field in fields] + FURTHER
            self.tell(dict.fromkeys(asked, self.handle))
        else:
            known = {}
            for fields, calls, convert in QUESTIONS:
                told = filled(fields, self.ask(calls, convert))
                known.update(told)
                self.tell(told)
            read = self.counters.read([*FIELDS, LINK_COUNT, *self.details.fields(known["ecc_enabled"])])
            self.tell(self.counters.all(read))
            for told in self.links.all(read[LINK_COUNT]):
                self.tell(told)
            for told in self.details.all(known["ecc_enabled"], read):
                self.tell(told)
            for told in self.further(known):
                self.tell(told)
        self.tell(self.record.told())

    def look_again(self):
        """Read again what should not grow, and report the errors of all calls about this GPU since it was described."""
        self.nvml.record = self.record
        read = self.counters.read([PCIE_REPLAYS, *HELD_FIELDS.values(), *self.links.places(self.links.growing())])
        self.tell(dict(self.links.again(read), pcie_replays_later=read[PCIE_REPLAYS], held_back_later=self.details.held(read)))
        told = self.record.told()
        if self.counters.refusal and self.counters.answered:
            told["refusals"] = answer.missing("failed", "the GPU answered at first, and then %s" % self.counters.refusal["reason"])
        self.tell(told)

    def further(self, known):
        """Yield what only some GPUs have."""
        yield filled(("licences",), self.ask(LICENCES, licences)) if known["virtualization"] == VGPU else {"licences": []}
        yield {"mig_instances": self.instances() if known["mig_enabled"] is True else []}
        if known["compute_processes"] and isinstance(known["compute_processes"], list):
            answer.flush()  # the names set no mark
            yield {"compute_processes": [dict(one, name=self.process_name(one["pid"])) for one in known["compute_processes"]]}

    def process_name(self, pid):
        """The program's name without arguments and without its folder, which may be a home folder."""
        name = self.nvml.ask((("nvmlSystemGetProcessName", pid),), text, quiet=True)
        return name if isinstance(name, dict) else name[0].partition(" ")[0].rpartition("/")[2]

    def instances(self):
        most = self.ask((("nvmlDeviceGetMaxMigDeviceCount",),), number)
        if isinstance(most, dict):
            return most
        if most[0] > MOST_INSTANCES:
            return answer.missing("failed", "nvmlDeviceGetMaxMigDeviceCount reports %d instances, which no GPU has" % most)
        found = []
        for place in range(most[0]):
            handle = self.ask((("nvmlDeviceGetMigDeviceHandleByIndex", place),), lambda value: (value,))
            if not isinstance(handle, dict):
                told = {"type": "mig-instance", "place": place}
                for fields, calls, convert in MIG_QUESTIONS:
                    told.update(filled(fields, self.nvml.ask(calls, convert, handle, (self.index,))))
                found.append(told)
            elif handle.code not in (INVALID_ARGUMENT, NOT_FOUND):
                return handle
        return found


FURTHER = [
    *SINGLE, "retired_pages", "fabric", "nvlinks", "nvlink_version", "licences", "mig_instances", "pcie_replays_later",
    *Details.NAMES, "held_back_later",
]  # fmt: skip


def tell_pairs(nvml, gpus):
    """How the PCI bus connects each two GPUs, and then whether one may read the other's memory."""
    pairs = [(one, other) for place, one in enumerate(gpus) for other in gpus[place + 1 :]]
    unread = answer.missing("failed", "nvmlDeviceGetP2PStatus did not return for each pair of GPUs")
    told = [{"type": "gpu-pair", "one": one.index, "other": other.index, "p2p": unread} for one, other in pairs]
    for name, call, convert in PAIR_QUESTIONS:
        for pair, values in zip(pairs, told):
            values[name] = of_pair(nvml, call, convert, pair)
        answer.say({"type": "nvml", "pairs": told})


def of_pair(nvml, call, convert, pair):
    """One answer about two GPUs."""
    one, other = pair
    nvml.record = Record()
    (value,) = first(nvml.ask((call,), convert, (one.handle[0], other.handle[0]), (one.index, other.index)))
    if nvml.record.alarms:
        blame(nvml, nvml.record.alarms, pair)
    return value


def blame(nvml, alarms, both):
    """Attribute NVML's errors about two GPUs to the one that also has them alone, otherwise to both."""
    for gpu in both:
        nvml.record = gpu.record
        gpu.ask((("nvmlDeviceGetUUID",),), text, quiet=True)
    for code, said in alarms.items():
        for gpu in [gpu for gpu in both if code in gpu.record.alarms] or both:
            gpu.record.alarms.setdefault(code, said)


def first(value):
    return (value,) if isinstance(value, dict) else value


def initialise(nvml):
    """Whether NVML is ready; reports its answer either way."""
    answer.mark("nvmlInit")
    try:
        nvml.pynvml.nvmlInit()
    except nvml.pynvml.NVMLError as error:
        said = nvml.status(error.value, str(error))
        answer.say(dict(dict.fromkeys(UNTOLD, nvml.failure("nvmlInit", error)), type="nvml", init=said))
        return False
    answer.say({"type": "nvml", "init": {"type": "status", "code": 0, "name": "NVML_SUCCESS", "text": "Success"}})
    return True


def head(nvml, question, calls, convert):
    answer.say({"type": "nvml", question: first(nvml.ask(calls, convert))[0]})


def main():
    pynvml = load()
    if pynvml is None:
        return
    nvml = Nvml(pynvml)
    ready = initialise(nvml)
    head(nvml, "nvml_version", (("nvmlSystemGetNVMLVersion",),), text)
    head(nvml, "driver_version", (("nvmlSystemGetDriverVersion",),), text)
    head(nvml, "cuda_served", (("nvmlSystemGetCudaDriverVersion_v2",), ("nvmlSystemGetCudaDriverVersion",)), cuda)
    if not ready:
        return
    head(nvml, "confidential", (("nvmlSystemGetConfComputeState",),), lambda value: truth(value.ccFeature))
    head(nvml, "confidential_ready", (("nvmlSystemGetConfComputeGpusReadyState",),), truth)
    count = nvml.ask((("nvmlDeviceGetCount",),), number)
    gap = count if isinstance(count, dict) else answer.absurd("nvmlDeviceGetCount", count[0])
    if gap:
        answer.say({"type": "nvml", "gpus": gap, "pairs": gap})
        return
    answer.say({"type": "nvml", "alarms": list(nvml.record.alarms.values())})
    answer.say({"type": "count", "count": count[0]})
    gpus = []
    for index in range(count[0]):
        gpu = Gpu(nvml, index)
        gpu.describe()
        if gpu.open:
            gpus.append(gpu)
    tell_pairs(nvml, gpus)
    for gpu in gpus:
        gpu.look_again()


main()
answer.say({"type": "done"})
answer.leave()
