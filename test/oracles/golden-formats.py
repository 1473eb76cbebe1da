# Writes golden-formats.json: files of several tensors, small numbers and images as numpy, safetensors, Polygraphy, onnx and Pillow write them.
# python3 test/oracles/golden-formats.py   (numpy 2.4.6, ml_dtypes 0.6.0, safetensors 0.8.0, polygraphy 0.53.6, onnx 1.23.2, Pillow 13.0.0)
import base64
import io
import json
import pathlib
import tempfile
import zipfile

import ml_dtypes
import numpy as np
import onnx
from onnx import TensorProto, helper
from PIL import Image
from polygraphy.comparator import RunResults
from polygraphy.comparator.struct import IterationResult
from polygraphy.json import save_json, to_json
from safetensors.numpy import save as save_safetensors

here = pathlib.Path(__file__).parent
random = np.random.default_rng(7)


def b64(data):
    return base64.b64encode(bytes(data)).decode()


def values(array, dtype=None):
    array = np.ascontiguousarray(array)
    return {"dtype": dtype or str(array.dtype), "shape": list(array.shape), "data": b64(array.tobytes())}


arrays = {
    "y": random.normal(size=(2, 3)).astype(np.float32),
    "a/b:c": random.integers(-5, 5, (4,)),
    "__proto__": np.array([[1.5, -2]], np.float16),
    "constructor": np.array([True, False]),
    "fortran": np.asfortranarray(random.normal(size=(3, 2)).astype(">f8")),
    "zeros": np.zeros((80, 50), np.float32),
}


def plain(array):
    return values(array.astype(array.dtype.newbyteorder("<")))


def npz_files():
    out = []
    for name, save in (("stored", np.savez), ("deflated", np.savez_compressed)):
        buffer = io.BytesIO()
        save(buffer, **{key: value for key, value in arrays.items()})
        out.append({"name": name, "file": b64(buffer.getvalue()), "members": {key: plain(value) for key, value in arrays.items()}})
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        with archive.open("y.npy", "w", force_zip64=True) as member:
            np.lib.format.write_array(member, arrays["y"])
        archive.comment = b"a comment PK\x05\x06 with the signature of an end in it"
    out.append({"name": "with a comment", "file": b64(buffer.getvalue()), "members": {"y": plain(arrays["y"])}})
    return out


def safetensors_file():
    tensors = {key: np.ascontiguousarray(value.astype(value.dtype.newbyteorder("<"))) for key, value in arrays.items()}
    small = {
        "bf16": random.normal(size=(3,)).astype(ml_dtypes.bfloat16),
        "e4m3": random.normal(size=(3,)).astype(ml_dtypes.float8_e4m3fn),
        "e5m2": random.normal(size=(3,)).astype(ml_dtypes.float8_e5m2),
    }
    names = {"bf16": "bfloat16", "e4m3": "float8e4m3fn", "e5m2": "float8e5m2"}
    file = save_safetensors(tensors | small, metadata={"made by": "test"})
    members = {key: values(value) for key, value in tensors.items()} | {key: values(value, names[key]) for key, value in small.items()}
    return {"file": b64(file), "members": members}


def polygraphy_files():
    feeds = [{"x": arrays["y"], "a/b:c": arrays["a/b:c"]}, {"x": arrays["y"] + 1, "a/b:c": arrays["a/b:c"]}]
    results = RunResults()
    for runner, shift in (("onnxrt", 0), ("trt", 1)):
        results.append((runner, [IterationResult({"y": arrays["y"] + shift + step}, runtime=0.1, runner_name=runner) for step in range(2)]))
    out = {"inputs": b64(to_json(feeds).encode()), "results": b64(to_json(results).encode()), "y": plain(arrays["y"]), "y1": plain(arrays["y"] + 1)}
    buffer = io.BytesIO()
    np.save(buffer, arrays["y"])
    legacy = [{"x": {"array": buffer.getvalue().decode("latin-1"), "__polygraphy_encoded_ndarray": "polygraphy_serialized_json_type"}}]
    out["legacy"] = b64(json.dumps(legacy).encode())
    out["y2"] = plain(arrays["y"] + 2)
    return out


SMALL = {
    "float8e4m3fn": (ml_dtypes.float8_e4m3fn, TensorProto.FLOAT8E4M3FN, 256),
    "float8e5m2": (ml_dtypes.float8_e5m2, TensorProto.FLOAT8E5M2, 256),
    "int4": (ml_dtypes.int4, TensorProto.INT4, 16),
    "uint4": (ml_dtypes.uint4, TensorProto.UINT4, 16),
    "float4e2m1": (ml_dtypes.float4_e2m1fn, TensorProto.FLOAT4E2M1, 16),
}


def packed(patterns):
    patterns = np.append(patterns, np.zeros(len(patterns) % 2, np.uint8)) & 15
    return (patterns[0::2] | patterns[1::2] << 4).astype(np.uint8)


def small_numbers():
    out = []
    for name, (kind, code, count) in SMALL.items():
        patterns = np.arange(count, dtype=np.uint8)
        decoded = [str(float(x)).replace("inf", "Infinity").replace("nan", "NaN") for x in patterns.view(kind).astype(np.float64)]
        odd = (np.arange(15) * 7 % count).astype(np.uint8).reshape(3, 5)
        array = odd.view(kind)
        buffer = io.BytesIO()
        np.save(buffer, array)
        data = odd.tobytes() if count == 256 else packed(odd.ravel()).tobytes()
        finite = [0.0 if not np.isfinite(x) else x for x in array.astype(np.float64).ravel()]
        typed = helper.make_tensor("t", code, array.shape, finite)
        clean = np.array(finite).astype(kind).reshape(array.shape)
        bits = clean.view(np.uint8)
        out.append({
            "dtype": name, "values": decoded, "shape": [3, 5], "data": b64(data), "npy": b64(buffer.getvalue()),
            "proto": b64(onnx.numpy_helper.from_array(array).SerializeToString()),
            "typed": b64(typed.SerializeToString()), "typedData": b64(bits.tobytes() if count == 256 else packed(bits.ravel()).tobytes()),
        })
    return out


def resize(image, height, width):
    """Bilinear with half-pixel centers, by the formula, in binary64."""
    def weights(source, target):
        at = np.clip((np.arange(target) + 0.5) * source / target - 0.5, 0, source - 1)
        low = np.floor(at).astype(int)
        matrix = np.zeros((target, source))
        matrix[np.arange(target), low] += 1 - (at - low)
        matrix[np.arange(target), np.minimum(low + 1, source - 1)] += at - low
        return matrix
    return np.einsum("ij,jkc,lk->ilc", weights(image.shape[0], height), image, weights(image.shape[1], width))


def onnx_resize(image, height, width):
    node = helper.make_node("Resize", ["x", "", "", "s"], ["y"], mode="linear", coordinate_transformation_mode="half_pixel")
    graph = helper.make_graph([node], "g", [helper.make_tensor_value_info("x", TensorProto.DOUBLE, [1, 1, None, None])],
                              [helper.make_tensor_value_info("y", TensorProto.DOUBLE, None)],
                              [helper.make_tensor("s", TensorProto.INT64, [4], [1, 1, height, width])])
    from onnx.reference import ReferenceEvaluator
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)])
    run = ReferenceEvaluator(model).run
    return np.stack([run(None, {"x": image[None, None, :, :, c]})[0][0, 0] for c in range(image.shape[2])], axis=-1)


def images():
    y, x = np.mgrid[0:13, 0:17]
    pixels = np.stack([x * 15, y * 19, (x * y * 3) % 256], axis=-1).astype(np.uint8)
    png, jpeg = io.BytesIO(), io.BytesIO()
    Image.fromarray(pixels).save(png, "png")
    Image.fromarray(pixels).save(jpeg, "jpeg", quality=95, subsampling=0)
    big = resize(pixels.astype(np.float64), 20, 24)
    np.testing.assert_allclose(big, onnx_resize(pixels.astype(np.float64), 20, 24), atol=1e-9)
    mean, std = np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225])
    cut = big[(20 - 11) // 2 :, (24 - 10) // 2 :][:11, :10]
    normal = ((cut / 255 - mean) / std).transpose(2, 0, 1)[None]
    return {"png": b64(png.getvalue()), "jpeg": b64(jpeg.getvalue()), "pixels": b64(pixels.tobytes()),
            "jpegPixels": b64(np.array(Image.open(jpeg)).tobytes()), "normal": normal.ravel().tolist(), "resized": big.ravel().tolist()}


result = {"npz": npz_files(), "safetensors": safetensors_file(), "polygraphy": polygraphy_files(), "small": small_numbers(), "images": images()}
(here / "golden-formats.json").write_text(json.dumps(result) + "\n")
