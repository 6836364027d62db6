# SPDX-License-Identifier: MIT
"""Kalibr's camchain.yaml, with an IMU or without: cameras for vfront.camera(). Needs PyYAML.

    chain = vfront.kalibr.read("camchain-imucam.yaml")
    rig = vfront.rig([vfront.camera(**one) for one in chain.cameras()], imu=..., imu_offset_ns=int(chain.imu_offset_s * 1e9))"""
import numpy as np

import vfront

LENSES = {("pinhole", "radtan"): vfront.VFRONT_LENS_RADTAN, ("pinhole", "none"): vfront.VFRONT_LENS_RADTAN,
          ("pinhole", "equidistant"): vfront.VFRONT_LENS_EQUIDISTANT, ("ds", "none"): vfront.VFRONT_LENS_DS, ("eucm", "none"): vfront.VFRONT_LENS_EUCM,
          ("omni", "none"): vfront.VFRONT_LENS_OMNI, ("omni", "radtan"): vfront.VFRONT_LENS_OMNI}


class Chain:
    """lens: fields of vfront.camera() but the pose; T_cam_cam0: 4x4 each; T_cam0_imu: 4x4, None without an IMU; imu_offset_s: t_imu - t_cam."""

    def __init__(self):
        self.lens, self.T_cam_cam0, self.T_cam0_imu, self.imu_offset_s = [], [], None, 0.0

    def cameras(self, T_cam0_imu=None):
        """Fields of vfront.camera(), with the pose; T_cam0_imu in place of the file's."""
        T = next((one for one in (T_cam0_imu, self.T_cam0_imu) if one is not None), np.eye(4))
        return [dict(lens, R_cam_imu=(S @ T)[:3, :3], t_cam_imu_m=(S @ T)[:3, 3]) for lens, S in zip(self.lens, self.T_cam_cam0)]


def _lens(c):
    """Fields of vfront.camera() of a camera of the file. Numbers are in Kalibr's order, which is the library's."""
    model, bends = c["camera_model"], c.get("distortion_model") or "none"
    if (model, bends) not in LENSES:
        raise ValueError(f"{model} with {bends}: known are {', '.join(' with '.join(one) for one in LENSES)}")
    numbers, (width, height) = [float(n) for n in c["intrinsics"]], c["resolution"]
    if len(numbers) != {"pinhole": 4, "omni": 5}.get(model, 6):
        raise ValueError(f"{len(numbers)} intrinsics of {model}")
    bent = [float(n) for n in c["distortion_coeffs"]] if bends != "none" else []
    return dict(width_px=int(width), height_px=int(height), lens=LENSES[model, bends], distortion=[*numbers[:-4], *bent],
                **dict(zip(("fx_px", "fy_px", "cx_px", "cy_px"), numbers[-4:])))


def _pose(c, name):
    """4x4 of a camera of the file; None: it has none of that name."""
    if name not in c:
        return None
    T = np.array(c[name], float)
    if T.shape != (4, 4) or not np.allclose(T[:3, :3] @ T[:3, :3].T, np.eye(3), atol=1e-3):
        raise ValueError(f"{name} is no pose of 4 x 4")
    return T


def _add(chain, c):
    """Next camera: its pose by T_cn_cnm1, else by the IMU."""
    T = _pose(c, "T_cam_imu") if "T_cam_imu" in c else _pose(c, "T_imu_cam")
    T = T if T is None or "T_cam_imu" in c else np.linalg.inv(T)
    step = _pose(c, "T_cn_cnm1")
    if not chain.lens:
        chain.T_cam0_imu, chain.imu_offset_s, from_first = T, float(c.get("timeshift_cam_imu", 0.0)), np.eye(4)
    elif step is not None:
        from_first = step @ chain.T_cam_cam0[-1]
    elif T is not None and chain.T_cam0_imu is not None:
        from_first = T @ np.linalg.inv(chain.T_cam0_imu)
    else:
        raise KeyError("T_cn_cnm1")
    chain.lens.append(_lens(c))
    chain.T_cam_cam0.append(from_first)


def read(path, most=vfront.VFRONT_CAMERAS):
    """Chain of up to `most` cameras. Raises OSError, or ValueError that has the cause."""
    import yaml
    chain = Chain()
    with open(path) as file:
        try:
            given = yaml.safe_load(file)
        except yaml.YAMLError as error:
            raise ValueError(f"{path}: {error}") from error
    if not isinstance(given, dict) or "cam0" not in given:
        raise ValueError(f"{path}: no camchain of Kalibr: it has no cam0")
    for name in [f"cam{k}" for k in range(most) if f"cam{k}" in given]:
        try:
            _add(chain, given[name])
        except KeyError as error:
            raise ValueError(f"{path}: {name}: no {error.args[0]}") from error
        except (TypeError, ValueError, AttributeError) as error:
            raise ValueError(f"{path}: {name}: {error}") from error
    return chain
