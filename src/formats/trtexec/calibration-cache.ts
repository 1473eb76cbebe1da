// Reads TensorRT's calibration caches: a line with version and calibrator, then one with each tensor's scale.

/**
 * The largest absolute value of each tensor's INT8 range: 127 × its scale, the big-endian float32 in hex, as trtexec
 * reads it (sampleEngines.cpp). null for any other text.
 */
export function parseCalibrationCache(text: string): Map<string, number> | null {
	const [header = "", ...lines] = text.split(/\r?\n/);
	if (!/^TRT-\d+-\w+$/.test(header)) return null;
	const view = new DataView(new ArrayBuffer(4));
	const ranges = new Map<string, number>();
	for (const line of lines) {
		const [, name = "", hex = ""] = /^(.+): ([\da-f]{1,8})$/i.exec(line) ?? [];
		view.setUint32(0, Number.parseInt(hex, 16));
		const range = 127 * view.getFloat32(0);
		if (name !== "" && range >= 0 && range < Infinity) ranges.set(name, range);
	}
	return ranges;
}

/** trtexec has only this calibrator, and TensorRT skips a cache of another: it would calibrate on random numbers. */
export function asEntropyCache(text: string): string {
	return text.replace(/^(TRT-\d+)-\w+/, "$1-EntropyCalibration2");
}
