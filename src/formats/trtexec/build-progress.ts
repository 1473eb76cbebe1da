// How far a build is, from its verbose log: which layer it times kernels for, and later which conversion between layers.
import type { LogLine } from "./transcript.ts";

/** `share` of the work after TensorRT has started, 0 to 1. */
export type OnBuildProgress = (phase: string, share: number) => void;

/** Of 32 recorded builds, of which conversions took a tenth to a half. */
const layersShare = 0.75;
/** Median of the same builds: they list 2 to 4 tensors a layer. */
const conversionsPerLayer = 2.6;

const layersLeft = /\bAfter [\w ]+: (\d{1,6}) layers$/;

export function createBuildProgress(onProgress: OnBuildProgress): { feed(line: LogLine): void } {
	let [layers, timed, converted] = [0, 0, 0];
	return {
		feed({ text }) {
			const count = layersLeft.exec(text)?.[1];
			if (count !== undefined && timed === 0) layers = Number(count);
			else if (/timing cache in use/.test(text)) onProgress("timing kernels", 0);
			else if (/=== Computing costs for /.test(text)) {
				timed += 1;
				const share = (layersShare * (timed - 0.5)) / Math.max(layers, timed);
				onProgress(layers < timed ? "timing kernels" : `timing kernels: layer ${timed} of ${layers}`, share);
			} else if (/=== Computing reformatting costs/.test(text)) {
				converted += 1;
				const done = Math.min(1, converted / (conversionsPerLayer * Math.max(1, layers)));
				onProgress("timing conversions between layers", layersShare + (0.95 - layersShare) * done);
			} else if (/Detected \d+ inputs? and \d+ output/.test(text)) onProgress("kernels are chosen", 0.97);
		},
	};
}
