// From sound to the tensors that a model is fed: rate, start, windows, length, scale.
import { encodeTensor } from "../../core/golden/record/generators/encode.ts";
import type { Tensor } from "../../core/golden/tensor/tensor.ts";
import type { AudioPreprocess, DType } from "../../core/schema/golden.ts";
import { tensorInvalid } from "../tensor/refusal.ts";
import { resample } from "./resample.ts";
import type { Sound } from "./wav.ts";

interface SoundInput {
	dtype: DType;
	/** null: as many as there are. */
	length: number | null;
	/** Of a tensor of that many samples. */
	shapeOf(samples: number): readonly number[];
}

/** One tensor for each window. @throws ConfigError tensor-invalid where no sound is left. */
export function preprocessSound(sound: Sound, input: SoundInput, { path, ...how }: AudioPreprocess & { path: string }): Tensor[] {
	const rate = how.rate ?? sound.rate;
	const samples = resample(sound.samples, sound.rate, rate).subarray(Math.round((how.start ?? 0) * rate));
	if (samples.length === 0) {
		throw tensorInvalid(path, {
			expected: `sound after the first ${how.start ?? 0} s`,
			got: `${sound.samples.length / sound.rate} s in all`,
			fix: "Give a smaller start, or a longer file.",
		});
	}
	const length = how.length ?? input.length ?? samples.length;
	const windows = how.windows ?? 1;
	const room = Math.max(0, samples.length - length);
	const scale = how.scale ?? 1;
	return Array.from({ length: windows }, (_, index) => {
		const first = windows === 1 ? 0 : Math.round((room * index) / (windows - 1));
		return encodeTensor(input.dtype, input.shapeOf(length), (at) => scale * (at < length ? (samples[first + at] ?? 0) : 0));
	});
}
