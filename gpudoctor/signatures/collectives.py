"""What NCCL, Gloo and c10d say when several GPUs or nodes cannot work together."""

from __future__ import annotations

from gpudoctor.signatures.signature import Signature

_P2P = "nccl-p2p-acs-iommu"
_PEERS_FAIL = "peer-to-peer transfers between two GPUs fail, hang or are refused"
_HANGS = r"(?:hang|hung|stuck|freez|froze|deadlock|stall|never (?:return|finish|end)|(?:infinite|endless) (?:\w{1,12} )?(?:loop|cycle|wait)|unkillable|(?:not|never|n't|cannot) (?:be )?kill(?:ed|able)|spin(?:s|ning)? at 100 ?%)"
_SEVERAL_GPUS = (
    r"(?:two|both|three|four|eight|multiple|several|[2-9]|16) ?x? (?:of (?:the|my) )?(?:(?:nvidia|geforce|tesla|quadro) )?"
    r"(?:gpus|cards|[rg]tx|titans?|[ahlv]\d{2,3}s?\b|a\d{4}s?\b|[1-5]0[5-9]0s?\b)"
)
"""Several GPUs, by what people call them or by their model."""

COLLECTIVES = (
    # NCCL's sources of 2.30.7
    Signature(
        r"NCCL library is (?:too old|not backwards compatible)|NCCL version mismatch with remote peer",
        ("nccl-version-conflict",),
        "NCCL is not the release that the program or the other ranks use",
        ("NCCL library is too old. This application was compiled with NCCL version 2.30.7",),
    ),
    Signature(
        r"NCCL WARN CUDA Driver version found is \d{1,6}\. Minimum requirement",
        ("driver-too-old",),
        "the driver is too old for this NCCL",
        ("NCCL WARN CUDA Driver version found is 10020. Minimum requirement is 11000",),
    ),
    # RCCL's init.cc has the third; peer status of cuda.h; https://github.com/NVIDIA/nccl/issues/257 and 2079
    Signature(
        r"failed to peer with device \d{1,4}|cudaIpcGetMemHandle failed|Missing \"iommu=pt\" from kernel command line|peer access is not supported between these two devices"
        r"|doesn't support faster communication broadband via P2P|P2P is disabled between (?:NVLINK )?connected GPUs|simpleP2P[^\n]{0,200}(?:Verification error|FAILED)",
        (_P2P,),
        _PEERS_FAIL,
        ("failed to peer with device 1", "cudaIpcGetMemHandle failed", "peer access is not supported between these two devices"),
    ),
    Signature(
        r"(?i)(?:p2pBand\w{0,30}Test|\b(?:all_reduce|all_gather|reduce_scatter|sendrecv|alltoall|broadcast)_(?:perf|test)\b|\bnccl[- ]tests?\b)[^\n]{0,120}\b"
        + _HANGS,
        (_P2P,),
        _PEERS_FAIL,
        ("p2pBandwidthLatencyTest hangs",),
    ),
    # https://github.com/pytorch/pytorch/issues/132397 and 87363
    Signature(
        r"(?i)\b(?:tensors?|data|values?|weights?)\b[^\n]{0,60}\b(?:between|across)\b[^\n]{0,30}\b(?:gpus?|cuda devices)\b[^\n]{0,60}\b(?:wrong|zeros?|corrupt|change|incorrect|does ?n.t work|modified|garbage|nan)"
        r"|\b(?:tensors?|data|values?)\b[^\n]{0,40}\bfrom (?:a |one )?gpu to (?:another|gpu|the other)\b[^\n]{0,100}\b(?:wrong|zero|corrupt|change|incorrect|modified|aren't right)|\btransfer\w{0,3} (?:between|across) gpus (?:do|does|is|are)"
        r"|\b(?:wrong|zeros?|corrupt\w{0,3}|not cop\w{2,5}|incorrect|garbage)\b[^\n]{0,60}\b(?:between|across)\b[^\n]{0,30}\b(?:gpus|cuda devices)\b",
        (_P2P,),
        "data that is copied from one GPU to another arrives wrong",
        (
            "moving a tensor between GPUs gives zeros",
            "values that are copied from one GPU to another are wrong",
            "wrong values after a copy between GPUs",
        ),
        vague=True,
    ),
    Signature(
        r"(?:Failed to bind|Unable to bind) NVLink SHARP \(NVLS\) Multicast memory|NVLS\b[^\n]{0,60}system or configuration error in the Fabric Manager",
        ("fabric-manager-missing", "fabric-unhealthy"),
        "NVLink SHARP cannot start, usually because of the fabric manager",
        ("NCCL WARN Failed to bind NVLink SHARP (NVLS) Multicast memory of size 2097152 : CUDA error 801 'operation not supported'.",),
    ),
    Signature(
        r"MNNVL \(cliqueSize \d{1,6}\) is available but not working",
        ("fabric-prerequisites-missing",),
        "NCCL cannot use NVLink between nodes: IMEX is not configured",
        ("NCCL WARN MNNVL (cliqueSize 8) is available but not working on this system. Check the IMEX channel configuration",),
    ),
    # https://docs.nvidia.com/datacenter/tesla/fabric-manager-user-guide/
    Signature(
        r"nvidia-fabricmanager(?:\.service)?\b[^\n]{0,80}(?:inactive|failed|could not be found|not-found|dead)|Failed to start NVIDIA [Ff]abric [Mm]anager|Unit nvidia-fabricmanager\S{0,20} (?:could )?not"
        r"|(?i:\bfabric ?manager\b[^\n]{0,40}\b(?:not|isn't) (?:installed|running|started))",
        ("fabric-manager-missing", "fabric-manager-version-mismatch", "fabric-prerequisites-missing"),
        "the fabric manager does not run",
        ("Active: inactive (dead) nvidia-fabricmanager.service failed", "Failed to start NVIDIA fabric manager service."),
        vague=True,
    ),
    # nvidia-smi -q and nvlink -s of 550
    Signature(
        r"^\s{0,20}State\s{1,40}: In Progress",
        ("fabric-manager-missing", "fabric-unhealthy", "fabric-prerequisites-missing"),
        "the NVLink fabric is not set up: the fabric manager has not registered the GPU",
        ("        State                             : In Progress",),
        vague=True,
    ),
    Signature(
        r"\bLink \d{1,2}: <inactive>",
        ("nvlink-inactive",),
        "an NVLink is inactive",
        ("         Link 3: <inactive>",),
        vague=True,
    ),
    Signature(
        r"Duplicate GPU detected\s{0,2}: rank|Multiple Ranks are using the same GPU",
        ("cuda-visible-devices-masked", "mig-one-instance-per-process"),
        "two ranks use the same GPU: the job started more ranks than it sees GPUs, or each rank uses GPU 0",
        ("Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 4000",),
        cure="Start at most as many ranks on each machine as it has visible GPUs, and call torch.cuda.set_device(local_rank) in each.",
    ),
    # torch/nn/parallel/data_parallel.py
    Signature(
        r"(?i)\bthere is an imbalance between your gpus|\byou may want to exclude gpu \d{1,3} which",
        ("mixed-gpu-models",),
        "the GPUs differ in memory or speed, so the slowest sets the pace",
        ("UserWarning: There is an imbalance between your GPUs. You may want to exclude GPU 1 which",),
    ),
    # NCCL's socket.cc and bootstrap.cc, torch/csrc/distributed/c10d, Gloo
    Signature(
        r"[Nn]o socket interface found|NET/\w{1,10} : [Nn]o (?:IP )?interface found|connecting to address\s{1,3}with family \d{1,6} is neither|Unable to find address for:|unsupported gloo device"
        r"|Connect to [\w.:]{3,50}<\d{1,5}> failed|WARN (?:Net : )?Call to (?:connect|accept|bind|listen)\b[^\n]{0,80}\b(?:failed|timeout) ?:|Socket creation failed : Address family|NET/\w{1,10} : No usable listening interface|NET/IB : [^\n]{1,60} async fatal event|Call to ibv_\w{1,40} failed|NET/IB\s{0,2}: Got completion (?:from peer|with error)"
        r"|gloo/transport/tcp/[^\n]{0,120}(?:refused|timed out|reset by peer)|(?:re)?solv\w{1,3}[^\n]{0,60}(?:NCCL|GLOO)_SOCKET_IFNAME|(?:NCCL|GLOO)_SOCKET_IFNAME[^\n]{0,60}\b(?:fix|solv|resolv|work)",
        ("all-reduce-failed",),
        "NCCL cannot use the network interface it chose; NCCL_SOCKET_IFNAME names the right one",
        ("Bootstrap : no socket interface found", "NET/Socket : no interface found", "NET/IB : Got completion from peer"),
    ),
)
FAILED_COLLECTIVES = (
    Signature(
        r"\bncclInvalidUsage\b|\binvalid usage(?: \(run with|, NCCL version)",
        ("cuda-visible-devices-masked", "mig-one-instance-per-process"),
        "NCCL was used wrongly, usually with two ranks on one GPU",
        ("ncclInvalidUsage: This usually reflects invalid usage of NCCL library.",),
        vague=True,
    ),
    Signature(
        rf"(?i:\b(?:nccl\w{{0,20}}|(?:MultiWorker)?MirroredStrategy|all_?-?reduce\w{{0,20}}|multi-?gpus?|dataparallel|ddp|(?:tensor[-_ ]parallel(?:[-_ ]size)?|parallel training)|{_SEVERAL_GPUS}|across gpus)\b[^\n]{{0,100}}\b{_HANGS})"
        rf"|(?i:\b{_HANGS}\w{{0,5}}\b[^\n]{{0,100}}\b(?:nccl|all_?-?reduce|multi-?gpu|dataparallel|ddp|tensor[-_ ]parallel(?:[-_ ]size)?|{_SEVERAL_GPUS}))"
        # what people write below the last line of NCCL's log
        r"|(?i:^(?:[*(<\[]{1,3} ?(?:hangs?|hanging|hung|stuck|freezes|deadlocks?)\b[^\n]{0,20}|(?:(?:it|and|then) ){0,3}(?:hangs?|stuck|freezes) (?:here|forever|indefinitely))\W{0,4}$)",
        (_P2P, "wsl-multi-gpu-limit", "all-reduce-failed"),
        "programs that use several GPUs hang",
        ("NCCL all_reduce hangs with 2 GPUs", "<hangs here>"),
        vague=True,
        needs_support=True,
    ),
    # as people say it in a line of its own; another line must be about transfers between GPUs
    Signature(
        rf"(?i)\b(?:runs?|it|job|process|server|engine|workers?|ranks?|python|program|script|generation|inference)\b[^\n.]{{0,40}}\b{_HANGS}",
        (_P2P,),
        "programs that use several GPUs hang",
        ("later runs stall", "the process cannot be killed"),
        vague=True,
        last=True,
        said=True,
        needs_support=True,
        guess=True,
    ),
    # c10d/ProcessGroupNCCL.cpp of 1.7 to 2.15, NCCL's ncclGetErrorString
    Signature(
        r"unhandled system error|ncclSystemError|NCCL [Ee]rror 2\b",
        ("container-shm-too-small", "all-reduce-failed"),
        "a system call of NCCL failed, usually in shared memory, or on the network between nodes",
        ("RuntimeError: NCCL Error 2: unhandled system error", "ncclSystemError: System call (socket, malloc, munmap, etc) failed."),
        vague=True,
    ),
    Signature(
        r"Watchdog caught collective operation timeout|NCCL operations have failed or timed out|unhandled cuda error|\bnccl[A-Z]\w{3,40} failed: internal error|ncclUnhandledCudaError|ncclRemoteError|ncclInternalError|NCCL communicator was aborted|No transport found for rank \d|nvmlDeviceGetP2PStatus\([^)\n]{1,80}\) failed"
        r"|(?:Net :|WARN) Connection closed by remote peer|WARN (?:Net : )?Call to (?:recv|send|poll)\b[^\n]{0,80}\bfailed ?:|NET/Socket : socket progress error|remote process exited or there was a network error|monitoredBarrier|NCCL [Ee]rror [13]\b|socketProgress\w{0,4}: Connection closed",
        ("all-reduce-failed",),
        "a collective operation between GPUs failed or timed out",
        ("Watchdog caught collective operation timeout", "ncclUnhandledCudaError: Call to CUDA function failed."),
        vague=True,
    ),
)
"""What only says that a collective operation failed."""
