"""NVLink and its fabric: how many links a GPU has, which are up, their error counts at two looks, and NVML's fabric state."""

import gpudoctor_answer as answer
from nvml_questions import Into, truth, word

# nvml.h, NVML_FI_DEV_NVLINK_*; all but the count take the link as scope
LINK_COUNT, SPEED, VERSION = 91, 164, 166
REMOTES = {0: "gpu", 1: "ibm-npu", 2: "switch", 255: "unknown"}  # nvmlIntNvLinkDeviceType_t
VERSIONS = {1: "1.0", 2: "2.0", 3: "2.2", 4: "3.0", 5: "3.1", 6: "4.0", 7: "5.0", 8: "6.0"}
NVLINK_5 = 7
COUNTERS = {"replays": 161, "recoveries": 162, "crc_errors": 163}  # since branch 525, to NVLink 4
COUNTERS_OLD = {"replays": 0, "recoveries": 1, "crc_errors": 2}  # nvmlNvLinkErrorCounter_t, a call a counter
COUNTERS_5 = {
    "malformed_packet_errors": 206, "buffer_overrun_errors": 207, "rcv_errors": 208, "rcv_remote_errors": 209, "rcv_general_errors": 210,
    "local_link_integrity_errors": 211, "xmit_discards": 212, "link_recovery_successful_events": 213, "link_recovery_failed_events": 214,
    "link_recovery_events": 215, "effective_errors": 219, "effective_ber": 220, "symbol_errors": 221, "symbol_ber": 222,
}  # fmt: skip
# not compared: rates do not count, and a good link corrects symbols, discards packets and recovers
ONCE = ("effective_ber", "symbol_ber", "symbol_errors", "xmit_discards", "link_recovery_successful_events")

INVALID_ARGUMENT, NOT_SUPPORTED = 2, 3
MOST_LINKS = 64
FABRIC_STATES = {0: "not-supported", 1: "not-started", 2: "in-progress", 3: "completed"}
SUMMARIES = {0: "not-supported", 1: "healthy", 2: "unhealthy", 3: "limited-capacity"}
FABRIC = (
    ("nvmlDeviceGetGpuFabricInfoV", Into("c_nvmlGpuFabricInfo_v3_t")),
    ("nvmlDeviceGetGpuFabricInfoV", Into("c_nvmlGpuFabricInfo_v2_t")),
    ("nvmlDeviceGetGpuFabricInfo", Into("c_nvmlGpuFabricInfo_t")),
)


def fabric(value):
    """The fabric state in the newest version that the driver knows."""
    (state,) = word(FABRIC_STATES)(value.state)
    none = answer.missing("unsupported", "this driver does not report fabric health")
    summary = word(SUMMARIES)(value.healthSummary)[0] if hasattr(value, "healthSummary") else none
    told = {"type": "fabric", "state": state, "status": value.status, "clique": value.cliqueId}
    cluster = "".join("%02x" % byte for byte in value.clusterUuid)
    return (dict(told, health=getattr(value, "healthMask", none), summary=summary, cluster=cluster),)


class Links:
    """One GPU's NVLinks; `ask` is the probe's function that calls NVML, `read` the one that reads fields."""

    def __init__(self, ask, read):
        self.ask, self.read = ask, read
        self.links, self.up, self.before, self.version = [], [], {}, None
        self.refusal = None  # for older calls: what one link does not offer, no other does

    def all(self, count):
        """Yield the fabric's state, then each link with its speed, peer and counters; `count` is the number of links."""
        state = self.ask(FABRIC, fabric)
        yield {"fabric": state if isinstance(state, dict) else state[0]}
        links = self.states(count)
        version = answer.missing("unsupported", "no NVLink is up")
        if isinstance(links, list):
            self.links = links
            self.up = [link for link in links if link["active"] is True]
        if self.up:
            version_place = VERSION, self.up[0]["link"]
            read = self.read([version_place, *((SPEED, link["link"]) for link in self.up)])
            self.version = version = read[version_place]
            self.before = self.counted(self.read(self.places(self.names())))
            for link in self.up:
                link.update(self.told(link["link"]), speed=read[SPEED, link["link"]], remote=self.remote(link["link"]))
        version = word(VERSIONS)(version)[0] if isinstance(version, int) else version
        yield {"nvlinks": links, "nvlink_version": version}

    def remote(self, link):
        remote = self.ask((("nvmlDeviceGetNvLinkRemoteDeviceType", link),), word(REMOTES), quiet=True)
        return remote if isinstance(remote, dict) else remote[0]

    def growing(self):
        """The counters that are compared at a second look."""
        return [name for name in self.names() if name not in ONCE]

    def places(self, wanted):
        """The fields of these counters, for each link that is up."""
        names = self.names()
        return [(names[name], link["link"]) for link in self.up for name in wanted]

    def again(self, read):
        """The links again, with the growth of their counters until `read`; nothing if none is up."""
        if not self.up:
            return {}
        later = self.counted(read, self.growing())
        for link in self.up:
            link["grown"] = not_zero({name: self.growth(link["link"], name, later) for name in self.growing()})
        return {"nvlinks": self.links}

    def growth(self, link, name, later):
        """By how much a counter grew, or why that is unknown; one that was reset in between did not grow."""
        values = self.before[link, name], later[link, name]
        return next((value for value in values if isinstance(value, dict)), None) or max(0, values[1] - values[0])

    def states(self, count):
        """Each link and whether it is up. If the driver does not report their number, its first refusal shows where they end."""
        known = isinstance(count, int)
        found = []
        for link in range(min(count, MOST_LINKS) if known else MOST_LINKS):
            state = self.ask((("nvmlDeviceGetNvLinkState", link),), truth, quiet=link > 0)
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

    def names(self):
        return COUNTERS_5 if isinstance(self.version, int) and self.version >= NVLINK_5 else COUNTERS

    def counted(self, read, wanted=None):
        """Each wanted counter of each link that is up, by link and name, or why it has no value; from the values read."""
        names = self.names()
        places = [(link["link"], name) for link in self.up for name in wanted or names]
        values = {(link, name): read[names[name], link] for link, name in places}
        if names is COUNTERS and all(isinstance(value, dict) and value["cause"] == "unsupported" for value in values.values()):
            return {(link, name): self.old(link, COUNTERS_OLD[name]) for link, name in places}
        return values

    def old(self, link, which):
        """A counter by the older drivers' call."""
        if self.refusal:
            return self.refusal
        value = self.ask((("nvmlDeviceGetNvLinkErrorCounter", link, which),), lambda value: (int(value),), quiet=True)
        if isinstance(value, dict):
            self.refusal = value
            return value
        return value[0]

    def told(self, link):
        """A link's counters: three separate ones up to NVLink 4, the non-zero ones from NVLink 5 on."""
        values = {name: self.before[link, name] for name in self.names()}
        if self.names() is COUNTERS:
            return values
        none = answer.missing("unsupported", "NVLink 5 has other counters")
        return dict(dict.fromkeys(COUNTERS, none), errors=not_zero(values))


def not_zero(values):
    """The known non-zero counters; if none is known, why not."""
    known = {name: value for name, value in values.items() if isinstance(value, int)}
    counts = [{"type": "link-count", "name": name, "count": value} for name, value in known.items() if value]
    return counts if known else next(iter(values.values()))
