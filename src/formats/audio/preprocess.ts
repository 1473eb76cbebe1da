// From sound to the tensors that a model is fed: rate, start, windows, length, scale.

import type { AudioPreprocess, DType } from "../../../generated/golden.ts";
import { encodeTensor } from "../../core/golden/record/generators/encode.ts";
import type { Tensor } from "../../core/golden/tensor/tensor.ts";
import { tensorInvalid } from "../tensor/refusal.ts";
import type { Sound } from "./wav.ts";

interface SoundInput {
	dtype: DType;
	/** null: as many as there are. */
	length: number | null;
	shapeOf(samples: number): readonly number[];
}

/** One tensor for each window. @throws ConfigError tensor-invalid where no sound is left. */
export function preprocessSound(
	sound: Sound,
	input: SoundInput,
	{ path, ...how }: AudioPreprocess & { path: string },
): Tensor[] {
	const rate = how.rate ?? sound.rate;
	const samples = resample(sound.samples, sound.rate, rate).subarray(Math.round((how.start ?? 0) * rate));
	if (samples.length === 0) {
		throw tensorInvalid(
			path,
			`sound after the first ${how.start ?? 0} s`,
			`${sound.samples.length / sound.rate} s in all`,
			"Give a smaller start, or a longer file.",
		);
	}
	const length = how.length ?? input.length ?? samples.length;
	const windows = how.windows ?? 1;
	const room = Math.max(0, samples.length - length);
	const scale = how.scale ?? 1;
	return Array.from({ length: windows }, (_, index) => {
		const first = windows === 1 ? 0 : Math.round((room * index) / (windows - 1));
		return encodeTensor(
			input.dtype,
			input.shapeOf(length),
			(at) => scale * (at < length ? (samples[first + at] ?? 0) : 0),
		);
	});
}

const crossings = 10;
const kaiserBeta = 5;

/** As many samples as last as long, rounded up; what lies outside is 0. */
export function resample(samples: Float64Array, from: number, to: number): Float64Array {
	const shared = greatestDivisor(from, to);
	const [up, down] = [to / shared, from / shared];
	if (up === down) return samples;
	const half = crossings * Math.max(up, down);
	const filter = lowPass(half, 1 / Math.max(up, down), up);
	const out = new Float64Array(Math.ceil((samples.length * up) / down));
	for (let index = 0; index < out.length; index += 1) {
		// The place among the samples with up - 1 zeros between each two of them.
		const middle = index * down;
		const first = Math.max(0, Math.ceil((middle - half) / up));
		const last = Math.min(samples.length - 1, Math.floor((middle + half) / up));
		let sum = 0;
		for (let at = first; at <= last; at += 1)
			sum += (samples[at] as number) * (filter[middle - at * up + half] as number);
		out[index] = sum;
	}
	return out;
}

function greatestDivisor(left: number, right: number): number {
	return right === 0 ? left : greatestDivisor(right, left % right);
}

/** A windowed sinc whose values sum to `gain`; the cutoff is a share of half the sampling rate. */
function lowPass(half: number, cutoff: number, gain: number): Float64Array {
	const filter = new Float64Array(2 * half + 1);
	const scale = besselI0(kaiserBeta);
	let sum = 0;
	for (let index = 0; index < filter.length; index += 1) {
		const place = index - half;
		const angle = Math.PI * cutoff * place;
		const window = besselI0(kaiserBeta * Math.sqrt(Math.max(0, 1 - (place / half) ** 2))) / scale;
		const value = (place === 0 ? 1 : Math.sin(angle) / angle) * window;
		filter[index] = value;
		sum += value;
	}
	return filter.map((value) => (value / sum) * gain);
}

/** The modified Bessel function of the first kind and order zero, by its series. */
function besselI0(x: number): number {
	const quarter = (x * x) / 4;
	let [sum, term] = [1, 1];
	for (let k = 1; term > sum * 1e-17; k += 1) {
		term *= quarter / (k * k);
		sum += term;
	}
	return sum;
}
