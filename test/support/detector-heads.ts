import { splitMix64 } from "../../src/golden/core/record/generators/encode.ts";
import type { Tensor } from "../../src/golden/core/tensor/tensor.ts";
import { float32 } from "./golden-tensors.ts";

export interface Head {
	anchors: number;
	classes: number;
	/** [1, 4 + classes, anchors] as YOLOv8; last: [1, anchors, 4 + classes] as YOLOX. */
	channels: "first" | "last";
	best: number;
}

export function detectorHead({ anchors, classes, channels, best }: Head, seed: number): Tensor {
	const random = splitMix64(seed, [anchors, classes]);
	const width = 4 + classes;
	const rows = Array.from({ length: anchors }, (_, row) => {
		const box = Array.from(
			{ length: 4 },
			(_, side) => (side < 2 ? 640 : 120) * Math.abs(Math.sin(random.normal())),
		);
		const shown = row % 100 === seed % 100 ? ((row / 100 + seed) % classes) | 0 : -1;
		const scores = Array.from({ length: classes }, (_, index) =>
			index === shown
				? best * (0.7 + 0.3 * Math.abs(Math.sin(row)))
				: 1e-5 * best * (1 + Math.abs(random.normal())),
		);
		return [...box, ...scores];
	});
	const values =
		channels === "last"
			? rows.flat()
			: Array.from({ length: width }, (_, channel) => rows.map((row) => row[channel] ?? 0)).flat();
	return float32(values, channels === "last" ? [1, anchors, width] : [1, width, anchors]);
}

export function changeHead(
	tensor: Tensor,
	{ channels }: Pick<Head, "channels">,
	change: (channel: number, anchor: number, value: (channel: number) => number) => number,
): Tensor {
	const [, second = 1, third = 1] = tensor.shape;
	const values = new Float32Array(tensor.data.buffer, tensor.data.byteOffset, second * third);
	const at = (channel: number, anchor: number): number =>
		channels === "first" ? channel * third + anchor : anchor * third + channel;
	return float32(
		Array.from(values, (_, flat) => {
			const [channel, anchor] =
				channels === "first"
					? [Math.floor(flat / third), flat % third]
					: [flat % third, Math.floor(flat / third)];
			return change(channel, anchor, (other) => values[at(other, anchor)] ?? 0);
		}),
		tensor.shape,
	);
}
