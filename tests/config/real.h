/* Pictures of the sizes that cameras have, with every stage: for parity at real size, vfcheck --real. */
#define VFRONT_WIDTH 1280
#define VFRONT_HEIGHT 720
#define VFRONT_CULL_CELLS 16384
#define VFRONT_DENSE 1
#define VFRONT_DISPARITIES 256
#define VFRONT_STIXELS 1
#define VFRONT_SEGMENTS 24
#define VFRONT_MAP 1
#define VFRONT_KEYFRAMES 64
