# SPDX-License-Identifier: MIT
"""vfront for Python: the calls of vfront.h, with NumPy arrays on the library's own memory, without copies.

    import vfront
    rig = vfront.rig([vfront.camera(752, 480, 458.7, 457.3, 367.2, 248.4), ...], imu=dict(gyro_density=1.7e-4, ...))
    with vfront.Vfront(rig, dict(vio=1)) as vf:
        result = vf.step(t_ns, [left, right], imu=vfront.imu(times_ns, rates_rad_s, forces_m_s2))
        print(result.nav.position_m, result.tracks["x_px"])

Types are those of the header without vfront_ and _t: vfront.type["nav"], whose comments are their help(). Constants have the header's names:
vfront.VFRONT_NAV_GOOD. Every call of the header is in vfront.library."""
import ctypes
import pathlib
import numpy as np

from .header import Header

_here = pathlib.Path(__file__).parent
_header = Header((_here / "vfront.i").read_text())
type, enum = _header.type, _header.enum
globals().update(_header.constant)
library = ctypes.CDLL(str(_here / "libvfront.so"))


class Error(Exception):
    """A call that failed. status: its number; the text is its name and vfront_detail()."""

    def __init__(self, status, detail=""):
        self.status = status
        super().__init__(library.vfront_status_name(status).decode() + (": " + detail if detail else ""))


def _declare():
    for name, (restype, argtypes, doc) in _header.call.items():
        try:
            call = getattr(library, name)
        except AttributeError:
            continue
        call.restype, call.argtypes, call.__doc__ = restype, argtypes, doc
    library.vfront_init = library.vfront_python_init  # the header has it as an inline function
    library.vfront_init.argtypes = [ctypes.POINTER(type["vfront"]), ctypes.POINTER(type["vfront_rig"]), ctypes.POINTER(type["vfront_tuning"]), ctypes.c_int]


def _compare():
    """Config and sizes that the compiler knows, beside those that were read from the header."""
    count = ctypes.c_size_t.in_dll(library, "vfront_python_values_count").value
    for value in (type["vfront_value"] * count).in_dll(library, "vfront_python_values"):
        name = value.name.decode()
        if name == "sizeof(vfront_t)":
            type["vfront"]._fields_ = [("block", ctypes.c_uint64 * (value.value // 8))]
        found = ctypes.sizeof(_header._of(name[7:-1], "")) if name.startswith("sizeof(") else _header.constant.setdefault(name, value.value)
        if found != value.value:
            raise ImportError(f"vfront: {name} is {value.value} in the library, {found} by its header")
        globals().setdefault(name, value.value)


_declare()
_compare()
imu_dtype, gyro_dtype = np.dtype(type["vfront_imu"]), np.dtype(type["vfront_gyro"])
_result_p = ctypes.POINTER(type["vfront_result"])


def camera(width_px, height_px, fx_px=0.0, fy_px=0.0, cx_px=0.0, cy_px=0.0, lens=0, distortion=(), R_cam_imu=None, t_cam_imu_m=(0, 0, 0), **others):
    """A vfront_camera_t; others: further fields by name."""
    made = type["vfront_camera"](width_px=width_px, height_px=height_px, fx_px=fx_px, fy_px=fy_px, cx_px=cx_px, cy_px=cy_px, lens=lens, **others)
    made.distortion[:len(distortion)] = list(distortion)
    if R_cam_imu is not None:
        made.R_cam_imu[:] = np.asarray(R_cam_imu, float).ravel().tolist()
    made.t_cam_imu_m[:] = np.asarray(t_cam_imu_m, float).ravel().tolist()
    return made


def rig(cameras, imu=None, **others):
    """A vfront_rig_t of cameras; imu: fields of vfront_imu_noise_t by name; others: further fields of the rig."""
    made = type["vfront_rig"](cameras=len(cameras), **others)
    if len(cameras) > len(made.camera):
        raise ValueError(f"{len(cameras)} cameras, this build has {len(made.camera)}")
    for i, one in enumerate(cameras):
        made.camera[i] = one
    if imu:
        made.imu = type["vfront_imu_noise"](**{"gyro_limit_rad_s": VFRONT_GYRO_MOST_RAD_S, "accel_limit_m_s2": VFRONT_ACCEL_MOST_M_S2,  # noqa: F821
                                               "gravity_m_s2": 9.81, **imu})
    return made


def tuning(state_only=False, **values):
    """A vfront_tuning_t: standard values or, with state_only, those of vfront_tuning_state(); and those given by name."""
    made = type["vfront_tuning"]()
    library.vfront_tuning_default(made)
    if int(state_only):
        library.vfront_tuning_state(made)
    for name, value in values.items():
        status = library.vfront_tuning_set(made, name.encode(), int(value))
        if status:
            raise Error(status, f"{name}={value}")
    return made


def imu(t_ns, gyro_rad_s, accel_m_s2):
    """Samples of an IMU, as Vfront.step() takes them."""
    made = np.zeros(len(t_ns), imu_dtype)
    made["t_ns"], made["gyro_rad_s"], made["accel_m_s2"] = t_ns, gyro_rad_s, accel_m_s2
    return made


def _array(struct, name):
    """Field of a struct as NumPy sees it, on the same memory; another struct stays one."""
    kind = dict(struct._fields_)[name]
    if not issubclass(kind, ctypes.Array):
        return getattr(struct, name)
    return np.ctypeslib.as_array(getattr(struct, name)) if kind._type_ is not ctypes.c_char else getattr(struct, name)


class View:
    """A struct of the library, read in place: numbers, arrays (NumPy, without a copy), and structs in it. Lists end at their count."""

    def __init__(self, struct, is_valid):
        self._struct, self._is_valid = struct, is_valid

    def __dir__(self):
        return [name for name, _ in self._struct._fields_]

    def __getattr__(self, name):
        if name.startswith("_") or name not in dict(self._struct._fields_):
            raise AttributeError(name)
        if not self._is_valid():
            raise RuntimeError("a result is valid until the next but one submit: copy what is to stay")
        value = _array(self._struct, name)
        if isinstance(value, ctypes.Structure):
            return Disparity(value, self._is_valid) if name == "disparity" else View(value, self._is_valid)
        count = getattr(self._struct, name + "_count", None)
        if name == "stixels":
            count = self._struct.columns_count
        if count is None or not isinstance(value, np.ndarray):
            return value
        return value[:count] if isinstance(count, int) else [value[i][:n] for i, n in enumerate(count)]


class Disparity(View):
    """Disparities on the host, as arrays of rows: px16, and confidence."""

    def __getattr__(self, name):
        value, s = super().__getattr__(name), self._struct
        if name not in ("px16", "confidence"):
            return value
        return np.ctypeslib.as_array(value, (s.height_px, s.pitch))[:, :s.width_px] if value else None


class Vfront:
    """A vision system (vfront_t). rig: vfront.rig(); tuning: vfront.tuning(), or a dict of its values; port: "auto", "cuda", "host"."""

    def __init__(self, rig, tuning=None, port="auto"):
        self._vf, self._submits, self._is_open = type["vfront"](), 0, False
        values = globals()["tuning"](**tuning) if isinstance(tuning, dict) else tuning
        self._call(library.vfront_init, rig, values, {"auto": 0, "cuda": 1, "host": 2}[port])
        self._is_open, self._cameras = True, rig.cameras

    def _call(self, call, *words):
        status = call(self._vf, *words)
        if status:
            raise Error(status, library.vfront_detail(self._vf).decode())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __del__(self):
        if getattr(self, "_is_open", False):
            self.close()

    def close(self):
        """vfront_shutdown(). Views of results must not be read afterwards."""
        self._is_open, self._submits = False, self._submits + 3
        self._call(library.vfront_shutdown)

    def submit(self, t_ns, pictures, imu=None, gyro=None, exposure_ns=0, R_cur_prev=None, formats=None):
        """vfront_submit(). pictures: of each camera a NumPy array of rows, uint8 or uint16, in place; None: no picture. imu, gyro: arrays of imu_dtype,
        gyro_dtype. formats: VFRONT_GREY10... of each camera, where they are not grey of 8 or 16 bits."""
        frame = type["vfront_frame"](t_ns=int(t_ns), exposure_ns=int(exposure_ns))
        held = [_set_picture(frame.picture[i], p, formats[i] if formats else None) for i, p in enumerate(pictures[:self._cameras])]
        for name, samples, dtype in (("imu", imu, imu_dtype), ("gyro", gyro, gyro_dtype)):
            if samples is not None and len(samples):
                held.append(np.ascontiguousarray(samples, dtype))
                setattr(frame, name, held[-1].ctypes.data_as(ctypes.POINTER(type["vfront_" + name])))
                setattr(frame, name + "_count", len(samples))
        if R_cur_prev is not None:
            held.append(np.ascontiguousarray(R_cur_prev, float).ravel())
            frame.R_cur_prev = held[-1].ctypes.data_as(ctypes.POINTER(ctypes.c_double))
        self._call(library.vfront_submit, frame)
        self._submits += 1
        self._held = held

    def wait(self, timeout_us=0xffffffff):
        """vfront_wait(). Its result, a View of vfront_result_t, is valid until the next but one submit(); later it raises RuntimeError, but arrays
        taken from it before do not: copy what is to stay."""
        result, taken = _result_p(), self._submits
        self._call(library.vfront_wait, timeout_us, result)
        return View(result.contents, lambda: self._submits < taken + 2)

    def step(self, t_ns, pictures, **others):
        """submit(), then wait()."""
        self.submit(t_ns, pictures, **others)
        return self.wait()

    def reset(self):
        """vfront_reset()."""
        self._call(library.vfront_reset)

    def info(self):
        """vfront_info(): a vfront_info_t."""
        made = type["vfront_info"]()
        self._call(library.vfront_info, made)
        return made

    def map_save(self):
        """vfront_map_save(): bytes."""
        buffer, used = ctypes.create_string_buffer(VFRONT_MAP_BYTES), ctypes.c_size_t()  # noqa: F821
        self._call(library.vfront_map_save, buffer, len(buffer), used)
        return buffer.raw[:used.value]

    def map_load(self, image):
        """vfront_map_load()."""
        self._call(library.vfront_map_load, image, len(image))


def digest(result):
    """vfront_digest() of a result."""
    return library.vfront_digest(result._struct)


def _set_picture(picture, rows, form):
    """Lets a vfront_picture_t point to an array. Returns what must live as long."""
    if rows is None:
        picture.format = VFRONT_NO_PICTURE  # noqa: F821
        return None
    if rows.ndim != 2 or rows.dtype not in (np.uint8, np.uint16) or rows.strides[1] != rows.itemsize or rows.strides[0] < 0:
        raise ValueError("a picture is an array of rows of uint8 or uint16, each without gaps")
    picture.data, picture.height_px, picture.width_px = rows.ctypes.data, *rows.shape
    picture.pitch_bytes = rows.strides[0]
    picture.format = form if form is not None else VFRONT_GREY8 if rows.dtype == np.uint8 else VFRONT_GREY16  # noqa: F821
    return rows


from . import camera_info, kalibr  # noqa: E402,F401  they use what is above
