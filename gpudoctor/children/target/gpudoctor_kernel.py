"""Our own kernel as PTX, and its expected results. For Python 3.4 to 3.14.

Every driver since CUDA 6 accepts PTX 4.0 for sm_30 and compiles it for every GPU since Kepler: checked with ptxas of CUDA 11.8, 12.1 and
13.0 for sm_35 to sm_121.
"""

NAME = b"gpudoctor_mix"
ROUNDS = 4
GOLDEN = 0x9E3779B1  # 2**32 divided by the golden ratio, made prime: neighbours end far apart
MASK = 0xFFFFFFFF

PTX = b"""
.version 4.0
.target sm_30
.address_size 64

// results[i] = mix(seed + i) for each i below count
.visible .entry gpudoctor_mix(.param .u64 results, .param .u32 count, .param .u32 seed)
{
    .reg .pred %p<3>;
    .reg .b32 %r<9>;
    .reg .b64 %d<4>;

    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.u32 %r4, %r1, %r2, %r3;
    ld.param.u32 %r5, [count];
    setp.ge.u32 %p1, %r4, %r5;
    @%p1 bra done;
    ld.param.u32 %r6, [seed];
    add.u32 %r6, %r6, %r4;
    mov.u32 %r7, 4;
again:
    shr.u32 %r8, %r6, 15;
    xor.b32 %r6, %r6, %r8;
    mad.lo.u32 %r6, %r6, 0x9E3779B1, %r7;
    sub.u32 %r7, %r7, 1;
    setp.ne.u32 %p2, %r7, 0;
    @%p2 bra again;
    ld.param.u64 %d1, [results];
    cvta.to.global.u64 %d1, %d1;
    mul.wide.u32 %d2, %r4, 4;
    add.u64 %d3, %d1, %d2;
    st.global.u32 [%d3], %r6;
done:
    ret;
}
"""


def mix(value):
    """The result of one thread."""
    value &= MASK
    for left in range(ROUNDS, 0, -1):
        value = ((value ^ value >> 15) * GOLDEN + left) & MASK
    return value
