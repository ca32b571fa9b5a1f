"""NVLink and its fabric: how many links a GPU has, which are up, their error counts at two looks, and NVML's fabric state."""

import gpudoctor_answer as answer
from nvml_questions import StructArgument, as_bool, word_of_code

# nvml.h, NVML_FI_DEV_NVLINK_*; all but the count take the link as scope
LINK_COUNT, SPEED, VERSION = 91, 164, 166
PEERS = {0: "gpu", 1: "ibm-npu", 2: "switch", 255: "unknown"}  # nvmlIntNvLinkDeviceType_t
VERSIONS = {1: "1.0", 2: "2.0", 3: "2.2", 4: "3.0", 5: "3.1", 6: "4.0", 7: "5.0", 8: "6.0"}
NVLINK_5 = 7
COUNTERS = {"replays": 161, "recoveries": 162, "crc_errors": 163}  # since branch 525, to NVLink 4
COUNTERS_BEFORE_525 = {"replays": 0, "recoveries": 1, "crc_errors": 2}  # nvmlNvLinkErrorCounter_t, a call a counter
COUNTERS_5 = {
    "malformed_packet_errors": 206, "buffer_overrun_errors": 207, "rcv_errors": 208, "rcv_remote_errors": 209, "rcv_general_errors": 210,
    "local_link_integrity_errors": 211, "xmit_discards": 212, "link_recovery_successful_events": 213, "link_recovery_failed_events": 214,
    "link_recovery_events": 215, "effective_errors": 219, "effective_ber": 220, "symbol_errors": 221, "symbol_ber": 222,
}  # fmt: skip
# not compared: rates do not count, and a good link corrects symbols, discards packets and recovers
NOT_COMPARED = ("effective_ber", "symbol_ber", "symbol_errors", "xmit_discards", "link_recovery_successful_events")

INVALID_ARGUMENT, NOT_SUPPORTED = 2, 3
MAX_LINKS = 64
FABRIC_STATES = {0: "not-supported", 1: "not-started", 2: "in-progress", 3: "completed"}
SUMMARIES = {0: "not-supported", 1: "healthy", 2: "unhealthy", 3: "limited-capacity"}
FABRIC_CALLS = (
    ("nvmlDeviceGetGpuFabricInfoV", StructArgument("c_nvmlGpuFabricInfo_v3_t")),
    ("nvmlDeviceGetGpuFabricInfoV", StructArgument("c_nvmlGpuFabricInfo_v2_t")),
    ("nvmlDeviceGetGpuFabricInfo", StructArgument("c_nvmlGpuFabricInfo_t")),
)


def as_fabric(value):
    """The fabric state in the newest version that the driver knows."""
    (state,) = word_of_code(FABRIC_STATES)(value.state)
    none = answer.missing("unsupported", "this driver does not report fabric health")
    summary = word_of_code(SUMMARIES)(value.healthSummary)[0] if hasattr(value, "healthSummary") else none
    told = {"type": "fabric", "state": state, "status": value.status, "clique": value.cliqueId}
    cluster = "".join("%02x" % byte for byte in value.clusterUuid)
    return (dict(told, health=getattr(value, "healthMask", none), summary=summary, cluster=cluster),)


class LinkReader:
    """One GPU's NVLinks; `ask` is the probe's function that calls NVML, `read` the one that reads fields."""

    def __init__(self, ask, read):
        self.ask, self.read = ask, read
        self.links, self.up, self.before, self.version = [], [], {}, None
        self.refusal = None  # for older calls: what one link does not offer, no other does

    def facts(self, count):
        """Yield the fabric's state, then each link with its speed, peer and counters; `count` is the number of links."""
        state = self.ask(FABRIC_CALLS, as_fabric)
        yield {"fabric": state if isinstance(state, dict) else state[0]}
        links = self.link_states(count)
        version = answer.missing("unsupported", "no NVLink is up")
        if isinstance(links, list):
            self.links = links
            self.up = [link for link in links if link["active"] is True]
        if self.up:
            version_place = VERSION, self.up[0]["link"]
            read = self.read([version_place, *((SPEED, link["link"]) for link in self.up)])
            self.version = version = read[version_place]
            self.before = self.counter_values(self.read(self.fields_of_links(self.counter_fields())))
            for link in self.up:
                link.update(self.link_counters(link["link"]), speed=read[SPEED, link["link"]], remote=self.peer(link["link"]))
        version = word_of_code(VERSIONS)(version)[0] if isinstance(version, int) else version
        yield {"nvlinks": links, "nvlink_version": version}

    def peer(self, link):
        remote = self.ask((("nvmlDeviceGetNvLinkRemoteDeviceType", link),), word_of_code(PEERS), quiet=True)
        return remote if isinstance(remote, dict) else remote[0]

    def compared_counters(self):
        """The counters that are compared at a second look."""
        return [name for name in self.counter_fields() if name not in NOT_COMPARED]

    def fields_of_links(self, wanted):
        """The fields of these counters, for each link that is up."""
        names = self.counter_fields()
        return [(names[name], link["link"]) for link in self.up for name in wanted]

    def later_facts(self, read):
        """The links again, with the growth of their counters until `read`; nothing if none is up."""
        if not self.up:
            return {}
        later = self.counter_values(read, self.compared_counters())
        for link in self.up:
            link["grown"] = nonzero_counts({name: self.counter_growth(link["link"], name, later) for name in self.compared_counters()})
        return {"nvlinks": self.links}

    def counter_growth(self, link, name, later):
        """By how much a counter grew, or why that is unknown; one that was reset in between did not grow."""
        values = self.before[link, name], later[link, name]
        return next((value for value in values if isinstance(value, dict)), None) or max(0, values[1] - values[0])

    def link_states(self, count):
        """Each link and whether it is up. If the driver does not report their number, its first refusal shows where they end."""
        known = isinstance(count, int)
        found = []
        for link in range(min(count, MAX_LINKS) if known else MAX_LINKS):
            state = self.ask((("nvmlDeviceGetNvLinkState", link),), as_bool, quiet=link > 0)
            if not isinstance(state, dict):
                found.append({"type": "nv-link", "link": link, "active": state[0]})
                continue
            if not known and state.code in (INVALID_ARGUMENT, NOT_SUPPORTED):
                break
            if not found:
                return state
            found.append({"type": "nv-link", "link": link, "active": state})
            if not known:
                break
        return found or answer.missing("unsupported", "this GPU has no NVLink")

    def counter_fields(self):
        return COUNTERS_5 if isinstance(self.version, int) and self.version >= NVLINK_5 else COUNTERS

    def counter_values(self, read, wanted=None):
        """Each wanted counter of each link that is up, by link and name, or why it has no value; from the values read."""
        names = self.counter_fields()
        places = [(link["link"], name) for link in self.up for name in wanted or names]
        values = {(link, name): read[names[name], link] for link, name in places}
        if names is COUNTERS and all(isinstance(value, dict) and value["cause"] == "unsupported" for value in values.values()):
            return {(link, name): self.counter_by_older_call(link, COUNTERS_BEFORE_525[name]) for link, name in places}
        return values

    def counter_by_older_call(self, link, which):
        """A counter by the older drivers' call."""
        if self.refusal:
            return self.refusal
        value = self.ask((("nvmlDeviceGetNvLinkErrorCounter", link, which),), lambda value: (int(value),), quiet=True)
        if isinstance(value, dict):
            self.refusal = value
            return value
        return value[0]

    def link_counters(self, link):
        """A link's counters: three separate ones up to NVLink 4, the non-zero ones from NVLink 5 on."""
        values = {name: self.before[link, name] for name in self.counter_fields()}
        if self.counter_fields() is COUNTERS:
            return values
        none = answer.missing("unsupported", "NVLink 5 has other counters")
        return dict(dict.fromkeys(COUNTERS, none), errors=nonzero_counts(values))


def nonzero_counts(values):
    """The known non-zero counters; if none is known, why not."""
    known = {name: value for name, value in values.items() if isinstance(value, int)}
    counts = [{"type": "link-count", "name": name, "count": value} for name, value in known.items() if value]
    return counts if known else next(iter(values.values()))
