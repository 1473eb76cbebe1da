"""Makes real inputs for a model of models.json: OUT/<case>/<input>.npy, or files that `--inputs` of `golden record` reads itself.

    python inputs.py RECIPE PACKAGE_FOLDER OUT

Needs numpy, scipy and Pillow, for some recipes soundfile or onnxruntime. Speech is espeak-ng's where it is installed, else synthesised vowels.
"""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

import numpy as np
from PIL import Image, ImageDraw, ImageFont
from scipy import signal
from scipy.io import wavfile

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
FONTS = ["DejaVuSans.ttf", "/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf"]
LINES = ["Engine 4711", "Invoice 2024/08", "TensorRT gate", "Total: 86.50 EUR"]
SENTENCES = [
    "The engine failed the check after the update.",
    "A cat sleeps on the warm window sill.",
    "Quarterly revenue grew by twelve percent.",
    "Where is the nearest railway station, please?",
]
SPOKEN = [
    "Good morning, I would like to book a table for two people this evening at seven o'clock, please.",
    "The quick brown fox jumps over the lazy dog while seven wizards make toxic brew for the evil queen.",
    "I wanted to ask you whether the train to Hamburg is late again, because then I would",
    "Yes, that is fine. Thank you very much for your help, and have a nice day.",
]
ARABIC = ["السلام عليكم ورحمة", "ذهب الولد الى المدرسة", "كتب الطالب الدرس الجديد", "هذا البيت كبير جدا"]
NAMES = ["محمد", "فاطمة", "عبدالله", "خديجة"]
IMAGENET = (np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225]))


def font(size):
    for path in FONTS:
        try:
            return ImageFont.truetype(path, size)
        except OSError:
            continue
    return ImageFont.load_default(size)


def line(text, width, height):
    """One line of black text on white, a bit smaller than the picture."""
    picture = Image.new("RGB", (width, height), "white")
    ImageDraw.Draw(picture).text((8, height * 0.1), text, fill="black", font=font(int(height * 0.7)))
    return picture


def page(case, width, height):
    """A page with a heading and lines of text, and a shaded box, at other places in each case."""
    random = np.random.default_rng(case)
    picture = Image.new("RGB", (width, height), (250, 250, 245))
    draw = ImageDraw.Draw(picture)
    top = int(height * 0.06)
    for index in range(4 + case % 2):
        size = int(height * (0.085 if index == 0 else 0.06))
        left = int(width * (0.05 + 0.2 * random.random()))
        draw.text((left, top), LINES[(index + case) % len(LINES)], fill=(10, 10, 40), font=font(size))
        top += int(size * 2.3)
    box = (int(width * 0.1 * (1 + case)), int(height * 0.84), int(width * 0.1 * (4 + case)), int(height * 0.96))
    draw.rectangle(box, outline="black", fill=(200, 210, 230))
    return picture


def scene(case, width, height):
    """A picture of a figure before a sky: a face, a body and a ball, lit unevenly."""
    random = np.random.default_rng(100 + case)
    down, across = np.mgrid[0:height, 0:width]
    sky = np.stack([120 + 80 * down / height, 150 + 60 * across / width, 220 - 120 * down / height], axis=-1)
    picture = Image.fromarray(np.uint8(np.clip(sky + random.normal(0, 6, sky.shape), 0, 255)))
    draw = ImageDraw.Draw(picture)
    cx, cy, r = width * (0.35 + 0.1 * case), height * 0.35, min(width, height) * (0.14 + 0.02 * case)
    skin = (224 - 20 * case, 172, 125 + 10 * case)
    draw.ellipse((cx - 2.2 * r, cy + 1.1 * r, cx + 2.2 * r, cy + 5 * r), fill=(60 + 30 * case, 60, 120))
    draw.ellipse((cx - r, cy - 1.3 * r, cx + r, cy + 1.3 * r), fill=skin)
    draw.pieslice((cx - 1.05 * r, cy - 1.5 * r, cx + 1.05 * r, cy + 0.4 * r), 180, 360, fill=(50, 30, 20))
    for side in (-0.4, 0.4):
        draw.ellipse((cx + side * r - 0.16 * r, cy - 0.2 * r, cx + side * r + 0.16 * r, cy + 0.02 * r), fill="white")
        draw.ellipse((cx + side * r - 0.08 * r, cy - 0.17 * r, cx + side * r + 0.08 * r, cy), fill="black")
    draw.polygon([(cx, cy), (cx - 0.15 * r, cy + 0.45 * r), (cx + 0.15 * r, cy + 0.45 * r)], fill=(200, 140, 100))
    draw.arc((cx - 0.45 * r, cy + 0.4 * r, cx + 0.45 * r, cy + 0.9 * r), 10, 170, fill=(150, 40, 40), width=max(1, int(r / 8)))
    ball = width * (0.75 - 0.15 * case)
    draw.ellipse((ball, height * 0.8, ball + r, height * 0.8 + r), fill=(230, 60, 30))
    return picture


def rgb(picture):
    return np.asarray(picture, dtype=np.float64)


def planes(values):
    return np.ascontiguousarray(np.transpose(values, (2, 0, 1))[None], dtype=np.float32)


def synthesised(case, rate, seconds):
    """Vowels in place of espeak-ng: pulses through three formants, changing every 0.2 s, with pauses."""
    random = np.random.default_rng(200 + case)
    sound = np.zeros(int(rate * seconds))
    step = int(0.2 * rate)
    for start in range(0, len(sound) - step, step):
        if random.random() < 0.15:
            continue
        pulses = np.zeros(step)
        pulses[:: int(rate / random.uniform(90, 220))] = 1
        for centre, width in zip(random.uniform([300, 900, 2200], [800, 2000, 3000]), [80, 120, 160]):
            pole = np.exp(-np.pi * width / rate) * np.exp(2j * np.pi * centre / rate)
            pulses = signal.lfilter([1], [1, -2 * pole.real, abs(pole) ** 2], pulses)
        sound[start : start + step] = pulses * np.hanning(step)
    return sound / max(1e-9, np.max(np.abs(sound))) * 0.5


def spoken(case, rate, seconds):
    program = shutil.which("espeak-ng")
    if program is None:
        return synthesised(case, rate, seconds)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "speech.wav"
        subprocess.run([program, "-p", str(35 + 15 * case), "-w", str(path), SPOKEN[case % len(SPOKEN)]], check=True)
        own_rate, sound = wavfile.read(path)
    sound = signal.resample_poly(sound / 32768.0, rate, own_rate)
    repeats = int(np.ceil(rate * seconds / len(sound)))
    return np.tile(sound, repeats)[: int(rate * seconds)]


def mel_filters(bands, transform, rate):
    """Triangles on the Slaney scale, of equal area."""
    to_mel = lambda f: np.where(f < 1000, 3 * f / 200, 15 + 27 * np.log(np.maximum(f, 1e-9) / 1000) / np.log(6.4))
    from_mel = lambda m: np.where(m < 15, 200 * m / 3, 1000 * np.exp(np.log(6.4) * (m - 15) / 27))
    edges = from_mel(np.linspace(0, to_mel(np.array(rate / 2)), bands + 2))
    slopes = edges[:, None] - np.linspace(0, rate / 2, transform // 2 + 1)[None]
    widths = np.diff(edges)[:, None]
    return np.maximum(0, np.minimum(-slopes[:-2] / widths[:-1], slopes[2:] / widths[1:])) * (2 / (edges[2:] - edges[:-2]))[:, None]


def mel(sound, bands, window, hop):
    """A mel spectrogram at 16 kHz, (decibels below the maximum + 40) / 40, frames first."""
    frames = np.lib.stride_tricks.sliding_window_view(np.pad(sound, window // 2, mode="reflect"), window)[::hop]
    power = np.abs(np.fft.rfft(frames * signal.get_window("hann", window), axis=1)) ** 2
    energy = power @ mel_filters(bands, window, 16000).T
    decibels = 10 * np.log10(np.maximum(1e-10, energy) / max(1e-10, energy.max()))
    return (np.maximum(decibels, -80) + 40) / 40


def chunks(case, count):
    """Consecutive chunks of speech at 16 kHz as silero reads them: the last 64 samples of the one before and 512 new ones."""
    sound = spoken(case, 16000, 3)
    start = 16000 // 2 + 3000 * case
    return np.stack([sound[start + 512 * i - 64 : start + 512 * (i + 1)] for i in range(count)]).astype(np.float32)


def silero(case, rate):
    zeros = np.zeros((2, 1, 128), np.float32)
    return {"input": chunks(case, 1), "state": zeros, **({"sr": np.array(16000, np.int64)} if rate else {})}


def silero_sequence(case, _folder):
    zeros = np.zeros((1, 1, 128), np.float32)
    return {"input": chunks(case, 32), "h": zeros, "c": zeros}


def bytes_of_file(case, _folder):
    """magika: the first and the last 1024 bytes of a file without outer white space, 256 where there is none."""
    name = ["package.json", "bench/zoo/inputs.py", "README.md", "docs/comment.png"][case]
    content = (REPOSITORY / name).read_bytes().strip()
    first, last = content[:1024], content[-1024:]
    values = np.full((1, 2048), 256, np.int32)
    values[0, : len(first)] = list(first)
    values[0, 2048 - len(last) :] = list(last)
    return {"bytes": values}


def wordpiece(folder):
    """Lower-case WordPiece by the tokenizer.json in the package."""
    path = next(folder.glob("**/*tokenizer.json"))
    vocabulary = json.loads(path.read_text())["model"]["vocab"]

    def tokens(word):
        found = []
        while word:
            mark = "##" if found else ""
            size = next((n for n in range(len(word), 0, -1) if mark + word[:n] in vocabulary), 0)
            if size == 0:
                return [vocabulary["[UNK]"]]
            found.append(vocabulary[mark + word[:size]])
            word = word[size:]
        return found

    def encode(sentence):
        spaced = "".join(c if c.isalnum() or c.isspace() else f" {c} " for c in sentence.lower())
        return [vocabulary["[CLS]"], *[t for word in spaced.split() for t in tokens(word)], vocabulary["[SEP]"]]

    return encode


def sentence(case, folder):
    ids = wordpiece(folder)(SENTENCES[case])
    padded = np.zeros((1, 16), np.int64)
    padded[0, : len(ids)] = ids
    return {"input_ids": padded, "attention_mask": (padded > 0).astype(np.int64), "token_type_ids": np.zeros_like(padded)}


def letters(text, ids, default):
    return np.array([[ids.get(letter, default) for letter in text]], np.int64)


def table(folder, name):
    return json.loads(next(folder.glob(f"**/{name}")).read_text())


def tashkeel(case, folder):
    ids = letters(ARABIC[case], table(folder, "input_id_map.json"), 1)
    return {"char_inputs": ids, "diac_inputs": np.ones_like(ids), "input_lengths": np.array([ids.shape[1]], np.int64)}


def name_letters(case, folder):
    ids = {token: index for index, token in enumerate(table(folder, "resources/vocab.json")["tokens"])}
    source = letters(NAMES[case], ids, ids["<UNK>"])
    return np.concatenate([[[ids["<BOS>"]]], source, [[ids["<EOS>"]]]], axis=1), ids


def name_encoder(case, folder):
    source, _ = name_letters(case, folder)
    return {"src": source, "src_mask": np.ones(source.shape, bool)}


def name_decoder(case, folder):
    import onnxruntime

    source, ids = name_letters(case, folder)
    path = next(p for p in folder.glob("**/resources/encoder.onnx"))
    encoder = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    memory, mask, hidden = encoder.run(None, {"src": source, "src_mask": np.ones(source.shape, bool)})
    return {"prefix": np.array([[ids["<BOS>"]]], np.int64), "memory": memory, "src_mask": mask, "hidden": hidden}


def whisper_features(case, folder):
    sys.path.insert(0, str(next(folder.glob("**/smart_turn/_whisper_features.py")).parent))
    from _whisper_features import compute_whisper_log_mel_features

    sound = spoken(case, 16000, 8).astype(np.float32)
    return {"input_features": compute_whisper_log_mel_features(sound, do_normalize=True)[None].astype(np.float32)}


def chords(case, _folder):
    time = np.arange(43844) / 22050
    if case == 3:
        return {"serving_default_input_2:0": spoken(case, 22050, 43844 / 22050 + 1e-6)[:43844].reshape(1, -1, 1).astype(np.float32)}
    roots = [[261.63, 329.63, 392.0], [220.0, 277.18, 329.63], [146.83, 220.0, 293.66]][case]
    sound = sum(np.sin(2 * np.pi * f * n * time) / n for f in roots for n in (1, 2, 3)) * np.exp(-1.5 * (time % 0.5))
    return {"serving_default_input_2:0": (sound / np.max(np.abs(sound)) * 0.7).reshape(1, -1, 1).astype(np.float32)}


def noisy_speech(case, seconds):
    sound = spoken(case, 16000, seconds)
    return sound + np.random.default_rng(case).normal(0, [0, 0.01, 0.05, 0.002][case], len(sound))


def speech_quality(case, _folder):
    return {"input_1": noisy_speech(case, 9.011)[None, :144160].astype(np.float32)}


def speech_quality_mel(case, _folder):
    return {"input_1": mel(noisy_speech(case, 9.011)[:144000], 120, 321, 160)[None, :900].astype(np.float32)}


def echo(case, _folder):
    loudspeaker, microphone = spoken(case, 16000, 4), spoken((case + 1) % 4, 16000, 4)
    both = microphone + [0.1, 0.3, 0.6, 0.02][case] * np.roll(loudspeaker, 1600)
    result = microphone + [0.01, 0.1, 0.05, 0][case] * np.roll(loudspeaker, 1600)
    features = np.stack([mel(x, 160, 513, 256)[:240] for x in (loudspeaker, both, result)])
    return {"input": features[None].astype(np.float32), "h0": np.zeros((4, 1, 64), np.float32)}


def centred(values):
    return (values / 255 - 0.5) / 0.5


def grey_line(case, _folder):
    grey = np.asarray(line(LINES[case], 320, 64).convert("L"), dtype=np.float64)
    return {"input1": centred(grey)[None, None].astype(np.float32)}


def big_letters(case, _folder):
    picture = Image.new("RGB", (416, 416), (240, 240 - 10 * case, 230))
    for index, letter in enumerate(LINES[case][:3]):
        ImageDraw.Draw(picture).text((40 + 120 * index, 60 + 90 * ((index + case) % 3)), letter, fill=(20, 20, 90), font=font(100))
    return {"images": planes(rgb(picture)[:, :, ::-1])}


def document(width, height, name):
    def make(case, _folder):
        return {name: planes((rgb(page(case, width, height)) / 255 - IMAGENET[0]) / IMAGENET[1])}

    return make


def written_line(width):
    return lambda case, _folder: {"x": planes(centred(rgb(line(LINES[case], width, 48))))}


def turned_line(case, _folder):
    picture = line(LINES[case // 2], 192, 48)
    return {"x": planes(centred(rgb(picture.rotate(180) if case % 2 else picture)))}


def nsfw_scene(case, _folder):
    return {"input_0": (rgb(scene(case, 224, 224))[:, :, ::-1] - [104, 117, 123])[None].astype(np.float32)}


def faces(case, _folder):
    pictures = [rgb(scene((case + index) % 4, 96, 96).resize((32, 32))) for index in range(10)]
    return {"input.1": np.concatenate([planes(picture) for picture in pictures])}


def yolo_scene(case, _folder):
    return {"images": planes(rgb(scene(case, 320, 320)) / 255)}


def features(case, _folder):
    return {"onnx::Flatten_0": (np.random.default_rng(case).normal(0, 3 + case, (1, 25, 96))).astype(np.float32)}


RECIPES = {
    "written-line": written_line(320),
    "text-page": document(320, 320, "x"),
    "document": document(608, 800, "image"),
    "sentence": sentence,
    "whisper-features": whisper_features,
    "silero": lambda case, _folder: silero(case, True),
    "silero-without-rate": lambda case, _folder: silero(case, False),
    "silero-sequence": silero_sequence,
    "nsfw-scene": nsfw_scene,
    "faces": faces,
    "grey-line": grey_line,
    "big-letters": big_letters,
    "bytes-of-file": bytes_of_file,
    "chords": chords,
    "turned-line": turned_line,
    "speech-quality": speech_quality,
    "speech-quality-mel": speech_quality_mel,
    "echo": echo,
    "tashkeel": tashkeel,
    "rawi": lambda case, folder: {"input": letters(ARABIC[case], table(folder, "rawi_v2.vocab.json")["char_to_idx"], 1)},
    "libtashkeel": lambda case, folder: {"input_ids": letters(ARABIC[case], table(folder, "libtashkeel.maps.json")["input"], 1)},
    "name-decoder": name_decoder,
    "name-encoder": name_encoder,
    "features": features,
    "yolo-scene": yolo_scene,
}


def main(recipe, package, out):
    for case in range(4):
        folder = pathlib.Path(out) / f"case-{case + 1}"
        folder.mkdir(parents=True, exist_ok=True)
        for name, tensor in RECIPES[recipe](case, pathlib.Path(package)).items():
            np.save(folder / f"{name}.npy", tensor)


if __name__ == "__main__":
    main(*sys.argv[1:])
