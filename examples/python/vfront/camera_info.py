# SPDX-License-Identifier: MIT
"""sensor_msgs/CameraInfo of ROS 2, of whatever has its fields: cameras for vfront.camera().

ROS names three distortion models. For the others there are the names of drivers and of Kalibr, with D in Kalibr's order: double_sphere (or ds) xi, alpha;
eucm alpha, beta; omni xi, k1, k2, p1, p2. K has the focal lengths as Kalibr does."""
import numpy as np

import vfront

MODELS = {"plumb_bob": ("RADTAN", 0, 8), "rational_polynomial": ("RATIONAL", 0, 8), "equidistant": ("EQUIDISTANT", 0, 4), "fisheye": ("EQUIDISTANT", 0, 4),
          "double_sphere": ("DS", 2, 2), "ds": ("DS", 2, 2), "eucm": ("EUCM", 2, 2), "omni": ("OMNI", 1, 5)}  # lens, least and most numbers of D


def lens(info, is_rectified=False):
    """Fields of vfront.camera() but the pose; of rectified pictures by P alone."""
    size = dict(width_px=info.width, height_px=info.height)
    if is_rectified:
        return dict(size, fx_px=info.p[0], fy_px=info.p[5], cx_px=info.p[2], cy_px=info.p[6])
    name, numbers = info.distortion_model or "plumb_bob", list(info.d)
    if name not in MODELS:
        raise ValueError(f"distortion_model {name}: {', '.join(MODELS)} are known")
    model, least, most = MODELS[name]
    if len(numbers) < least or any(numbers[most:]):
        raise ValueError(f"distortion_model {name}: {len(numbers)} numbers, of {most}")
    model = "RATIONAL" if model == "RADTAN" and len(numbers) > 5 else model
    return dict(size, fx_px=info.k[0], fy_px=info.k[4], cx_px=info.k[2], cy_px=info.k[5], lens=vfront.enum["vfront_lens"]["VFRONT_LENS_" + model],
                distortion=numbers[:most])


def T_rect_cam(info, is_rectified=False):
    """4x4, from camera axes to those that all rectified cameras of a rig share, of camera 0."""
    T = np.eye(4)
    if info.p[0]:
        T[:3, :3] = np.eye(3) if is_rectified else np.reshape(info.r, (3, 3))
        T[:2, 3] = -info.p[3] / info.p[0], -info.p[7] / info.p[5]
    return T
